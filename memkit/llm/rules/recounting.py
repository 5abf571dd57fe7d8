"""Say what is remembered, since when and from whom, and what was said before."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from typing import Any

from memkit.llm.rules.answering import UNKNOWN, clause, several
from memkit.llm.rules.questions import is_question, key_stems, key_words
from memkit.llm.rules.reading import SEARCH, Heard, Recalled, Script, said_turns, search, spoken_of
from memkit.runtime.memory.words.text import regex

ABOUT_ME = regex(
    r"^(?:(?:please )?(?:(?:tell|show) me |list |show )?)?(?:what|everything|all)(?: do| did| have|"
    r" all)?(?: that)? you "
    r"(?:really |already )?(?:know|remember|store|save|note|stored|saved|have (?:stored|saved|on file)|learned?)"
    r"(?: all| so far)*(?: about (?:me|us)| on me| of me)?\W*$|^(?:list|show)(?: me)? (?:all )?(?:my |your |"
    r"the )?(?:memories|memory|records|facts(?: about me)?)\W*$"
    r"|^(?:is there|do you (?:know|remember|have)) anything(?: (?:that )?you (?:know|remember|have))?"
    r"(?: (?:about|on|of) (?:me|us))?\W*$|^(?:show|tell) me everything\W*$|^what is in your memory\W*$|^who am i to "
    r"you\W*$",
    re.IGNORECASE,
)
ABOUT = regex(
    r"^(?:(?:please )?(?:tell|show) me )?(?:what|everything|all|anything)(?: do| have|"
    r" else do)?(?: that)? you (?:know|remember|stored|have)(?: stored)? (?:about|on|of) (?P<what>.{1,80}?)\W*$"
    r"|^(?:tell me (?:more )?about|what about|do you (?:know|remember) anything about) (?P<more>.{1,80}?)\W*$",
    re.IGNORECASE,
)
TYPES = {
    "preference": "preferences?|likes|tastes",
    "goal": "(?:open )?(?:goals?|to-?dos?|to-?do list|tasks?|reminders?|commitments?|promises|errands)",
    "constraint": "constraints?|rules|limits|allergies",
    "event": "events?",
    "outcome": "outcomes?|results",
    "fact": "facts?",
}
LISTING = regex(
    r"^(?:please )?(?:(?:list|show|give|tell)(?: me)?|what(?:'s| is| are)?|which(?: are)?|do i have(?: any)?|"
    r"are there(?: any)?|any)(?: all| of| on| still)*(?: my| our| the)?(?: open| current| pending)? "
    r"(?:"
    + "|".join(f"(?P<{type}>{names})" for type, names in TYPES.items())
    + r")(?: do i have| have i| that you know| you know| left| open| today| right now|"
    r" (?:did|have) i (?:give|given|tell|told|set) you| (?:should|must|do) you follow)*\W*$"
    r"|^(?:and )?my (?:open )?(?:goals|to-?dos|tasks|reminders)\W*$|^what(?: is|'s) on my (?:to-?do list|list|plate|"
    r"agenda)\W*$"
    r"|^what am i (?:still )?(?:working (?:towards?|on)|planning|aiming (?:at|for))\W*$"
    r"|^what(?: am i supposed to do| (?:do|did) i (?:still )?(?:have|need|want|promise) to do| should i do|"
    r" did i promise|"
    r"(?: is|'s)? ?(?:else )?(?:is )?(?:still )?(?:open|left|due|pending))(?: to do| next| today| this week)?\W*$"
    r"|^(?:(?:please |(?:can|could|would|will) you |help me |to ){0,4})plan(?: for)? (?:my|our|the) (?:day|week|"
    r"weekend|"
    r"morning|evening|month)\W*$",
    re.IGNORECASE,
)
SOURCE = regex(
    r"^(?:and )?(?:how (?:do|did|can) you (?:know|learn)(?: that| this| it| (?P<what>(?:what|where|who|when|my|our|"
    r"that|"
    r"about) .{2,80}?))?|says who|who (?:told you|"
    r"said)(?: that| this| so)?|where (?:did you get|do you have) (?:that|this|it)(?: from)?|"
    r"where(?:'s| is| does) (?:that|this|it) (?:come )?from|what(?:'s| is) (?:the|your) source|"
    r"why do you (?:think|say|believe) (?:that|so)|are you (?:really )?sure(?: about that)?|really|source)\W*$",
    re.IGNORECASE,
)
WHEN_TOLD = regex(
    r"^(?:and )?(?:since when(?: do you know| have you known)?(?: that| this| it)?|when did (?:i|"
    r"we) (?:tell you|say|mention|talk)(?: about)?(?: that| this| it)?(?: to you)?|how long have you known(?: that)?)"
    r"(?:(?: about| that)? (?P<what>.{2,80}?))?\W*$",
    re.IGNORECASE,
)
HOW_MANY = regex(
    r"^how (?:many|much)(?: \w+)? (?:do you (?:know|remember|have)|have you (?:stored|saved))\b.{0,40}$", re.IGNORECASE
)
JUST_SAID = regex(
    r"^what (?:did i (?:just )?(?:say|ask|tell you|write)|was my (?:last|previous) (?:question|"
    r"message))(?: just now| before(?: that)?| last)?\W*$",
    re.IGNORECASE,
)
FIRST_SAID = regex(
    r"^what (?:was the first thing i (?:said|asked)|did i (?:say|ask)(?: you)? first|was my first (?:question|"
    r"message))\W*$",
    re.IGNORECASE,
)
SAID = regex(
    r"^(?:what (?:did|have) (?:i|we) (?:say|said|tell you|told you|ask(?:ed)?|do|done)(?!\s+about\b)|"
    r"what (?:did|have) (?:i|we) (?:talk(?:ed)? about|discuss(?:ed)?)|"
    r"(?:please )?summari[sz]e (?:our|the|this) (?:conversation|chat|session))(?P<when>.{0,80})$",
    re.IGNORECASE,
)
WHY_NOT = regex(
    r"^(?:but |and )?why (?:did|do|have|will|would|could|can)(?:n't you| you not)\b.{0,120}$|"
    r"^(?:but |and )?why (?:not|won't you|can't you)\b.{0,120}$|^why\W*$",
    re.IGNORECASE,
)
AGAIN = regex(
    r"^(?:(?:please )?(?:repeat|say) (?:that|it)(?: again)?|what did you (?:just )?say|come again|pardon(?: me)?|"
    r"huh|eh|"
    r"what|sorry what|excuse me)(?: please)?\W*$",
    re.IGNORECASE,
)
DID_YOU = regex(
    r"^(?:and )?(?:did|have) you (?:really |actually |just |already )?(?P<what>(?!know|remember|hear|understand|"
    r"get\b|see|"
    r"forg|say|said|ever|store|save|note)\w+ .{2,120}?)\W*$",
    re.IGNORECASE,
)
REFUSED = ("I did not do that.", "I cannot do that", "That did not work", "I could not")
DONE = "Done with "
OneFound = Generator[tuple[str, dict[str, Any]], str, Recalled | None]
MOST_SAID = 5
HOW_TO_BEGIN = "Tell me something, such as “My dog is called Rex”."
NOTHING = f"I remember nothing of you yet. {HOW_TO_BEGIN}"
SOURCES = {
    "explicit": "in your own words",
    "inferred": "as I understood you",
    "imported": "by an import",
    "merged": "several times",
    "learned": "as the outcome of work",
}


def recount(heard: Heard, sentence: str) -> Script | None:
    """Return the script that answers a question about memory itself, or None for any other question."""
    if not heard.offers(SEARCH):
        return None
    for pattern, script in FORMS:
        if match := pattern.match(sentence):
            return script(heard, match)
    return None


def _overview(heard: Heard, match: re.Match[str]) -> Script:
    found = yield from search("", top_k=20)
    return several(found) if found else NOTHING


def _about(heard: Heard, match: re.Match[str]) -> Script:
    what = (match["what"] or match["more"] or "").strip()
    found = yield from search(" ".join(key_words(what)) or what)
    wanted = key_stems(what)
    about = [record for record in found if wanted & key_stems(record.text)]
    return several(about) if about else UNKNOWN


def _listing(heard: Heard, match: re.Match[str]) -> Script:
    kind = next((type for type in TYPES if match[type]), "goal")
    found = yield from search("", type=kind, top_k=20)
    if kind == "goal":
        found = sorted(found, key=lambda record: record.facts.get("due", "9999"))
    name = {"goal": "open goal", "constraint": "rule"}.get(kind, kind)
    return several(found) if found else f"I know of no {name} of yours."


def _source(heard: Heard, match: re.Match[str]) -> Script:
    record = (yield from _best(match["what"])) if match["what"] else (yield from _last_spoken(heard))
    if record is None and match["what"]:
        return UNKNOWN
    if record is None:
        return "What do you mean? I named no record before."
    facts = record.facts
    how = SOURCES.get(facts.get("source", ""), "")
    origin = f", from {facts['from']}" if "from" in facts else ""
    sure = f"; confidence {facts['confidence']}, {facts['trust']}" if "confidence" in facts else ""
    told = f"You told me on {record.date} {how}{origin}: “{record.text}” [{record.id}]{sure}."
    return f"{told} `memkit memory why {record.id}` has the whole story."


def _when_told(heard: Heard, match: re.Match[str]) -> Script:
    what = match["what"]
    record = (yield from _best(what)) if what else (yield from _last_spoken(heard))
    return f"Since {record.date}: {clause(record)} [{record.id}]." if record else UNKNOWN


def _last_spoken(heard: Heard) -> OneFound:
    spoken = spoken_of(heard.earlier)
    if spoken is None:
        return None
    found = yield from search(spoken[1])
    return next((record for record in found if record.id == spoken[0]), None)


def _best(what: str) -> OneFound:
    wanted = key_stems(what)
    found = yield from search(" ".join(key_words(what)) or what)
    return next((record for record in found if wanted & key_stems(record.text)), None)


def _why_not(heard: Heard, match: re.Match[str]) -> Script:
    """Say again why something was not done, as it was said then."""
    yield from ()
    why = next((text for text in _answers(heard) if text.startswith(REFUSED)), None)
    return (
        f"I said why: “{why[:500]}” /why has the account of it." if why else "I see nothing here that I refused to do."
    )


def _again(heard: Heard, match: re.Match[str]) -> Script:
    yield from ()
    last = next(_answers(heard), "")
    return f"I said: “{last[:1000]}”" if last else "I said nothing yet. " + HOW_TO_BEGIN


def _did_you(heard: Heard, match: re.Match[str]) -> Script:
    """Say whether a tool did what is asked for, as far as this conversation shows."""
    yield from ()
    wanted = key_stems(match["what"])
    asked = [(text, wanted & key_stems(f"{said} {text}")) for said, text in _exchanges(heard)]
    about = next((text for text, shared in asked if len(shared) * 2 >= len(wanted) > 0), "")
    if about.startswith(DONE):
        return f"Yes: “{about[:300]}”"
    return "No." if about.startswith(REFUSED) else "No, not that I see in this conversation."


def _answers(heard: Heard) -> Iterator[str]:
    """Yield what was answered in this conversation, the newest first."""
    return (text for _, text in _exchanges(heard))


def _exchanges(heard: Heard) -> Iterator[tuple[str, str]]:
    """Yield what the user said with what was answered to it, the newest first."""
    pairs, said = [], ""
    for message in heard.earlier:
        if message.get("role") == "user" and not message.get("name"):
            said = message.get("content") or ""
        elif message.get("role") == "assistant" and message.get("content"):
            pairs.append((said, message["content"]))
    return reversed(pairs)


def _how_many(heard: Heard, match: re.Match[str]) -> Script:
    found = yield from search("", top_k=50)
    if not found:
        return NOTHING
    count = f"{len(found)}{' or more' if len(found) == 50 else ''}"
    return (
        f"I have {count} record{'' if len(found) == 1 else 's'} of you. “What do you know about me?” lists the newest."
    )


def _just_said(heard: Heard, match: re.Match[str]) -> Script:
    yield from ()
    said = heard.said
    return f"You said: “{said[-1][:300]}”" if said else "Nothing before this, in this conversation."


def _first_said(heard: Heard, match: re.Match[str]) -> Script:
    yield from ()
    said = heard.said
    return f"The first that I still see is: “{said[0][:300]}”" if said else "This is the first."


def _said(heard: Heard, match: re.Match[str]) -> Script:
    if not match["when"].strip(" ?.!"):
        return _in_this_conversation(heard)
    turns = said_turns((yield "conversation_search", {"query": match[0], "limit": 20}))
    said = [turn for turn in turns if turn.role == "user" and not is_question(turn.text) and turn.text != heard.text]
    if not said:
        return "I find nothing that you said then."
    lines = [f"- {turn.at}: “{' '.join(turn.text.split())[:200]}”" for turn in sorted(said, key=lambda turn: turn.at)]
    return "\n".join(["You said:", *lines[:MOST_SAID]])


def _in_this_conversation(heard: Heard) -> str:
    said = heard.said
    told = [text for text in said if not is_question(text) and len(text.split()) > 1]
    return "\n".join(["You said:", *(f"- “{text[:200]}”" for text in told[-MOST_SAID:])]) if told else "Nothing yet."


FORMS: tuple[tuple[re.Pattern[str], Callable[[Heard, re.Match[str]], Script]], ...] = (
    (ABOUT_ME, _overview),
    (LISTING, _listing),
    (SOURCE, _source),
    (WHEN_TOLD, _when_told),
    (HOW_MANY, _how_many),
    (JUST_SAID, _just_said),
    (FIRST_SAID, _first_said),
    (ABOUT, _about),
    (SAID, _said),
    (WHY_NOT, _why_not),
    (AGAIN, _again),
    (DID_YOU, _did_you),
)
