"""Remember what the user tells, and correct what they told before."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from itertools import pairwise
from typing import Any

from memkit.llm.rules.claims import ACQUIRED, DID, DONE, DROPPED, LACKED, ONE_VALUE, WORDS, Claim, Replacement, slot_of
from memkit.llm.rules.questions import is_disliking, key_stems, key_words, read_question, to_second_person
from memkit.llm.rules.reading import (
    INSERT,
    Heard,
    Recalled,
    Script,
    is_refused,
    reason,
    search,
    spoken_of,
    written_last,
)
from memkit.runtime.memory.gate.contradictions import contradict
from memkit.runtime.memory.words.text import regex

NO_MEMORY = "I have no long-term memory in this conversation, so this stays in it."
KEPT_HERE = {
    "passing": "That is how it is now, so I keep it in this conversation only. Say “remember that …” if it "
    "should last.",
    "unsure": "That is not sure yet, so I keep it in this conversation only. Say “remember that …” if it should last.",
}
IN_WORDS = regex(r"\((?P<type>\w+)(?:, due (?P<due>[\d-]+))?")
NOTED = "Noted: "
KNEW = "I knew that already: "
PREPOSITIONS = frozenset({"in", "at", "on", "to", "for", "from", "with", "a", "an", "the", "my"})
OPPOSED = regex(r"cannot be true together with (?P<id>[^\s,.]+)")


def remember(heard: Heard, claim: Claim) -> Script:
    """Store a statement, in the place of the one it corrects, and say what became of it."""
    if not heard.offers(INSERT):
        return NO_MEMORY
    if claim.kind in KEPT_HERE:
        return KEPT_HERE[claim.kind]
    old = (yield from _superseded(claim)) if claim.corrects else None
    return (yield from _store(heard, claim.text, old, is_name=claim.relation == "name" and _is_users(claim.text)))


def replace_value(heard: Heard, replacement: Replacement, last: tuple[str, str] | None) -> Script:
    """Store what was spoken of last with another value."""
    if not heard.offers(INSERT):
        return NO_MEMORY
    slot = slot_of(last[1]) if last else None
    predicate = _with_predicate(last[1], replacement.value) if last else None
    if last is not None and predicate is not None:
        return (yield from _store(heard, predicate, Recalled(last[0], last[1], {}), is_name=False))
    old = replacement.old or (slot.value if slot else "")
    at = last[1].lower().rfind(old.lower()) if last and old else -1
    if last is None or at < 0:
        return "What do you want to correct? Say it in a whole sentence, such as “My dog is called Max”."
    text = last[1][:at] + replacement.value + last[1][at + len(old) :]
    if text.lower() == last[1].lower():
        return f"{KNEW}{to_second_person(text)}."
    record = Recalled(last[0], last[1], {})
    return (yield from _store(heard, text, record, is_name=slot is not None and slot[:2] == ("i", "name")))


def _with_predicate(text: str, said: str) -> str | None:
    """Return ``text`` with another predicate of the same verb, or None where ``said`` does not begin with its verb.

    >>> _with_predicate("The meeting starts at 9", "starts at 10")
    'The meeting starts at 10'
    """
    verb = said.split()[0]
    at = re.search(rf"(?<=\s){re.escape(verb)}\b", text, re.IGNORECASE)
    return text[: at.start()] + said if at and verb.lower() not in PREPOSITIONS else None


def finish(heard: Heard, text: str) -> Script:
    """Close the goal that the user says is done or dropped; an empty text where there is none such."""
    done, dropped = DONE.match(text) or DID.match(text), DROPPED.match(text)
    match = done or dropped
    if match is None or not heard.offers(INSERT):
        return ""
    what = next(group for group in match.groups() if group)
    goals = yield from search(what, type="goal")
    wanted = key_stems(what)
    least = 2 if DID.match(text) else 1
    goal = next((goal for goal in goals if len(wanted & key_stems(goal.text)) >= least), None)
    if goal is None:
        return "I know of no open goal on that." if dropped and dropped["other"] else ""
    said = text[0].upper() + text[1:]
    args = {"text": said, "supersedes": goal.id, "type": "outcome" if done else "fact"}
    result = yield INSERT, args
    if is_refused(result):
        return f"I could not close that goal: {reason(result)}"
    word = "Well done. Closed" if done else "All right. Dropped"
    return f"{word}: “{goal.text}”."


def _store(heard: Heard, text: str, old: Recalled | None, *, is_name: bool) -> Script:
    result = yield INSERT, {"text": text, **({"supersedes": old.id} if old else {})}
    if "(consent)" in result:
        return (
            "I may not keep that for later: you have not agreed to long-term memory (consent). "
            'Say "yes, you may remember" and tell me again.'
        )
    if is_refused(result):
        return f"I did not store that: {reason(result)}"
    told = to_second_person(text)
    if result.startswith("quarantined"):
        return f"I set that aside until a person approves it: {told}."
    if result.startswith("merged") and old is None:
        return f"{KNEW}{told}."
    if is_name and heard.offers("core_memory_append"):
        yield from _keep_in_core(text, old)
    if old:
        return f"Corrected: {told}. It replaces what I had: “{old.text}”."
    against = OPPOSED.search(result)
    if against:
        return (yield from _doubted(text, against["id"]))
    return f"{_noted(result)}: {told}."


def told_together(answers: Sequence[str]) -> str:
    """Return the answers to the sentences of one message; what was noted is said to be so once.

    >>> told_together(["Noted: You like tea.", "Noted: You have a cat.", "Goodbye."])
    'Noted: You like tea. You have a cat. Goodbye.'
    """
    told = list(dict.fromkeys(answers))
    shown = [
        text.removeprefix(next((opening for opening in (NOTED, KNEW) if before.startswith(opening)), ""))
        for before, text in pairwise(["", *told])
    ]
    return " ".join(shown)


def _noted(result: str) -> str:
    """Return how a record was taken, by its type and the day it is due."""
    found = IN_WORDS.search(result)
    kind, due = (found["type"], found["due"]) if found else ("fact", None)
    names = {"goal": "Noted as an open goal", "constraint": "Noted as a rule", "preference": "Noted", "event": "Noted"}
    return names.get(kind, "Noted") + (f", due {due}" if due else "")


def _doubted(text: str, other_id: str) -> Script:
    """Say which record the new one contradicts; both stay until the user settles it."""
    other = next((record for record in (yield from search(text)) if record.id == other_id), None)
    told = to_second_person(text)
    if other is None:
        return f"Noted: {told}. It contradicts [{other_id}], which I keep too."
    return (
        f"Noted: {told}. But I also have: {to_second_person(other.text)} [{other.id}]. Which is right? Say “no, "
        f"…” with "
        "the one that holds."
    )


def _keep_in_core(text: str, old: Recalled | None) -> Generator[tuple[str, dict[str, Any]], str, None]:
    """Put the user's name where every prompt shows it."""
    if old is not None:
        replaced = yield "core_memory_replace", {"section": "human", "old": old.text, "new": text}
        if replaced.startswith("human"):
            return
    yield "core_memory_append", {"section": "human", "text": text}


def _superseded(claim: Claim) -> Generator[tuple[str, dict[str, Any]], str, Recalled | None]:
    """Return the record that the user corrects: another value of the same, its contrary, or what is most alike."""
    query = " ".join(dict.fromkeys([*key_words(claim.text), *WORDS[claim.relation].split()]))
    old = superseded(claim, (yield from search(query or claim.text)))
    if old is None and claim.relation in ONE_VALUE:
        # "I'm 34" shares no word that is searched for with "I'm 35".
        old = next((record for record in (yield from search("")) if _other_value(claim, record)), None)
    return old


def superseded(claim: Claim, found: Sequence[Recalled]) -> Recalled | None:
    """Return which of the records that were found a claim corrects."""
    others = [record for record in found if record.text.lower() != claim.text.lower()]
    if acquired := ACQUIRED.match(claim.text):
        what = key_stems(acquired["what"])
        lacked = next((one for one in others if LACKED.match(one.text) and what & key_stems(one.text)), None)
        if lacked or claim.slot is None or claim.relation not in ONE_VALUE:
            return lacked
    if claim.slot is not None and claim.relation in ONE_VALUE - {"is", "place"}:
        return next((record for record in others if _other_value(claim, record)), None)
    rules = (_other_value, _opposite_taste, lambda one, record: contradict(one.text, record.text), _alike)
    return next((record for rule in rules for record in others if rule(claim, record)), None)


def _other_value(claim: Claim, record: Recalled) -> bool:
    slot = slot_of(record.text)
    return claim.slot is not None and slot is not None and claim.slot.same(slot)


def _opposite_taste(claim: Claim, record: Recalled) -> bool:
    """Return whether one likes what the other does not."""
    slot = slot_of(record.text)
    if slot is None or claim.slot is None or {slot.relation, claim.relation} != {"taste"}:
        return False
    same = slot.subject == claim.slot.subject and key_stems(slot.value) & key_stems(claim.slot.value)
    return bool(same) and is_disliking(record.text) != is_disliking(claim.text)


def _alike(claim: Claim, record: Recalled) -> bool:
    """Return whether two statements share at least half of the words of the shorter one."""
    one, other = key_stems(claim.text), key_stems(record.text)
    return 2 * len(one & other) >= min(len(one), len(other)) > 0


def _is_users(text: str) -> bool:
    slot = slot_of(text)
    return slot is not None and slot.subject == "i"


# Take back what the user asks to have forgotten.

LISTED = regex(r"- .+ \[[^\[\]\s]{8,64}\]$")
"""A line of a list of records."""
MOST = 5
"""Records that one wish takes back; each is a tool call."""
EVERYTHING = regex(
    r"^(?:everything|all(?: of it| that)?|me|my data|all (?:you know|my data|memories|of my data))(?: (?:about|"
    r"on|of) me| you (?:know|have|remember|stored)(?: (?:about|on) me)?)?$",
    re.I,
)
ERASURE = (
    "I take back one thing at a time: “forget where I live”. To see what there is, say “what do you know about me?”. "
    "Everything at once, with proof that nothing is left, is `memkit memory erase --user NAME`; to stop storing, say "
    "“don't remember anything”."
)
ALL_OF = regex(
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
