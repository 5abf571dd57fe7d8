"""Remember the user's statements in their own words, and answer with them verbatim, citing ids."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from memkit.llm.rules import acting
from memkit.llm.rules.reading import (
    INSERT,
    PLUG_IN,
    SEARCH,
    Heard,
    Recalled,
    Script,
    is_refused,
    listed,
    named_last,
    reason,
    said_turns,
    search,
)
from memkit.runtime.loop.consent import consent_in
from memkit.runtime.memory.gate.contradictions import contradict
from memkit.runtime.memory.gate.statements import (
    PlainStatement,
    corrected_by,
    is_question,
    key_stems,
    key_words,
    read_message,
    sentences_of,
    slot_of,
)
from memkit.runtime.memory.words.text import regex, stem
from memkit.runtime.memory.words.wording import GREETING

RELATIONS = {
    "name": "name called call named",
    "home": "live lives living moved home address based",
    "work": "work works job working employer profession occupation",
    "age": "old age years",
    "birthday": "birthday born",
    "origin": "from come",
    "taste": "prefer like love enjoy hate dislike favorite favourite",
}
"""The words by which a record of each relation is found."""
PERSONAL = regex(r"\b(?:i|my|me|mine|we|our|us)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """The content of a question."""

    things: frozenset[str]
    """Stems of the things it names, without the words for what is asked about them."""
    relation: str
    query: str
    """The words to search for."""
    personal: bool
    """Whether it is about the user and names nothing else."""


def read_question(sentence: str) -> Asked:
    """Return the content of the question ``sentence``.

    >>> read_question("What is my dog called?").query
    'dog called name call named'
    """
    spoken = re.findall(r"[\w']+", sentence.lower())
    found = key_words(sentence)
    relation = next((one for one, words in RELATIONS.items() if set(words.split()) & {*spoken, *found}), "")
    relation = "work" if {"do", "living"} <= set(spoken) else "name" if spoken[:3] == ["who", "am", "i"] else relation
    related = set(map(stem, RELATIONS.get(relation, "").split())) | ({"live"} if relation == "work" else set())
    things = frozenset(map(stem, found)) - related
    words = [word for word in found if stem(word) in things or word in RELATIONS.get(relation, "")]
    query = " ".join(dict.fromkeys([*words, *RELATIONS.get(relation, "").split()]))
    return Asked(things, relation, query, not things and PERSONAL.search(sentence) is not None)


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
"""Statements retracted in this conversation, which must not be repeated."""


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
            # A value may be in a record that shares no word with the question, as in "I'm a nurse".
            fitting = fits(asked, (yield from search("")))
        fitting = max(fitting, one_for_each(asked, sentence, found), key=len)
        if fitting:
            return " ".join(f"{told(record)}." for record in fitting)
    return (yield from _look_back(heard, asked, sentence))


def _beginning(heard: Heard) -> Script:
    turns = said_turns((yield LOOK_BACK, {"query": "first", "limit": 1})) if heard.offers(LOOK_BACK) else []
    said = [turn.text for turn in turns if turn.role == "user"] or heard.said
    return f"You began with: “{said[0].strip()[:300]}”" if said else "You said nothing before that."


def fits(asked: Asked, found: Sequence[Recalled]) -> list[Recalled]:
    """Return the records that answer a question: those that share most with it, several if not only one can hold.

    What contradicts the first is said with it, because nobody has settled which of the two holds. Parts left open by
    the first may be answered by a record about something that it names: the employer's trade.
    """
    scored = [(_shared(asked, record), record) for record in found]
    best = max((score for score, _ in scored), default=0)
    top = [record for score, record in scored if score == best > 0]
    if asked.relation == "taste":
        return top[:MOST_TOLD]
    slot = slot_of(top[0].text) if top else None
    same = [one for one in top[1:] if slot is not None and (other := slot_of(one.text)) and slot.same(other)]
    opposed = [one for one in found if top and contradict(one.text, top[0].text)]
    return [*top[:1], *(same or opposed or _next_step(asked, top, found))]


def one_for_each(asked: Asked, sentence: str, found: Sequence[Recalled]) -> list[Recalled]:
    """Return a record about each of several things that a question lists; none unless most of them are known."""
    parts = [key_words(part) for part in re.split(r",|\band\b", sentence)]
    listed = {stem(words[-1]) for words in parts if words} & asked.things
    known = [{thing for thing in listed if thing in key_stems(record.text)} for record in found]
    if 2 * len(set().union(*known)) <= len(listed):
        return []
    return [record for place, record in enumerate(found) if known[place] - set().union(*known[:place])]


def _next_step(asked: Asked, top: Sequence[Recalled], found: Sequence[Recalled]) -> list[Recalled]:
    open_things = asked.things - key_stems(top[0].text) if top else frozenset()
    for record in found if open_things else ():
        words = key_words(record.text)
        if words and stem(words[0]) in key_stems(top[0].text) and open_things & key_stems(record.text):
            return [record]
    return []


def _shared(asked: Asked, record: Recalled) -> int:
    """Return how many things of a question a record mentions; 0 if it does not answer it."""
    words, slot = key_stems(record.text), slot_of(record.text)
    related = bool(set(map(stem, RELATIONS.get(asked.relation, "").split())) & words)
    if not asked.things:
        own = slot is not None and (slot.subject == "i" or asked.relation == "taste")
        return int(asked.personal and own and slot is not None and slot.relation == asked.relation != "")
    shared = len(asked.things & words)
    return 2 * shared + related if 2 * shared >= len(asked.things) else 0


def told(record: Recalled) -> str:
    """Return a record's text, with a note if nobody confirmed it."""
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
    """Answer from past conversations if long-term memory has nothing."""
    wanted = asked.things
    turns = said_turns((yield LOOK_BACK, {"query": asked.query or sentence})) if heard.offers(LOOK_BACK) else []
    said = [(turn.text, f" on {turn.at}") for turn in turns if turn.role == "user"]
    # Without consent to storage, statements are only in the messages of this conversation.
    said += [(text, " before") for text in reversed(heard.said)]
    gone = {one for message in heard.earlier for one in FORGOTTEN.findall(message.get("content") or "")}
    for text, when in said:
        if any(one.lower() in text.lower() for one in gone):
            continue
        if wanted and 2 * len(wanted & key_stems(text)) > len(wanted) and not is_question(text):
            return f"You said{when}: “{text.strip()[:300]}”. I have no record of it in long-term memory."
    return UNKNOWN if asked.personal or not wanted else f"{UNKNOWN} {PLUG_IN}"


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
    """Store a statement, replacing the one that it corrects, and report the result."""
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
    """Close the goal that the user says is done; empty if there is none."""
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


# Retract what the user asks to have forgotten.

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
    """Return what the user wants forgotten, an empty text for the last statement, or None.

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
    """Retire what ``what`` refers to, or for an empty text what was named last, and report it."""
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
    """Return the ids of the records that some words refer to."""
    asked, slot = read_question(what), slot_of(what)
    for record in (yield from search(asked.query or what)):
        known, held = key_stems(record.text), slot_of(record.text)
        same = slot is not None and held is not None and slot == held
        own = asked.personal and held is not None and held[:2] == ("i", asked.relation)
        if same or own or (asked.things and asked.things <= known):
            return [record.id]
    return []


# A whole message.

NOT_READ = (
    "I did not understand that, and stored nothing. I read plain sentences of a few kinds only; say 'help' to see "
    "which, or “Remember that …”."
)


def respond(heard: Heard, text: str) -> Script:
    """Answer a whole message: one kind of request, or sentence by sentence."""
    return (yield from _request(heard, text)) or (yield from _sentences(heard, text)) or NOT_READ


def _request(heard: Heard, text: str) -> Script:
    """Do what a message requests as a whole: forget, plan, act or follow a skill; empty for anything else."""
    what = read_forget(text)
    if what is not None:
        return (yield from forget(heard, what))
    task = acting.read_task(text, heard.tools)
    if task is not None:
        return (yield from acting.plan(task))
    skill = acting.read_skill_request(text, heard)
    if skill is not None and (told := (yield from skill)):
        return told
    action = acting.read_action(text, heard.tools)
    return (yield from acting.act(action)) if action is not None else ""


def _sentences(heard: Heard, text: str) -> Script:
    """Answer each question, and store each plain statement; if a part of the message is doubtful, none."""
    answers: list[str] = []
    said = [one for one in sentences_of(text) if consent_in(one) is None and not GREETING.match(one)]
    told = read_message(said, text, heard.said)
    for sentence, statements in zip(said, told, strict=True):
        if is_question(sentence):
            answers.append((yield from answer(heard, sentence)))
            continue
        answers.append((yield from finish(heard, sentence)))
        for statement in statements if not answers[-1] else ():
            answers.append((yield from remember(heard, statement)))
    return " ".join(dict.fromkeys(filter(None, answers)))
