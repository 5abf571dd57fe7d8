# ruff: noqa: SIM905 (lists of words read better as text)
"""Read plain statements: whole sentences of a few known forms, in their own words, and nothing else.

Free speech is not understood here, and nothing of it is stored: the reference model would have to guess. A sentence
counts only if it matches one form from its first word to its last, with words of known kinds, and if nothing around it
marks it as a joke, a quotation, a supposition or somebody else's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from itertools import combinations
from typing import NamedTuple

from ..words.text import any_of, regex, stem
from ..words.wording import facts, hedged_wording, limit_of, sentences, transient_wording
from .clauses import ODD, apart, is_plain_clause
from .vocabulary import (
    ALLERGEN,
    CITY,
    COLOUR,
    COUNT,
    DATE,
    DIET,
    FAMILY,
    FIELD,
    HOBBY,
    KIN,
    LANGUAGE,
    MONTH,
    NAME,
    NAMES,
    NATION,
    NO_NAME,
    OCCUPATION,
    OWN,
    PET,
    PLACE,
    PLAYED,
    PRODUCT,
    PROPER,
    STUDY,
    UP,
)

LEAP_DAY = date(2024, 2, 29)
MOST_READ = 1200
"""In characters; a longer message is a text rather than a remark, and is not read for statements."""
STRAIGHT = str.maketrans("’‘ʼ＇", "''''")


I = r"(?P<s>[Ii]|[Ww]e)"  # noqa: E741 (it is who speaks)
AM = r"(?:'m|'re| am| are)"
MY = r"[Mm]y (?:(?:younger|older|little|big|elder|twin|eldest|youngest|best) )?"
BODY = rf"(?P<s>{MY}(?:{KIN}|{PET})(?: {PROPER})?)"
PERSON = rf"(?P<s>{MY}{KIN}(?: {PROPER})?)"
THING = r"(?P<s>(?:[Mm]y|[Oo]ur) (?!ex\b|first\b|last\b|full\b|real\b|middle\b)[a-z][a-z-]+(?: [a-z][a-z-]+){0,2}?)"
LIKE = r"(?:prefer|like|enjoy|hate|dislike|can't stand|don't like|do not like|don't enjoy)"
"""Verbs of a plain taste; people who love or adore something may well mean the opposite."""
LIKES = r"(?:prefers|likes|enjoys|hates|dislikes|can't stand|doesn't like|does not like)"
OFTEN = r"(?: also| usually| always| mostly)?"
EMPLOYED = rf"(?:as an? {OCCUPATION}(?: (?:at|for|in) (?:the )?{NAME})?|(?:at|for) (?:the )?{NAME}|in {FIELD})"
ALLERGENS = rf"(?:{ALLERGEN})(?:(?:, {ALLERGEN})*,? (?:and|or) {ALLERGEN})?"
KIND = any_of("older younger little big twin small black white grey ginger old young rescue new red blue green")
OWNED = any_of("lynx boat garden bike bicycle car van motorbike piano guitar house flat camper_van allotment scooter")
OBJECT = r"(?P<o>\S.{0,70})"

SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (relation, regex(pattern))
    for relation, pattern in (
        ("name", rf"(?P<s>[Mm]y)(?: first| last| full| real)? name(?: is|'s) (?P<v>{NAME})"),
        ("name", rf"(?:[Yy]ou can |[Pp]lease )?[Cc]all (?P<s>me) (?P<v>{PROPER})"),
        ("name", rf"(?P<s>[Ii])(?:{AM} called| go by) (?P<v>{NAME})"),
        ("name", rf"{THING} (?:is|are) (?:called|named) (?P<v>{NAMES})"),
        ("name", rf"{THING}'s name is (?P<v>{NAMES})"),
        ("name", rf"(?:[Ii]|[Ww]e) have (?:{COUNT}) (?P<mine>{FAMILY}) (?:called|named) (?P<v>{NAMES})"),
        ("home", rf"{I}(?: live|{AM} based) (?:in|near) {PLACE}"),
        ("home", rf"{PERSON} lives (?:in|near) {PLACE}"),
        ("home", rf"{I}(?:'ve| have)? moved(?: from {CITY})? to {PLACE}(?: in \d{{4}})?"),
        ("home", rf"{PERSON}(?: has)? moved(?: from {CITY})? to {PLACE}(?: in \d{{4}})?"),
        ("origin", rf"{I}(?: come|{AM})(?: originally)? from {PLACE}"),
        ("origin", rf"{I} grew up in {PLACE}"),
        ("origin", rf"{I}{AM} (?P<v>{NATION})"),
        ("birthday", rf"(?P<s>[Mm]y) birthday(?: is|'s) (?:on )?(?P<v>{DATE})"),
        ("birthday", rf"{PERSON}'s birthday(?: is|'s) (?:on )?(?P<v>{DATE})"),
        ("birthday", rf"{I} was born on (?P<v>{DATE})"),
        ("birthday", rf"{I} was born in (?P<v>(?:19|20)\d\d|{CITY})"),
        ("age", rf"{I}{AM} (?P<v>(?:1[01]\d|\d\d?) years old)"),
        ("age", rf"{BODY} is (?P<v>(?:1[01]\d|\d\d?) (?:years|months|weeks) old)"),
        ("work", rf"{I} work (?P<v>{EMPLOYED})"),
        ("work", rf"{PERSON} works (?P<v>{EMPLOYED})"),
        ("work", rf"{I}{AM} (?P<v>an? {OCCUPATION}(?: (?:at|in) (?:the )?{NAME})?)"),
        ("work", rf"{PERSON} is (?P<v>an? {OCCUPATION}(?: (?:at|in) (?:the )?{NAME})?)"),
        ("work", rf"{I}(?: have|'ve)? started (?:working )?at (?P<v>{NAME})"),
        ("study", rf"{I} study (?P<v>{STUDY}(?: (?:at|in) (?:the )?{NAME})?)"),
        ("study", rf"{PERSON} studies (?P<v>{STUDY}(?: (?:at|in) (?:the )?{NAME})?)"),
        ("taste", rf"{I}{OFTEN} (?:{LIKE}|love) (?P<v>{HOBBY}(?:(?:, {HOBBY}){{0,4}},? and {HOBBY})?)"),
        ("taste", rf"{I}{OFTEN} {LIKE} {OBJECT}"),
        ("taste", rf"{PERSON} {LIKES} {OBJECT}"),
        ("taste", rf"(?P<s>[Mm]y favou?rite [a-z-]+(?: [a-z-]+){{0,2}}) (?:is|are) (?P<v>{NAME}|{COLOUR}|{HOBBY})"),
        ("", rf"{I}{AM}(?: a)? {DIET}"),
        ("", rf"{PERSON} is(?: a)? {DIET}"),
        ("", rf"{I}{AM} allergic to {ALLERGENS}"),
        ("", rf"{BODY} is allergic to {ALLERGENS}"),
        ("", rf"{I}(?: don't| do not| no longer| only) (?:eat|drink) (?P<o>[\w-]+(?: [\w-]+)?(?: (?:and|or) [\w-]+)?)"),
        ("", rf"{I} (?:don't smoke|smoke|quit smoking|wear glasses|wear contact lenses|work from home)"),
        ("", rf"{I} commute by (?:bike|train|bus|car|tram|ferry)"),
        ("", rf"{I} speak(?: fluent| some| a little)? {LANGUAGE}(?:(?:, {LANGUAGE})*,? and {LANGUAGE})?"),
        ("", rf"{I} have (?:{COUNT})(?: {KIND})? (?:{FAMILY})"),
        ("", rf"{I} have no (?:{FAMILY})"),
        ("", rf"{I} (?:keep|own|have|drive|ride) an? (?:{KIND} )?(?:{OWNED}|{PRODUCT})"),
        ("", rf"{I} (?:use|run) (?P<v>{PRODUCT})(?: (?:for|at|on) [a-z]+)?"),
        ("", rf"{I} (?:use|prefer) (?:dark|light) mode"),
        ("", rf"{I} play(?: the)? {PLAYED}(?: and(?: the)? {PLAYED})?"),
        ("", rf"{I}{AM} (?:married|engaged)(?: to {NAME})?"),
        ("", rf"{I} no longer (?:live (?:in|near)|work (?:at|for)|use|own|have) (?:an? )?(?:{OWNED}|{PLACE})"),
        ("is",
         rf"(?P<s>[Mm]y {OWN}) (?:is|are) (?:(?:(?<=car is )|(?<=bike is )|(?<=camera is )|(?<=phone is )|"
         rf"(?<=laptop is )|(?<=computer is ))an? )?(?P<v>{PRODUCT}|\d[\w.,]*|[a-z]+/[a-z]+|UTC[+-]\d+)"),
    )
)  # fmt: skip
"""Relation → pattern of a complete statement of it."""
ONE_VALUE = frozenset({"name", "home", "origin", "birthday", "age", "is"})
"""Relations that have one value at a time."""
VAGUE = frozenset(
    """a an the i you he she it we they me him her us them my your his its our their mine yours this that these those
    here there who what when where how why which if because not never no none nothing nobody anything everything
    something somebody someone anyone everyone everybody all any each every both one ones being having getting way fact
    idea sound look part feeling time day moment today tonight tomorrow yesterday now then later soon lately too either
    anyway better best more most less least than though although but except unless until while so very just is are was
    were be been do does did has have had will would can could should must may might of about into from by myself
    yourself himself herself ourselves themselves hell life death nothing job boss people man guy thing things stuff
    please thanks ok yes lol haha apparently obviously clearly sure right definitely totally much lot bit kind sort
    again back still ever yet only even alone instead really idiots morons losers neither nor either late early
    whatever whoever up down off out drive deadlines running forward breakfast""".split()
)
"""Words that refer to something else, or extend a thing beyond its name; an object with one of them is doubtful."""
FIGURES = regex(
    r"\b"
    + any_of(
        """Hell Heaven Narnia Hogwarts Mordor Atlantis Gotham Neverland Wonderland Mars Venus Pluto Limbo Denial Batman
        Superman Satan God Voldemort Hitler Scrooge Dracula Ishmael Maybe Crazy Mud Nobody Legion Slim Elvis Napoleon
        Santa Sherlock Cinderella Godzilla Frodo Gandalf Darth Yoda Groot Spartacus Cleopatra Oz Camelot Utopia Mayhem
        Trouble Chaos Boring Bond Blackbeard Juliet Romeo Hamlet Macbeth Winterfell Westeros Tatooine Hades Daddy
        Earth Man Nothing Nowhere Evil"""
    )
    + r"\b"
    rf"|\b(?:in|with|for|at|to|into|from|near|by|as|is|'s|are|am|was|were) (?:an? |the |our |my )?(?:[a-z]+ "
    rf")?{NO_NAME}\b"
    r"|\b(?:live|lives|lived|moved|grew up|born|married|engaged) (?:in|to|near) (?:Java|Excel|Word|PowerPoint|"
    r"Outlook|Slack|Zoom|Jira|"
    r"GitHub|"
    r"Gmail|Vim|Emacs|Teams|Notion|Photoshop|Python|Minecraft|Facebook|Instagram|TikTok|Twitter|YouTube|Netflix)\b"
)
"""Names from jokes and books, and capitalised words in the position of a name."""
MAKE_BELIEVE = regex(
    r"\b(?:pretend\w*|imagin(?:e|ing)|role-?play\w*|let's (?:say|play|pretend|assume)|play a game|the game|our game|"
    r"(?:a|the|this|our|my) (?:story|novel|script|screenplay|play)|short story|(?:my|the|a|main) character|"
    r"opposite day)\b",
    re.IGNORECASE,
)
"""A game of make-believe, in which statements are nobody's for some time."""
DOUBTFUL = regex(
    r"\b(?:lol|lmao|rofl|jk|j/k|ha(?:ha)+\w*|hehe\w*|xd|kidding|joking|jokes?|sarcas\w+|irony|ironically|yeah,? right|"
    r"as if|hypothetical\w*|suppos(?:e|ing)|assum(?:e|ing)|lyrics|(?:a|the) (?:song|poem|joke|quote|film|movie|book)|"
    r"dream(?:s|t|ed|ing)?|nightmare|quot(?:e|ed|es|ing)|according to|"
    r"sa(?:id|ys|ying)|told|tells|wrote(?! (?:my|his|her) (?:thesis|dissertation|PhD))|writes|claims?|claimed|"
    r"thinks?|thought|believes?|heard|asks?|asked|"
    r"example|for instance|(?<!\bI )(?<!\bi )(?<!\bwe )translat(?!ors?\b)\w+|rephrase|proofread\w*|rewrite|grammar|"
    r"sentences?|"
    r"headline|caption|subject line|"
    r"draft|(?<!\bI )(?<!\bwe )(?<!\bWe )write|reply|how do (?:you|i) say|"
    r"changed? (?:my|our) minds?|never ?mind|scratch that|strike that|forget (?:it|that)|on second thought\w*|i lied|"
    r"wait|i mean(?:t)?|whatever|dear|regards|sincerely|cheers|lying|a lie|not true|not really|untrue|"
    r"i take (?:that|it) back|(?:just|only) a test|this is a test|testing|not me|asking for a friend|another life|"
    r"back (?:when|then)|as though|typo|autocorrect|wrong (?:chat|window|person))\b"
    r"|\bnot!|(?<!\w)/s\b|[😂🤣😏🙃😜😉🤪😝]|[:;]-?[pP)](?!\w)|:\s*(?:\n|$)|\.\.\.|…|`|^\s*>|\n\s*\n|"
    r"\b(?:From|Subject|To):",
    re.IGNORECASE | re.MULTILINE,
)
"""Makes everything said with it doubtful: jokes, quotation, supposition, withdrawal, somebody else's text."""
BY_NAME = regex(
    rf"(?!(?:I|My|Our|We|The|This|That|He|She|It|They|You|Your|His|Her|Their|\w+ly)\b){NAME} (?=[a-z])|[Tt]he [a-z]+ "
    rf"service "
)
"""The beginning of a statement about a named person or thing, or about a part of a system."""
DOUBTED = regex(
    r"\b(?:(?<!even )if|unless|would|wish|maybe|perhaps|might|almost|nearly)\b",
    re.IGNORECASE,
)
"""Makes only its own sentence doubtful."""
TALE = regex(r"(?:Please )?(?:I|We|My|Our|The|He|She|They|There|If|When|Maybe|Don't)\b(?!'d)")
"""The beginning of a sentence that continues a story."""
BACK = regex(
    r"\b(?:that|this|these|those|true|real|really|fact|facts|false|wrong|fiction\w*|character|line|words?|meant?|"
    r"act(?:ing|or)?|role|dreams?|else|none|nothing|course|not|so|them|both|bet|fool\w*)\b",
    re.IGNORECASE,
)
"""Words that may refer to something said before."""
MARKER = regex(r"^(?:(?:no|nope|actually|sorry|correction|oops)(?![\w'])[\s,:.!-]*){1,3}(?=\S)", re.IGNORECASE)
"""The beginning of a correction."""
OPENING = regex(
    r"^(?:hi|hello|hey|good (?:morning|afternoon|evening)|by the way|btw|fyi|also|and|so|well|oh|ok|okay|anyway|"
    r"just so you know|these days|nowadays|since then|before that|after that|for the record|for your information|"
    r"one more thing|fun fact|quick note|in case it matters)"
    r"(?: there| again)?(?:\s*[,.!:]\s*|\s+)(?=(?:[Ii](?:'m|'ve)?|[Mm]y|[Ww]e|[Oo]ur|[Cc]all me)\s)",
    re.IGNORECASE,
)
CLOSING = regex(r",? (?:please|thanks|thank you|by the way|btw|just so you know|fyi)$", re.IGNORECASE)
REMEMBER = regex(
    r"^(?:please )?(?:remember|note|keep in mind|make a note|don't forget)(?: that |: )"
    r"(?!(?:time|day|night|guy|man|woman|girl|boy|one|movie|film|song|thing|place|(?:it|he|she|they|this|that|these|"
    r"those|you|your|his|her|their|there|what|when|where|how|why|who)(?:'\w+)?)\b)"
    r"(?P<what>(?=.{0,80}\b(?:is|are|am|was|were|has|have|prefers?|likes?|loves?|hates?|lives?|works?|starts?|ends?|"
    r"costs?|needs?|uses?|runs?|keeps?|owns?|speaks?|wants?|must|never|always|means|belongs|opens|closes|takes|moved|"
    r"called)\b|(?:I|we)(?:'(?:m|re|ve))? |(?:my|our|the) \w+ )\S.{4,300})$",
    re.IGNORECASE,
)
"""A request to remember a statement, which then need not have a known form."""
DAY = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|next (?:week|month|year)|"
    rf"the end of (?:the )?(?:day|week|month|year)|{MONTH}|\d{{4}}-\d\d-\d\d|\d{{1,2}}(?:st|nd|rd|th))"
)
GOAL = regex(
    r"^(?!.{0,80}\b(?:die|kill|nothing|hell)\b)(?:(?:to-?do|reminder)\s*: ?\S.{2,200}"
    r"|(?:please )?remind me (?:[\w:.-]+ ){0,5}?to (?!never|always|breathe|live|laugh|kill|not)\S.{2,200}"
    rf"|(?:I|we) (?:(?:need|have|want|promised|plan) to|must) \S.{{2,150}} (?:by|before|until|on) {DAY}\b.{{0,40}})$",
    re.IGNORECASE,
)


INTRODUCED = regex(
    rf"^(?i:hi|hello|hey|good (?:morning|afternoon|evening))(?: there| all)?[\s,.!–—-]+(?P<own>[Ii](?:'m| am) "
    rf"(?P<v>(?!{NATION}\b)(?:(?:de|van|von) )?{UP}[\w'-]+(?: {UP}[\w'-]+){{0,2}}))(?=\s*(?:[.!]|$|, (?:and )?[Ii]\b))",
)
"""A greeting with the speaker's name, which elsewhere might be anything: "I'm Confused", "I'm Ishmael"."""


ASKING = regex(
    r"[?？]\s*$|^(?:(?:and|so|but|please|ok(?:ay)?|hey|hi|hello)[\s,]+)*(?:who|whose|whom|what|where|when(?! I "
    r"was\b[^?]*$)|why|which|how|do|"
    r"does|did|is|are|am|was|were|can|could|would|will|should|have i|has my|tell me|list|show me|any idea|"
    r"remind me (?:what|who|where|when|which|how|whether|if)|i forgot (?:what|who|where|when|which|how)|what's|"
    r"where's|"
    r"who's|when's|how's|i wonder)(?![\w-])",
    re.IGNORECASE,
)
FILLER = regex(
    r"a|an|and|am|are|about|any|anything|everything|be|been|can|could|did|do|does|for|from|had|has|have|how|i|in|is|"
    r"it|if|"
    r"know|me|mine|my|of|on|or|our|please|remember|tell|that|the|there|this|to|at|us|was|we|were|what|what's|when|"
    r"where|"
    r"which|who|whom|whose|why|will|with|you|your|again|still|now|say|said|told|mention|mentioned|kind|sort|many|much|"
    r"often|who's|where's|when's|should|would|i'm|ever|get|got|by|so|as|these|those|some|most|all|show|list"
)


def is_question(sentence: str) -> bool:
    """Return whether a sentence asks something.

    >>> is_question("remind me what my cat is called"), is_question("remind me to feed the cat")
    (True, False)
    """
    return ASKING.search(sentence.strip()) is not None


def key_words(text: str) -> list[str]:
    """Return the meaningful words of a question, in order.

    >>> key_words("What did Alice say about the harbour?")
    ['alice', 'harbour']
    """
    words = (word.removesuffix("'s") for word in re.findall(r"[\w'.+#@-]*[\w+#]", text.lower().replace("’", "'")))
    return [word for word in words if not FILLER.fullmatch(word)]


def key_stems(text: str) -> set[str]:
    """Return the stems of the meaningful words of ``text``.

    >>> sorted(key_stems("Where are my dogs?"))
    ['dog']
    """
    return {stem(word) for word in key_words(text)}


class Slot(NamedTuple):
    """The subject and relation of a statement, and the value that it states."""

    subject: str
    """``i`` for the user, else the words that name it, in lower case."""
    relation: str
    value: str

    def same(self, other: Slot) -> bool:
        """Return whether two statements fill the same slot, of which only one can be true."""
        return self[:2] == other[:2] and self.relation in ONE_VALUE


class PlainStatement(NamedTuple):
    """A statement that may be stored in its own words."""

    text: str
    slot: Slot | None
    corrects: bool = False
    """Whether the user says that something known is no longer, or never was, true."""


def slot_of(text: str) -> Slot | None:
    """Return the slot that a sentence fills, or None if it has no known form.

    >>> slot_of("My dog is called Rex.")
    Slot(subject='my dog', relation='name', value='Rex')
    >>> slot_of("My neighbour's grey"), slot_of("I changed my mind"), slot_of("I love how you never listen")
    (None, None, None)
    """
    said = text.translate(STRAIGHT).strip().rstrip(".! ")
    if FIGURES.search(said):
        return None
    for relation, pattern in SHAPES:
        match = pattern.fullmatch(said)
        if match is None:
            continue
        found = match.groupdict()
        thing = found.get("o")
        if thing is not None and not _is_thing(thing):
            continue
        mine = f"my {found['mine']}" if found.get("mine") else ""
        subject = (mine or found.get("s") or "i").lower().replace("our ", "my ")
        value = thing or found.get("v") or ""
        if relation == "birthday" and re.search(r"\d", value) and not _is_a_day(value):
            return None  # no calendar has that day
        return Slot("i" if subject in ("i", "we", "my", "me") else subject, relation, value.strip('"“”'))
    return None


def _is_a_day(value: str) -> bool:
    from ..words.dates import dated

    return bool(dated(f"in {value}", LEAP_DAY).words)


def _is_thing(words: str) -> bool:
    """Return whether some words plainly name a thing that one may like, and say nothing else about it."""
    told = re.findall(r"[^\s,]+", words)
    names = all(re.fullmatch(r"[^\W_](?:[\w'.&/-]*\w)?[+#]{0,2}", word) for word in told)
    first = told[0].lower() if told else ""
    loose = first == "to" or (first.endswith("ing") and not re.fullmatch(rf"{HOBBY}|morning|evening|spring", first))
    return 0 < len(told) <= 7 and names and not loose and not VAGUE & {word.lower() for word in told}


APPOSED = regex(rf"^(?P<who>(?:[Mm]y|[Oo]ur) (?:[a-z]+ )?{KIN}), (?P<name>{NAME}),(?= [a-z])")
"""A name between commas."""


def read_statements(sentence: str, before: str = "") -> list[PlainStatement]:
    """Return the statements of a sentence, one fact each; empty if any part of it is doubtful.

    ``before`` is the preceding statement, whose subject "she" may refer to.

    >>> [one.text for one in read_statements("I live in Lisbon and work as a nurse.")]
    ['I live in Lisbon', 'I work as a nurse']
    >>> read_statements("I live in Lisbon, or so my neighbour says")
    []
    """
    text = OPENING.sub("", CLOSING.sub("", sentence.strip().translate(STRAIGHT).rstrip(".! ")))
    marker = MARKER.match(text)
    body = APPOSED.sub(r"\g<who> \g<name>", text[marker.end() :] if marker else text)
    if wanted := REMEMBER.match(body):
        doubtful = is_question(sentence) or hedged_wording(wanted["what"]) or is_doubtful(wanted["what"])
        return [] if doubtful else [_statement(one, marker is not None) for one in facts(wanted["what"])]
    if is_question(sentence) or hedged_wording(body) or not body:
        return []
    if GOAL.match(body) and not limit_of(body):
        return [PlainStatement(_capital(body), None)]
    if transient_wording(body):
        return []
    pieces = facts(body)
    if len(pieces) == 1 or not all(map(_is_plain, pieces)):
        pieces = apart(body, _is_plain, before)
    return [_statement(one, marker is not None) for one in pieces] if all(map(_is_plain, pieces)) else []


def _is_plain(text: str) -> bool:
    """Return whether a clause is a statement of a known form or plain, and has no name from a joke."""
    if FIGURES.search(text):
        return False
    return slot_of(_capital(text)) is not None or is_plain_clause(text) or _is_named_relation(text)


def _is_named_relation(text: str) -> bool:
    """Return whether a clause begins with a name and relates it to something: "Galp makes fuel"."""
    from ..words.relations import relations

    read = relations(text) if BY_NAME.match(text) and " used to " not in text else ()
    return len(read) == 1 and text.lower().startswith(read[0].subject.lower())


def _is_tale(sentence: str) -> bool:
    """Return whether a sentence that is not understood merely continues a story, without affecting its neighbours."""
    return TALE.match(sentence) is not None and len(sentence.split()) > 3 and not BACK.search(sentence)


STILL_PLAYED = 6
"""For how many messages a game of make-believe continues."""


def read_message(said: Sequence[str], text: str, earlier: Sequence[str] = ()) -> list[list[PlainStatement]]:
    """Return the statements of each sentence in ``said``; empty for all of them if the message is doubtful.

    Args:
        said: The sentences that count, in order.
        text: The whole message.
        earlier: Earlier messages, to detect a game of make-believe that continues.

    >>> [[one.text for one in told] for one in [read_message(["I like tea", "How are you?"], "")] for told in one]
    [['I like tea'], []]
    >>> read_message(["I like tea", "Not."], "")
    [[], []]
    """
    told: list[list[PlainStatement]] = []
    for place, sentence in enumerate(said):
        before = told[-1][-1].text if place and told[-1] else ""
        told.append([] if DOUBTED.search(sentence) else read_statements(sentence, before))
    beside = (sentence for one, sentence in zip(told, said, strict=True) if not one and not is_question(sentence))
    sure = not is_doubtful(text) and all(map(_is_tale, beside))
    sure = sure and not any(map(MAKE_BELIEVE.search, earlier[-STILL_PLAYED:]))
    slots = [one.slot for statements in told for one in statements if one.slot]
    sure = sure and not any(one.same(other) and one != other for one, other in combinations(slots, 2))
    return told if sure else [[] for _ in told]


def _statement(text: str, corrects: bool) -> PlainStatement:
    slot = slot_of(text)
    changed = slot is not None and (" moved " in f" {text} " or " no longer " in text)
    return PlainStatement(_capital(text), slot, corrects or changed)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def is_doubtful(text: str) -> bool:
    """Return whether something in a message makes all of it doubtful.

    >>> is_doubtful("I live in Rome, lol"), is_doubtful("I live in Rome")
    (True, False)
    """
    return len(text) > MOST_READ or DOUBTFUL.search(text) is not None or MAKE_BELIEVE.search(text) is not None


def sentences_of(text: str) -> list[str]:
    """Return the first sentences of a message; a name given with a greeting is stated in full.

    >>> sentences_of("My name is Ada. What is yours?"), sentences_of("Hi! I'm Alice. I'm Confused.")
    (['My name is Ada.', 'What is yours?'], ['My name is Alice', "I'm Confused."])
    """
    text = _without_haste(text.translate(STRAIGHT))
    introduced = INTRODUCED.match(text)
    if introduced is not None and not FIGURES.search(introduced["v"]):
        rest = text[introduced.end() :].lstrip(" .!,").removeprefix("and ")
        return [f"My name is {introduced['v']}", *(sentences_of(rest) if rest else [])]
    said = (part for sentence in sentences(text[: 4 * MOST_READ]) for part in sentence.split(";"))
    return [part.strip(" -*•") for part in said if part.strip(" -*•")][:40]


HASTE = {
    "i": "I", "im": "I'm", "i'm": "I'm", "ive": "I've", "i've": "I've", "dont": "don't", "doesnt": "doesn't",
    "cant": "can't", "wont": "won't", "isnt": "isn't", "gf": "girlfriend", "bf": "boyfriend", "adhd": "ADHD",
    "ocd": "OCD", "ptsd": "PTSD", "phd": "PhD", "uni": "university",
}  # fmt: skip
"""Spellings of words typed in haste."""
HASTY = regex(rf"(?<![\w'])(?:{'|'.join(HASTE)})(?![\w'])")
CALENDAR = regex(rf"\b(?i:{MONTH}|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|{LANGUAGE})\b")
UNNAMED = (
    r"(?!(?:an?|the|my|our|his|her|their|some|home|nights?|weekends|sea|school|work|college|university|dawn|and|who|"
    r"also|"
    r"still|just|never|only|now|always|usually|often|once|is|has|was|in|at|from|to|not|me|us|you|it|that|this|there|"
    r"here|"
    r"\w+ly|\w+ing)\b)"
)
LOWER_NAME = regex(
    rf"\b(?:(?:live|lives|living|based|born|grew up|moved(?: here)?|i'm|come|comes|are|an? [a-z]+) (?:in|near|to|"
    rf"from)|"
    rf"(?:work|works|working) (?:at|for)|called|named|name is|name's|(?:my|our) (?:{KIN}|{PET})(?= \w+ (?:is|has|"
    rf"works|"
    rf"lives|was|plays|just)\b)) (?P<n>{UNNAMED}(?:(?:new|san|los|las|den|cape|saint|st) )?[a-z]{{3,}})"
    rf"(?= (?:with|and|since|for|as|but|because|near|in|is|has|works|lives|was|plays|just)\b|[,.!]|$)",
    re.IGNORECASE,
)


def _without_haste(text: str) -> str:
    """Return a message with the apostrophes and capitals that careful writing would have.

    >>> _without_haste("im from vienna and my dog is called rex")
    "I'm from Vienna and my dog is called Rex"
    """
    leisurely = not text.islower()
    text = HASTY.sub(lambda match: HASTE[match[0]], text)
    if leisurely:
        return text
    text = CALENDAR.sub(lambda match: match[0].capitalize(), text)

    def named(match: re.Match[str]) -> str:
        odd = any(word in ODD for word in match["n"].split())
        return match[0] if odd else match[0][: match.start("n") - match.start()] + match["n"].title()

    return LOWER_NAME.sub(named, text)


def corrected_by(statement: PlainStatement, others: list[tuple[str, str]]) -> str | None:
    """Return the id of the record that a statement replaces: another value of the same slot, or a taste for it.

    >>> corrected_by(read_statements("I live in Rome")[0], [("01A", "I like tea"), ("01B", "I live in Porto")])
    '01B'
    """
    slot = statement.slot
    for record_id, text in others:
        old = slot_of(text)
        if slot is None or old is None or text.lower() == statement.text.lower():
            continue
        both = slot.relation == old.relation == "taste" and slot.subject == old.subject
        if slot.same(old) or (slot[:2] == old[:2] and slot.relation == "work"):
            return record_id
        if both and key_stems(slot.value) & key_stems(old.value):
            return record_id
    return None
