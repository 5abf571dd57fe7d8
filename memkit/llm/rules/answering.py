"""Answer questions with what records say, word for word and with their ids, else with what was said; and small talk."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memkit.llm.rules.reading import (
    RELATIONS,
    SEARCH,
    Asked,
    Heard,
    Recalled,
    Script,
    listed,
    named_last,
    open_goals,
    read_question,
    said_turns,
    search,
)
from memkit.runtime.loop.consent import consent_in
from memkit.runtime.loop.interface import Message
from memkit.runtime.memory.gate.statements import is_question, key_stems, slot_of
from memkit.runtime.memory.words.text import regex, stem

PLUG_IN = "`memkit setup` gives the store a language model: a vendor's, or a server's of your own."
STAND_IN = f"(I am the reference model: a few rules that show what memory, policies and plans do. {PLUG_IN})"
"""Said once in a session."""
HELLO = r"(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings)(?: there| again| all)?"
GREETING = regex(rf"^{HELLO}(?:,? \w+)?\W*$", re.IGNORECASE)
HELP_TEXT = """I am memkit's reference model: a few rules, no network. I understand plain sentences only; you can
- tell me things ("My dog is called Rex", "I prefer espresso over latte", "Remember that …") and correct them ("No, my \
dog is called Max"),
- ask about them later ("What is my dog called?", "What do you know about me?", "How do you know?"),
- have something forgotten ("don't remember that", "forget my dog"),
- leave me goals ("I need to file my taxes by Friday", "what are my goals?", "done with the taxes"),
- ask for a task of a domain ("deliver book shop") or a skill ("use skill NAME"),
- ask for an action ("run `rm -rf /srv`", "deploy to production", "send hello to bob"); policies judge it first."""
ANSWERS = tuple(
    (regex(rf"^(?:{pattern})\W*$", re.IGNORECASE), told)
    for pattern, told in (
        (
            r"help(?: me)?|what can (?:you|i) (?:do|say)(?: here)?|how does this work|who are you|what are you",
            HELP_TEXT,
        ),
        (r"(?:many |ok,? )?(?:thanks|thank you|thx|cheers)\b.{0,20}", "You are welcome."),
        (r"bye|goodbye|see you|good night|quit|exit", "Goodbye."),
        (r"yes|yeah|ok|okay|sure|fine|right|great|cool|nice|got it|i see|no problem", "All right."),
        (
            r"no|nope|wrong|that(?:'s| is) (?:wrong|not right|not true)",
            "What is right, then? Say it in a whole sentence.",
        ),
    )
)
NOT_READ = (
    "I did not understand that, and stored nothing. I read plain sentences of a few kinds only; say 'help' to see "
    "which, or “Remember that …”."
)
MOST_GOALS = 3
CORE_NAME = regex(r"<human>\n(?:.*\n)*?My name is (?P<name>[^\n]{1,40})\n", re.IGNORECASE)


def small_talk(text: str, earlier: Sequence[Message] = (), *, remembers: bool = True) -> str | None:
    """Return the answer to what is said for company, or None for anything else; ``remembers`` where anything is kept.

    >>> small_talk("Thanks!"), small_talk("I like tea")
    ('You are welcome.', None)
    """
    agreed = consent_in(text)
    if agreed is False:
        return "All right, I store nothing from now on."
    if agreed and not remembers:
        return "Thank you. But this conversation keeps nothing for later: begin one with `--user YOU`."
    if agreed:
        return "Thank you. From now on I remember what you tell me; say again what I should know from before."
    if GREETING.match(text):
        return greeting(earlier)
    return next((told for pattern, told in ANSWERS if len(text) < 200 and pattern.match(text)), None)


def greeting(earlier: Sequence[Message]) -> str:
    """Return a greeting, by name where core memory has one, with the open goals that a new session is offered."""
    system = next((message.get("content", "") for message in earlier if message.get("role") == "system"), "")
    name = CORE_NAME.search(system[:20_000])
    hello = f"Hello{' ' + name['name'] if name else ''}!"
    offered = earlier[-1] if earlier and earlier[-1].get("name") == "memory" else {}
    goals = open_goals(offered.get("content", ""))
    if goals:
        return f"{hello} Still open: {'; '.join(map(_told, goals[:MOST_GOALS]))}. How can I help you?"
    return f"{hello} Tell me something to remember, ask me about it, or say 'help'."


def _told(goal: Recalled) -> str:
    due = f", due {goal.facts['due']}" if "due" in goal.facts else ""
    return f"“{goal.text}”{due} [{goal.id}]"


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
