# ruff: noqa: SIM905 (lists of words read better as text)
"""Turns a request to remember into a draft: whose words they are, their type, their tags, and when they hold."""

import re
from calendar import monthrange
from collections.abc import Collection
from datetime import date, timedelta
from itertools import dropwhile, pairwise
from typing import NamedTuple

from ..record.lines import EMPTY
from ..record.record import MAX_TEXT_BYTES, Draft, Origin
from ..words.relations import LEADS_TO
from ..words.text import APOSTROPHES, NUMBERS, WEEKDAYS, plain, regex, stem
from ..words.wording import (
    ERRANDS,
    FUNCTION_WORDS,
    content_words,
    facts,
    hedged_wording,
    is_negation,
    limit_of,
    sentences,
    words,
)
from .statements import is_doubtful, is_question, read_message, sentences_of

INFERRED_CONFIDENCE = 0.8
EXPLICIT_CONFIDENCE = 0.95
MAX_TAGS = 4

STANDING = r"(?! (?:\w+ )?(?:not|avoid)\b)(?!.{0,200}\b(?:every|always|never|each|whenever)\b)"
"""A permanent rule is not an errand."""
COMMITS = (
    r"(?:need to|have to|has to|must|have got to|'ve got to|got to|gotta|should|promised|committed to|agreed to)"
    rf"{STANDING}(?!\w| be able\b)"
)
STATES = r"(?:have|know|own|care|think|believe|live|work|speak|mind|understand|remember|need|want)\b"
"""Stative verbs: "don't" before one of them is not a rule."""
SO_FAR = r"(?<!\bhave )(?<!\bhas )(?<!'ve )(?<!'s )"
"""Perfect tenses: what somebody has never or always done is not a rule either."""

TYPE_RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, regex(rf"\b(?:{wording})\b"))
    for kind, wording in (
        ("goal",
         rf"^(?:to-?do|note to self|reminder|task) ?: ?(?=\w)|^(?:(?:the|my|our) )?deadline (?:for|of|is)"
         rf"|^(?:please )?(?:remember|make sure|be sure) to(?=\W+\w)"
         rf"|remind me (?:[\w:.'-]+ ){{0,5}}?(?:to|about|of|that)|(?:need|set|want) a reminder (?:to|for|about|"
         rf"that)|don't (?:let me )?forget to"
         rf"|(?:i|we)(?:'ve|(?: still| really| also)*) {COMMITS}"
         rf"|(?:i|we)(?:'ll|'m going to| am going to| will)(?: have to)? {ERRANDS}"),
        ("preference",
         r"(?:^(?:please )?(?:use|answer|reply|respond|address me))"
         r"|(?:wants?|wish(?:es)?|(?:would|'d) like) to be (?:called|addressed|referred to|known as)"
         r"|(?:do not|don't|does not|doesn't|did not|didn't|never) (?:really |particularly )?"
         r"(?:like|love|enjoy|prefer)"),
        ("constraint",
         rf"must(?: not|n't)?|{SO_FAR}(?:never|always)|(?:do not|don't)(?! {STATES})|not allowed|forbidden|allergic"
         r"|required to|has to|have to|cannot|can't(?! stand)"),
        ("preference",
         r"prefers?|preferred|likes?|loves?|enjoys?|hates?|dislikes?|favou?rites?|rather|fond of|would like"
         r"|doesn't like|can't stand|(?:am|'m|is|are|'re) (?:(?:really|very|so|not) )*(?:into|keen on)"),
        ("outcome", r"(?:i|we)(?:'ve|'m| have| am)?(?: already| just| finally)* (?:done with|finished|completed)"),
        ("goal", r"goals?|wants? to|plans? to|aims? to|intends? to|hopes? to|would love to|trying to|working towards?"),
        ("event",
         r"met|visited|bought|travell?ed|flew|attended|celebrated|moved|graduated|happened"
         r"|(?:on|since) \d{4}-\d\d-\d\d|last (?:week|month|year|night)"),
    )
)  # fmt: skip
"""The first matching rule determines the type; otherwise it is a fact."""

REMINDER = regex(r"^(?:to-?do|note to self|task)\b|\bremind|\bforget to\b")
INTERJECTION = regex(
    r"(?i)^(?:(?:no|nope|nah|yes|yeah|well|oh|sorry|correction)[,.:!;]+|(?:actually|in fact)[,.:!;]*)\s+"
)
ASKED_FOR = regex(
    r"(?i)^(?:please,? )?(?:(?:can|could|would|will) you (?:please )?)?(?:remember|note|keep in mind|make a note|"
    r"save|store|"
    r"memori[sz]e)(?: that)? (?=(?:i|i'm|my|we|we're|our|the)\b)"
)
"""Phrases, including questions, that ask to remember what follows."""
CLAUSE = regex(r"(?i)(?:[,;:]|\b(?:but|and)\b)\s+(?=(?:i|my|we|our)\b)|;\s+")
"""The beginning of a separate clause, whose negations do not affect the previous clause."""
BREAK = regex(r"[,;]")
LABEL = regex(r"\s*(?:[-*•]\s*)?[^\W\d_](?:[\w '/()-]{0,30}\w)?\s?:\s+")
"""A label before a value, such as a name."""
MOST_AROUND = 2
"""The most significant words besides a value in the statement that it is taken from."""
LEADING = frozenset(
    {"rememb", "note", "know", "hello", "hi", "hey", "thank", "keep", "mind", "fyi", "btw", "sai", "store"}
)
"""Stems that may precede a statement without being part of it."""
DIRECTIONS = frozenset({"to", "from", "over", "under", "up", "down", "with"})
"""Small words whose exchange reverses a statement."""
MODALS = frozenset({"may", "will", "would", "shall", "should", "could", "'ll"})
"""Small words that make a statement one about what is not so, or not yet."""
NARROWING = DIRECTIONS | {"'s", "or"}
"""Small words after which a statement is about something else: "I work for Lloyd's rival", "I drink tea or coffee"."""
OTHERS = frozenset({"he", "she", "they", "him", "them", "his", "her", "hers", "their", "you", "your"})
"""Third and second persons; a statement about them is not about the user."""
SPEAKERS = frozenset(
    """i my me mine we our us ich mein meine mich wir je j mon ma mes moi yo mi soy mis eu meu minha io mio mia sono ik
    mijn jag min mitt ja mam moje я мой моя мне меня 私 僕 我 저 제 나 내""".split()
)
"""Words with which people speak of themselves."""
PERSON_WORDS = frozenset({"user", "users", "'s", "name"})
"""Words that a record may add to the user's: they only say who is meant."""
ATTRIBUTES = tuple(
    frozenset(map(stem, LEADS_TO[relation]))
    for relation in ("is also called", "works for", "lives in", "comes from", "was born in", "studies at", "works in",
                     "grew up in", "is married to")
)  # fmt: skip
"""The words that ask for something about a person; the first ones for a name."""
OF_SELF = ATTRIBUTES[:4]
"""What "I am …" may answer."""


def infer_type(text: str) -> str:
    """Return the record type that the wording of ``text`` suggests.

    Something somebody wants or has to do for today only is a fact about today; a prohibition stays a constraint.

    >>> infer_type("Alice prefers espresso over latte"), infer_type("Alice wants to learn Polish, just for now")
    ('preference', 'fact')
    """
    read = plain(text)
    kind = next((kind for kind, pattern in TYPE_RULES if pattern.search(read)), "fact")
    if kind not in ("goal", "constraint") or not limit_of(read) or REMINDER.search(read):
        return kind
    return "constraint" if kind == "constraint" and any(map(is_negation, words(read))) else "fact"


def infer_tags(text: str) -> tuple[str, ...]:
    """Return the longest words of ``text`` as tags, in their order in the text."""
    telling = (word for word in words(text) if word not in FUNCTION_WORDS and not is_negation(word))
    candidates = list(dict.fromkeys(word for word in telling if len(word) > 3 and word.isalpha()))
    longest = sorted(candidates, key=len, reverse=True)[:MAX_TAGS]
    return tuple(word for word in candidates if word in longest)


def is_users_own(text: str, user_text: str, names: tuple[str, ...] = (), *, is_steered: bool = False) -> bool:
    """Return whether ``text`` says what the user said in ``user_text``, and nothing else.

    Its content words must begin a sentence or clause in the same order, with the same negations, without gaps, and
    about the same persons; the sentence must not be a question, a condition or a guess. ``names`` may replace "I".
    After a short label, the words may also be the value in a short statement; if text from outside may have chosen the
    label (``is_steered``), only in a statement of what the label asks for.

    >>> is_users_own("Alice prefers espresso", "I prefer espresso.", names=("Alice",))
    True
    >>> is_users_own("Alice likes tea", "I don't like tea.", names=("Alice",))
    False
    >>> is_users_own("Alice lives in Porto", "My sister lives in Porto.", names=("Alice",))
    False
    >>> is_users_own("Job: nurse", "My name is Alice, I work as a nurse.", is_steered=True)
    True
    >>> is_users_own("Always pay: Bob", "I called Bob.", is_steered=True)
    False
    """
    label = label_of(text)
    value = text.removeprefix(label)
    named = PERSON_WORDS.union(word for name in names for word in content_words(name))
    spans = [span for sentence in sentences(user_text) if _is_statement(sentence, text) for span in _spans(sentence)]
    if any(_says(span, text, allowed) for allowed in (named, PERSON_WORDS) for span in spans):
        return True
    told = any(_states(span, value, label if is_steered else "") for span in spans) if label else False
    return told or _is_read(text, user_text)


def _is_read(text: str, user_text: str) -> bool:
    """Return whether ``text`` is a statement that the rules read from the user's words, with a name for "she"."""
    read = (one for told in read_message(sentences_of(user_text), user_text) for one in told)
    return plain(text) in {plain(one.text) for one in read}


def label_of(line: str) -> str:
    """Return the short label that ``line`` begins with, including its colon and spaces; empty if there is none.

    >>> label_of("- Dog's name: Rex"), label_of("see https://example.org")
    ("- Dog's name: ", '')
    """
    found = LABEL.match(line)
    return found[0] if found else ""


def _states(span: str, value: str, label: str) -> bool:
    """Return whether ``value`` ends a short statement about the user, or is followed there by a function word.

    "Look up Lisbon" does not make Lisbon a home, whatever label a page wants before it; nor does "I miss Lisbon", if
    ``label`` is one that the rest of the statement must fit.
    """
    spoken, wanted = words(span), words(value)
    if not wanted or not SPEAKERS & set(spoken) or OTHERS & set(spoken) - set(wanted):
        return False
    if sum(map(is_negation, spoken)) != sum(map(is_negation, wanted)):
        return False
    for place in range(len(spoken) - len(wanted) + 1):
        if spoken[place : place + len(wanted)] == wanted:
            before, after = spoken[:place], spoken[place + len(wanted) :]
            told = [word for word in (*before, *after) if _tells(word, PERSON_WORDS)]
            ends = not after or after[0] in FUNCTION_WORDS - NARROWING
            if ends and len(told) <= MOST_AROUND and (not label or _fits(label, (*before, *after))):
                return True
    return False


def _fits(label: str, around: Collection[str]) -> bool:
    """Return whether a label and the words around a value are the same, or ask for one attribute of a person.

    >>> _fits("City: ", ["i", "live", "in"]), _fits("Dog's name: ", ["my", "dog", "is", "called"])
    (True, True)
    >>> _fits("City: ", ["i", "miss"]), _fits("Always pay: ", ["i", "am"]), _fits("Name: ", ["i", "called"])
    (False, False, False)
    """
    asked, told = ({stem(word) for word in some if word not in FUNCTION_WORDS} for some in (words(label), around))
    unshared = asked ^ told
    if any(who in ("i", "we") and stem(verb) in ATTRIBUTES[0] for who, verb in pairwise(around)):
        return False  # "I called Bob" names nobody
    return any(unshared <= asking for asking in (ATTRIBUTES if told else OF_SELF)) or unshared <= ATTRIBUTES[0]


def _is_statement(sentence: str, text: str) -> bool:
    """Return whether ``sentence`` is neither a question nor a condition, nor a guess unless ``text`` is one too."""
    if is_question(sentence) and not ASKED_FOR.match(sentence.translate(APOSTROPHES)):
        return False
    if CONDITIONS & set(words(sentence)):
        return False
    return not hedged_wording(sentence) or bool(hedged_wording(text))


def _spans(sentence: str) -> list[str]:
    """Return the parts of ``sentence`` that may be statements: all of it, its beginning, later clauses and facts.

    What follows "the page says:" is not the user's.
    """
    said = ASKED_FOR.sub("", INTERJECTION.sub("", sentence).translate(APOSTROPHES))
    head, colon, _ = said.partition(":")
    said = head if colon and is_doubtful(head) else said
    return [said, *(part for clause in CLAUSE.split(said) for part in (clause, BREAK.split(clause)[0])), *facts(said)]


def _says(span: str, text: str, allowed: frozenset[str]) -> bool:
    spoken, wanted = words(span), _telling(text, allowed)
    if not wanted or OTHERS & set(spoken) - set(words(text)):
        return False
    # Speakers about themselves may be replaced by name; "Thanks, Bob" names nobody.
    if not SPEAKERS & set(spoken) and any(stem(word) in allowed for word in set(words(text)) - set(spoken)):
        return False
    if sum(map(is_negation, spoken)) != sum(map(is_negation, words(text))):
        return False
    whole = _telling(span, allowed)
    told = whole if whole[: len(wanted)] == wanted else list(dropwhile(LEADING.__contains__, whole))
    return told[: len(wanted)] == wanted and _may_end_there(spoken, len(told) - len(wanted), allowed)


def _telling(text: str, allowed: frozenset[str]) -> list[str]:
    return [stem(word) for word in words(text) if _tells(word, allowed)]


def _tells(word: str, allowed: frozenset[str]) -> bool:
    return (word not in FUNCTION_WORDS or word in DIRECTIONS | MODALS) and stem(word) not in allowed


def _may_end_there(spoken: tuple[str, ...], left: int, allowed: frozenset[str]) -> bool:
    """Return whether the last ``left`` significant words merely extend the statement, after a word like "in"."""
    places = [place for place, word in enumerate(spoken) if _tells(word, allowed)]
    return left == 0 or spoken[places[-left] - 1] in FUNCTION_WORDS - NARROWING


def says_own_words(text: str, origin: Origin) -> bool:
    """Return whether ``text`` is what the user said in the running turn."""
    return is_users_own(text, origin.user_text or "", names=(origin.user_id,), is_steered=bool(origin.taint))


def draft_from_tool(
    text: str,
    origin: Origin,
    *,
    type: str | None = None,
    tags: tuple[str, ...] = (),
    supersedes: str | None = None,
    today: date | None = None,
) -> Draft:
    """Return the draft for an agent's request to remember.

    Where text from outside may have steered the request, nothing but the wording says what the user's words are.

    Source and confidence depend on whose words they are; type, tags and period of validity on the wording; without
    ``today`` no dates are read. A text about this conversation only is limited to this session.
    """
    read = text[:MAX_TEXT_BYTES]  # Longer text is refused, so there is no need to read all of it.
    own = origin.user_text is None or says_own_words(read, origin)
    if own and origin.taint:
        type, tags = None, ()
    kind = type or infer_type(read)
    period = read_period(read, kind, today) if today else Period()
    return Draft(
        text=text,
        type=kind,
        scope="session" if origin.session_id and limit_of(read) == "talk" else "user",
        tags=tags or infer_tags(read),
        confidence=EXPLICIT_CONFIDENCE if own else INFERRED_CONFIDENCE,
        source="explicit" if own else "inferred",
        valid_from=period.valid_from,
        valid_until=period.valid_until,
        supersedes=supersedes,
        extra={"due": period.due} if period.due else EMPTY,
    )


CONDITIONS = frozenset({"if", "unless", "whether", "suppose", "imagine", "pretend"})


LONGEST = 600
"""In characters; dates are looked for in statements up to this length."""
NEXT_YEAR = 12
"""Months ahead: what is due in May is due next May."""
PHRASE = r"(?P<phrase>(?:(?:the|of|on)\s+){0,3}[\w./-]+(?:,?\s+[\w./-]+){0,3})"
UNTIL = regex(rf"\b(?:until|till|through)\s+{PHRASE}", re.IGNORECASE)
SINCE = regex(rf"\b(?:since|starting|as\s+of|from(?=\s+(?:[\w./-]+\s+){{1,3}}on\b))\s+{PHRASE}", re.IGNORECASE)
DUE = regex(
    rf"\b(?:by|before|until|till|due(?:\s+(?:on|by))?|deadline(?:\s+(?:is|on))?|no\s+later\s+than)\s+{PHRASE}",
    re.IGNORECASE,
)
WEEKDAY = regex(rf"\b(?P<next>next\s+)?(?P<day>{'|'.join(WEEKDAYS)})\b", re.IGNORECASE)
IN_DAYS = regex(
    rf"\bin\s+(?P<count>\d{{1,3}}|an?|{'|'.join(NUMBERS[1:])})\s+(?P<unit>day|week|month)s?\b", re.IGNORECASE
)
END_OF = regex(r"\bend\s+of\s+(?:the|this)?\s*(?P<unit>day|week|month|year)\b", re.IGNORECASE)
DAYS = {"day": 1, "week": 7, "month": 30}
PARTS = regex(r"d_(?P<year>\d{4})(?:_w(?P<week>\d\d)|_(?P<month>\d\d)(?:_(?P<day>\d\d))?)?")


class Period(NamedTuple):
    """Days in the form of a record: bare dates, or None if the wording names none."""

    valid_from: str | None = None
    valid_until: str | None = None
    due: str | None = None


def read_period(text: str, type: str, today: date) -> Period:
    """Return when ``text``, said ``today``, is valid according to its wording, or for a goal, when it is due.

    A statement about something that ended before today is true for ever, so only a future end limits it.

    >>> read_period("I need to file my taxes by Friday", "goal", date(2026, 11, 22)).due
    '2026-11-27'
    >>> read_period("I am in Rome until 3 December", "fact", date(2026, 11, 22)).valid_until
    '2026-12-03'
    """
    said = text[:LONGEST]
    if type == "goal":
        by = DUE.search(said)
        return Period(due=_written(_last_day(by["phrase"], today) if by else None) or _written(_last_day(said, today)))
    until, since = UNTIL.search(said), SINCE.search(said)
    end = _last_day(until["phrase"], today) if until else None
    if end is None and (limit := limit_of(said)) in ("day", "week", "month"):
        end = _end_of(limit, today)
    start = _first_day(since["phrase"], today) if since else None
    return Period(
        valid_from=_written(start) if start and start != today else None,
        valid_until=_written(end) if end and end >= today else None,
    )


def _written(day: date | None) -> str | None:
    return day.isoformat() if day else None


def _last_day(phrase: str, today: date) -> date | None:
    """Return the last day of the period that ``phrase`` names, looking ahead."""
    if end := END_OF.search(phrase):
        return _end_of(end["unit"].lower(), today)
    if some := IN_DAYS.search(phrase):
        return today + timedelta(days=_count(some["count"]) * DAYS[some["unit"].lower()])
    if named := WEEKDAY.search(phrase):
        ahead = (WEEKDAYS.index(named["day"].lower()) - today.weekday()) % 7
        return today + timedelta(days=ahead or (7 if named["next"] else 0))
    found = _named_days(phrase, today, NEXT_YEAR)
    return found[1] if found else None


def _first_day(phrase: str, today: date) -> date | None:
    """Return the first day of the period that ``phrase`` names: a future weekday, or the last start of any other."""
    if WEEKDAY.search(phrase):
        return _last_day(phrase, today)
    found = _named_days(phrase, today, 0)
    return found[0] if found else None


def _named_days(phrase: str, today: date, ahead: int) -> tuple[date, date] | None:
    """Return the first and the last day of the day, week, month or year that ``phrase`` names."""
    from ..words.dates import dated

    words = dated(f"in {phrase}", today, ahead=ahead).words
    parts = PARTS.fullmatch(words[0]) if words else None
    if parts is None:
        return None
    year, month, day = int(parts["year"]), int(parts["month"] or 0), int(parts["day"] or 0)
    if parts["week"]:
        monday = date.fromisocalendar(year, int(parts["week"]), 1)
        return monday, monday + timedelta(days=6)
    if not day:
        return date(year, month or 1, 1), date(year, month or 12, monthrange(year, month or 12)[1])
    if ahead and not re.search(r"\d{4}", phrase) and (month, day) >= (today.month, today.day):
        year = today.year  # looking a year ahead skips the current one
    return date(year, month, day), date(year, month, day)


def _end_of(unit: str, today: date) -> date:
    if unit == "week":
        return today + timedelta(days=6 - today.weekday())
    month = {"month": today.month, "year": 12}.get(unit)
    return date(today.year, month, monthrange(today.year, month)[1]) if month else today


def _count(word: str) -> int:
    word = word.lower()
    return NUMBERS.index(word) if word in NUMBERS else int(word) if word.isdigit() else 1
