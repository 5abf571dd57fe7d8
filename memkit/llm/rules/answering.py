"""Answer questions with what records say, word for word and with their ids, else with what was said, else not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memkit.llm.rules.questions import RELATIONS, Asked, is_question, key_stems, read_question
from memkit.llm.rules.reading import SEARCH, Heard, Recalled, Script, listed, named_last, said_turns, search
from memkit.llm.rules.small_talk import PLUG_IN
from memkit.llm.rules.statements import slot_of
from memkit.runtime.memory.words.text import regex, stem

UNKNOWN = "I do not know. Nothing I remember is about that."
MOST_TOLD = 6
TYPES = {
    "preference": "preferences?|tastes",
    "goal": "goals?|to-?dos?|tasks?|reminders?|commitments?",
    "constraint": "constraints?|rules",
    "event": "events?",
    "outcome": "outcomes?",
}
LISTING = regex(
    r"^(?:please )?(?:list|show|what(?:'s| is| are)?|which|do i have|any)(?: me| any| are| all)*(?: my| our| the)?"
    rf"(?: open)? (?:{'|'.join(f'(?P<{type}>{names})' for type, names in TYPES.items())})(?: do i have| left)?\W*$",
    re.IGNORECASE,
)
OVERVIEW = regex(
    r"^(?:please )?(?:(?:tell|show) me |list )?(?:what|everything|all)(?: do)?(?: that)? you (?:know|remember|stored?)"
    r"(?: (?:about|of|on) (?:me|us))?\W*$",
    re.IGNORECASE,
)
SOURCE = regex(
    r"^(?:and )?(?:how do you know(?: that| this| it)?|(?:says who|who (?:told you|said)(?: that| this| so)?)|"
    r"what(?:'s| is) (?:the|your) source|source|are you sure(?: about that)?)\W*$",
    re.IGNORECASE,
)
SOURCES = {
    "explicit": "in your own words",
    "inferred": "as an agent understood you",
    "imported": "by an import",
    "merged": "several times",
    "learned": "as the outcome of work",
}
FIRST = regex(
    r"^(?:and )?what (?:did i (?:say|tell you|ask(?: you)?)|was the) (?:(?:very )?first|at the (?:start|beginning))"
    r"(?: thing(?: that)? (?:i|we) (?:said|told you|asked))?(?: (?:here|in this (?:conversation|session)))?\W*$",
    re.IGNORECASE,
)
LOOK_BACK = "conversation_search"
FORGOTTEN = regex(r"Forgotten: “(.{1,500}?)”")
"""What was taken back in this conversation; nobody wants to hear it again."""


def answer(heard: Heard, sentence: str) -> Script:
    """Look a question up and answer it."""
    if heard.offers(SEARCH):
        if kind := LISTING.match(sentence):
            return (yield from _listing(next(type for type in TYPES if kind[type])))
        if SOURCE.match(sentence):
            return (yield from _source(heard))
        if OVERVIEW.match(sentence):
            found = yield from search("", top_k=20)
            return several(found) if found else "I remember nothing of you yet."
    if FIRST.match(sentence):
        return (yield from _beginning(heard))
    asked = read_question(sentence)
    if heard.offers(SEARCH):
        found = yield from search(asked.query)
        fitting = fits(asked, found)
        if not fitting and asked.personal:
            # A value may stand in a record that shares no word with the question, as in "I'm a nurse".
            fitting = fits(asked, (yield from search("")))
        if fitting:
            return " ".join(f"{told(record)}." for record in fitting)
    return (yield from _look_back(heard, asked, sentence))


def _beginning(heard: Heard) -> Script:
    turns = said_turns((yield LOOK_BACK, {"query": "first", "limit": 1})) if heard.offers(LOOK_BACK) else []
    said = [turn.text for turn in turns if turn.role == "user"] or heard.said
    return f"You began with: “{said[0].strip()[:300]}”" if said else "You said nothing before that."


def fits(asked: Asked, found: Sequence[Recalled]) -> list[Recalled]:
    """Return the records that answer a question: those that share most with it, several where only one can hold."""
    scored = [(_shared(asked, record), record) for record in found]
    best = max((score for score, _ in scored), default=0)
    top = [record for score, record in scored if score == best > 0]
    if asked.relation == "taste":
        return top[:MOST_TOLD]
    slot = slot_of(top[0].text) if top else None
    same = [one for one in top[1:] if slot is not None and (other := slot_of(one.text)) and slot.same(other)]
    return [*top[:1], *same]


def _shared(asked: Asked, record: Recalled) -> int:
    """Return how many things of a question a record holds; 0 where it does not answer it."""
    words, slot = key_stems(record.text), slot_of(record.text)
    related = bool(set(map(stem, RELATIONS.get(asked.relation, "").split())) & words)
    if not asked.things:
        own = slot is not None and (slot.subject == "i" or asked.relation == "taste")
        return int(asked.personal and own and slot is not None and slot.relation == asked.relation != "")
    shared = len(asked.things & words)
    return 2 * shared + related if 2 * shared >= len(asked.things) else 0


def told(record: Recalled) -> str:
    """Return what a record says, in its own words, and whether nobody confirmed it."""
    doubt = "" if record.facts.get("trust", "verified") == "verified" else " (not confirmed)"
    due = f", due {record.facts['due']}" if "due" in record.facts else ""
    return f"“{record.text.strip()}”{due}{doubt} [{record.id}]"


def several(records: Sequence[Recalled]) -> str:
    """Return records as a list."""
    return listed([told(record) for record in records])


def _listing(kind: str) -> Script:
    found = yield from search("", type=kind, top_k=20)
    found = sorted(found, key=lambda record: record.facts.get("due", "9999")) if kind == "goal" else found
    name = {"goal": "open goal", "constraint": "rule"}.get(kind, kind)
    return several(found) if found else f"I know of no {name} of yours."


def _source(heard: Heard) -> Script:
    last = named_last(heard.earlier)
    texts = [
        text for message in heard.earlier[-40:] for text in re.findall(r"“(.{1,300}?)”", message.get("content") or "")
    ]
    for text in reversed(texts if last else []):
        record = next((one for one in (yield from search(text)) if one.id == last[0]), None)
        if record is not None:
            how = SOURCES.get(record.facts.get("source", ""), "")
            sure = f"; confidence {record.facts.get('confidence')}, {record.facts.get('trust')}"
            more = f"`memkit memory why {record.id}` has the whole story."
            return f"Told on {record.date} {how}: {told(record)}{sure}. {more}"
    return "What do you mean? I named no record before."


def _look_back(heard: Heard, asked: Asked, sentence: str) -> Script:
    """Answer with what was said in conversations, when long-term memory has nothing."""
    wanted = asked.things
    turns = said_turns((yield LOOK_BACK, {"query": asked.query or sentence})) if heard.offers(LOOK_BACK) else []
    said = [(turn.text, f" on {turn.at}") for turn in turns if turn.role == "user"]
    # What nobody agreed to keep stands in the messages of this conversation only.
    said += [(text, " before") for text in reversed(heard.said)]
    gone = {one for message in heard.earlier for one in FORGOTTEN.findall(message.get("content") or "")}
    for text, when in said:
        if any(one.lower() in text.lower() for one in gone):
            continue
        if wanted and 2 * len(wanted & key_stems(text)) > len(wanted) and not is_question(text):
            return f"You said{when}: “{text.strip()[:300]}”. I have no record of it in long-term memory."
    return UNKNOWN if asked.personal or not wanted else f"{UNKNOWN} {PLUG_IN}"
