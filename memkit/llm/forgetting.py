"""Take back what the user asks to have forgotten."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from memkit.llm.mentioned import spoken_of, written_last
from memkit.llm.persons import to_second_person
from memkit.llm.questions import key_stems, read_question
from memkit.llm.recalled import Recalled
from memkit.llm.relations import slot_of
from memkit.llm.script import Heard, Script, is_refused, reason, search

LISTED = re.compile(r"- .+ \[[^\[\]\s]{8,64}\]$")
"""A line of a list of records."""
MOST = 5
"""Records that one wish takes back; each is a tool call."""
EVERYTHING = re.compile(
    r"^(?:everything|all(?: of it| that)?|me|my data|all (?:you know|my data|memories|of my data))(?: (?:about|"
    r"on|of) me| you (?:know|have|remember|stored)(?: (?:about|on) me)?)?$",
    re.I,
)
ERASURE = (
    "I take back one thing at a time: “forget where I live”. To see what there is, say “what do you know about me?”. "
    "Everything at once, with proof that nothing is left, is `memkit memory erase --user NAME`; to stop storing, say "
    "“don't remember anything”."
)
ALL_OF = re.compile(
    r"^(?:everything|all|anything)(?: (?:you know|you have|i said|i told you|that you know))?(?: (?:about|on|"
    r"of))? (?P<what>.+)$",
    re.I,
)


def forget(heard: Heard, what: str) -> Script:
    """Retire what is meant by ``what``, or with an empty text what was written last, and say what that was."""
    if EVERYTHING.match(what):
        return ERASURE
    if not what and (which := _which(heard)):
        return which
    every = ALL_OF.match(what)
    ids = (yield from _meant(every["what"] if every else what, every=bool(every))) if what else _last(heard)
    if not ids:
        return "I found nothing to forget. Say it in the words you used when you told me."
    gone: list[str] = []
    for record_id in ids[:MOST]:
        result = yield "memory_retract", {"id": record_id}
        if is_refused(result):
            return " ".join([*gone, f"I could not forget that: {reason(result)}"])
        said = result.partition("which said: ")[2] or record_id
        gone.append(f"Forgotten: “{to_second_person(said)}”.")
    more = f" {len(ids) - MOST} more are left; ask again." if len(ids) > MOST else ""
    return (
        " ".join([*gone, "It will not be stored again." if len(gone) == 1 else "None of it will be stored again."])
        + more
    )


def _which(heard: Heard) -> str:
    """Return what to ask where "that" may mean several records, or one that was taken back; empty where it is clear."""
    said = (message for message in reversed(heard.earlier) if message.get("role") == "assistant")
    answer = next((message.get("content") or "" for message in said if message.get("content")), "")
    if answer.startswith("Forgotten: “"):
        return "That is forgotten. /undo brings back what a turn took back."
    several = [one for one in answer.splitlines() if LISTED.match(one)]
    return "I named several. Say which one: “forget …”, in its own words." if len(several) > 1 else ""


def _last(heard: Heard) -> list[str]:
    written = written_last(heard.earlier)
    spoken = spoken_of(heard.earlier)
    if spoken and spoken[0] not in written:
        return [spoken[0]]
    return written


def _meant(what: str, *, every: bool) -> Generator[tuple[str, dict[str, Any]], str, list[str]]:
    """Return the ids of the records that some words mean."""
    asked = read_question(what if re.match(r"(?:where|who|when|what|how)\b", what, re.I) else f"what is {what}?")
    found = yield from search(asked.query)
    fitting = [record for record in found if _is_about(record, asked.subject, asked.relation)]
    wanted = key_stems(what)
    close = [record for record in found if wanted and 2 * len(wanted & key_stems(record.text)) > len(wanted)]
    if every:
        return [record.id for record in found if wanted and wanted <= key_stems(record.text)]
    return [record.id for record in fitting or close][:1]


def _is_about(record: Recalled, subject: str | None, relation: str) -> bool:
    slot = slot_of(record.text)
    if slot is None or subject is None:
        return False
    if relation in ("", "is"):
        return slot.subject == subject and subject != "i"
    return (slot.subject, slot.relation) == (subject, relation)
