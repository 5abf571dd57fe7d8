"""Remember what the user says, in their own words, correct it, close goals, and take things back."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from memkit.llm.rules.reading import (
    INSERT,
    Heard,
    Script,
    is_refused,
    named_last,
    read_question,
    reason,
    search,
)
from memkit.runtime.memory.gate.statements import PlainStatement, corrected_by, key_stems, key_words, slot_of
from memkit.runtime.memory.words.text import regex

RETRACT = "memory_retract"
NO_MEMORY = "I have no long-term memory in this conversation, so this stays in it."
NO_RETRACTION = "I cannot take anything back here: there is no tool for it. `memkit memory forget ID` does it."
NO_CONSENT = (
    "I may not keep that for later: you have not agreed to long-term memory (consent). "
    'Say "yes, you may remember" and tell me again.'
)
IN_WORDS = regex(r"\((?P<type>\w+)(?:, due (?P<due>[\d-]+))?")
OPPOSED = regex(r"cannot be true together with (?P<id>[^\s,.]+)")
DONE = regex(
    r"^(?:i(?:'m| am)? )?(?:(?:already|just|finally) )?(?:done with|finished with|finished|completed) "
    r"(?P<what>.{1,200}?)[.!]*$",
    re.IGNORECASE,
)


def remember(heard: Heard, statement: PlainStatement) -> Script:
    """Store a statement, in the place of the one it corrects, and say what became of it."""
    if not heard.offers(INSERT):
        return NO_MEMORY
    text, old = statement.text, None
    if statement.corrects:
        found = yield from search(_query(statement))
        old = corrected_by(statement, [(record.id, record.text) for record in found])
        if old is None:
            found = yield from search("")
            old = corrected_by(statement, [(record.id, record.text) for record in found])
    result = yield INSERT, {"text": text, **({"supersedes": old} if old else {})}
    if "(consent)" in result:
        return NO_CONSENT
    if is_refused(result):
        return f"I did not store that: {reason(result)}"
    if result.startswith("quarantined"):
        return f"I set that aside until a person approves it: “{text}”."
    if result.startswith("merged") and old is None:
        return f"I knew that already: “{text}”."
    replaced = next((record.text for record in found if record.id == old), "") if old else ""
    if statement.slot is not None and statement.slot[:2] == ("i", "name") and heard.offers("core_memory_append"):
        yield from _keep_in_core(text, replaced)
    if old:
        return f"Corrected: “{text}”. It replaces what I had: “{replaced}”."
    if against := OPPOSED.search(result):
        return f"Noted: “{text}”. It contradicts [{against['id']}], which I keep too. Say “No, …” with what holds."
    kind = IN_WORDS.search(result)
    due = f", due {kind['due']}" if kind and kind["due"] else ""
    return f"Noted{' as an open goal' if kind and kind['type'] == 'goal' else ''}{due}: “{text}”."


def _query(statement: PlainStatement) -> str:
    related = read_question(statement.text).query
    return " ".join(dict.fromkeys([*key_words(statement.text), *related.split()])) or statement.text


def _keep_in_core(text: str, old: str) -> Generator[tuple[str, dict[str, Any]], str, None]:
    """Put the user's name where every prompt shows it."""
    if old:
        replaced = yield "core_memory_replace", {"section": "human", "old": old, "new": text}
        if replaced.startswith("human"):
            return
    yield "core_memory_append", {"section": "human", "text": text}


def finish(heard: Heard, text: str) -> Script:
    """Close the goal that the user says is done; an empty text where there is none such."""
    match = DONE.match(text)
    if match is None or not heard.offers(INSERT):
        return ""
    wanted = key_stems(match["what"])
    goals = yield from search(match["what"], type="goal")
    goal = next((goal for goal in goals if wanted & key_stems(goal.text)), None)
    if goal is None:
        return ""
    said = text[0].upper() + text[1:].rstrip(".!")
    result = yield INSERT, {"text": said, "supersedes": goal.id, "type": "outcome"}
    return f"I could not close that goal: {reason(result)}" if is_refused(result) else f"Closed: “{goal.text}”."


# Take back what the user asks to have forgotten.

FORGET = regex(
    r"^(?:(?:no|ok(?:ay)?|wait|sorry|please|can you|could you)[\s,]+){0,3}"
    r"(?:(?:do not|don't|dont|never)\s+(?:remember|store|keep|save|note)\b(?P<a>.{0,400})"
    r"|forget\b(?! to\b)(?P<b>.{0,400})"
    r"|(?P<last>scratch that|strike that|never ?mind that|take (?:that|it) back|"
    r"(?:i was |i'm |just )?(?:joking|kidding)))$",
    re.IGNORECASE,
)
LAST = regex(
    r"|(?:about )?(?:that|this|it|what i (?:just )?(?:said|told you))(?:,? (?:please|again|either))?", re.IGNORECASE
)
EVERYTHING = regex(r"(?:everything|all|me|my data)(?: (?:about|on) me| you (?:know|have|remember).*)?", re.IGNORECASE)
ERASURE = (
    "I take back one thing at a time: “forget my dog”. Everything at once, with proof that nothing is left, is "
    "`memkit memory erase --user NAME`; to stop storing, say “don't remember anything”."
)


def read_forget(text: str) -> str | None:
    """Return what the user wants forgotten, an empty text for what was said last, or None.

    >>> read_forget("Don't remember that."), read_forget("forget my dog's name"), read_forget("hello")
    ('', "my dog's name", None)
    """
    match = FORGET.match(text.strip().rstrip(".! ").replace("’", "'"))
    if not match:
        return None
    rest = (match["a"] or match["b"] or "").strip(" ,")
    if match["last"] or LAST.fullmatch(rest):
        return ""
    return re.sub(r"^(?:that|about|what (?:you know|i said|i told you) about)\s+(?=\w)", "", rest, flags=re.IGNORECASE)


def forget(heard: Heard, what: str) -> Script:
    """Retire what is meant by ``what``, or with an empty text what was named last, and say what that was."""
    if not heard.offers(RETRACT):
        return NO_RETRACTION
    if EVERYTHING.fullmatch(what):
        return ERASURE
    ids = (yield from _meant(what)) if what else named_last(heard.earlier)
    gone: list[str] = []
    for record_id in ids[:5]:
        result = yield RETRACT, {"id": record_id}
        if is_refused(result):
            return " ".join([*gone, f"I could not forget that: {reason(result)}"])
        gone.append(f"Forgotten: “{result.partition('which said: ')[2] or record_id}”.")
    if not gone:
        return "I found nothing to forget. Say it in the words you used when you told me."
    return " ".join([*gone, "It will not be stored again."])


def _meant(what: str) -> Generator[tuple[str, dict[str, Any]], str, list[str]]:
    """Return the id of the record that some words mean."""
    asked, slot = read_question(what), slot_of(what)
    for record in (yield from search(asked.query or what)):
        known, held = key_stems(record.text), slot_of(record.text)
        same = slot is not None and held is not None and slot == held
        own = asked.personal and held is not None and held[:2] == ("i", asked.relation)
        if same or own or (asked.things and asked.things <= known):
            return [record.id]
    return []
