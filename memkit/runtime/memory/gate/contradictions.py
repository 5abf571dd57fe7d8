# ruff: noqa: SIM905 (lists of words read better as text)
"""Finds statements that cannot both be true: two values of one attribute, or a statement and its negation."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from ..record.record import Record
from ..words.text import regex, stem
from ..words.wording import EMPTY_WORDS, KEPT, is_negation, plain, words

LONGEST_STATEMENT = 1000
"""Characters; what is longer says more than one thing."""
SUBJECT = r"(?P<subject>(?:the |my |our )?[\w.-]+(?:'s [\w ]{1,30}?)?(?: [\w.-]+){0,2}?)"
VALUE = r"(?P<value>(?:[^.;!?\n]|\.(?=\S)){1,80})"
ADVERBS = r"(?:(?:now|currently|usually|always|really|actually|still|just|also) )*"

SINGLE_VALUED: tuple[tuple[str, str], ...] = (
    (
        "lives in",
        r"(?:lives?|is living|resides?|am living|is based|am based|wohnt|lebt|woont) in|vive en|mora em|abita a"
        r"|habite (?:à|en)|mieszka w|bor i|живёт в|живет в",
    ),
    ("works at", r"(?:works?|is working|am working|is employed) (?:at|for)"),
    ("works as", r"(?:works?|is employed) as"),
    ("married to", r"(?:is|am) married to"),
    ("born", r"(?:was|is) born (?:in|on)"),
    ("is called", r"(?:is|am) (?:called|named)|goes by"),
    ("speaks natively", r"(?:is a )?native speaker of"),
    ("comes from", r"(?:comes?|is|am) (?:originally )?from"),
    ("years old", r"(?:is|am)(?= \d+ years? old)"),
    ("takes coffee", r"takes? (?:his|her|their|my) coffee"),
)
"""Relations that hold of one thing at a time."""

PATTERNS = tuple((name, regex(rf"^{SUBJECT} {ADVERBS}(?:{verb}) {ADVERBS}{VALUE}")) for name, verb in SINGLE_VALUED)
ATTRIBUTE = regex(
    r"^(?P<subject>[\w.-]+(?: [\w.-]+)??)'s (?P<attribute>[\w -]{2,40}?) "
    rf"(?:is|was set to|is set to|=) {ADVERBS}{VALUE}"
)
MY_ATTRIBUTE = regex(rf"^(?P<subject>my|our) (?P<attribute>[\w -]{{2,40}}?) (?:is|is set to|=) {ADVERBS}{VALUE}")
ATTRIBUTE_OF = regex(
    rf"^the (?P<attribute>[\w -]{{2,40}}?) (?:of|for) (?P<subject>[\w. -]{{1,40}}?) (?:is|is set to|=) {ADVERBS}{VALUE}"
)
NAMED = regex(
    r"^(?i:the|our) (?P<subject>[\w -]{2,40}?) is (?:(?:now|currently|still) )*"
    r"(?P<value>[A-Z][\w.+#-]*(?: [A-Z][\w.+#-]*)*)$"
)
"""What something is called or which one it is: the database is PostgreSQL. Needs the text with its capitals."""
MEASURED = regex(
    r"^(?:the |our |my )?(?P<subject>[\w' -]{2,60}?) "
    r"(?P<verb>is|starts? at|begins? at|ends? at|opens? at|closes? at|costs?|weighs?) "
    rf"{ADVERBS}(?P<value>[\w.,:/$€£% -]{{1,30}})$"
)
"""How much, how old or when something is: the port is 8080, the deadline is 3 May."""
MEASURE = regex(
    r"\d+(?:[.,:/-]\d+)*|\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
)
CHINESE_HOME = regex(
    r"^(?P<subject>[\u4e00-\u9fff]{1,8}?)(?:现在|現在)?(?:住在|居住在|定居在)(?P<value>[\u4e00-\u9fff]{1,20})$"
)
PAST = regex(r"\bused to\b")
"""What used to be so contradicts nothing that is."""
RANKED = regex(
    rf"^{SUBJECT} {ADVERBS}(?:prefers?|likes?|favou?rs?) (?P<more>[^.;]+?) "
    r"(?:over|to|more than|rather than|better than) (?P<less>[^.;]+)"
)
RANKING = regex(r"(?i)\b(?:over|to|than)\b")
SELF = frozenset("""i me my our user""".split())
MANY = regex(
    r"\b(?:one of|among|also|another|friend|colleague|sibling|brother|sister|child|son|daughter|hobby|language"
    r"|allergy)\b"
)
"""Attributes of which a person may have several."""

OPPOSITES = {
    stem(word): (stem(base), agrees)
    for word, base, agrees in (
        ("hate", "like", False),
        ("dislike", "like", False),
        ("love", "like", True),
        ("enjoy", "like", True),
        ("avoid", "like", False),
        ("disable", "enable", False),
        ("forbid", "allow", False),
    )
}
"""Words that deny or affirm another one."""
ALWAYS_NEVER = {"always": False, "never": True}
AUXILIARIES = frozenset(
    """do does did is am are was were will would can has have had be been longer any anymore more""".split()
)


@dataclass(frozen=True)
class StatedValue:
    """What a statement says of whom."""

    subject: str
    attribute: str
    value: str


def contradicted(text: str, records: Iterable[Record], *, user_id: str) -> list[Record]:
    """Return the live records of this user that cannot be true together with ``text``."""
    short = [record for record in records if record.user_id == user_id and len(record.text) <= LONGEST_STATEMENT]
    return [record for record in short if contradict(text, record.text)] if len(text) <= LONGEST_STATEMENT else []


def contradict(one: str, other: str) -> bool:
    """Return whether two statements cannot both be true, as far as their wording shows.

    >>> contradict("Alice lives in Berlin", "Alice lives in Paris")
    True
    >>> contradict("Alice likes tea", "Alice doesn't like tea")
    True
    >>> contradict("Alice likes tea", "Alice likes coffee")
    False
    """
    left, right = set(words(one)), set(words(other))
    if len(left & right) * 4 < min(len(left), len(right)):
        return False
    return _negates(one, other) or _other_value(claim(one), claim(other)) or _ranks_reversed(one, other)


def grounds(text: str) -> set[tuple[str, ...]]:
    """Return what ``text`` speaks of: two statements that ``contradict`` each other share one of these.

    >>> grounds("Alice lives in Berlin") & grounds("Alice lives in Paris")
    {('alice', 'lives in')}
    """
    if len(text) > LONGEST_STATEMENT:
        return set()
    stated, ranked = claim(text), RANKED.match(plain(text)) if RANKING.search(text) else None
    core = _core(text)[0]
    found = ({core} if len(core) > 1 else set()) | ({(stated.subject, stated.attribute)} if stated else set())
    if ranked:
        found.add((_subject(ranked["subject"]), *sorted((_levelled(ranked["more"]), _levelled(ranked["less"])))))
    return found


@lru_cache(maxsize=KEPT)
def claim(text: str) -> StatedValue | None:
    """Return the single-valued relation that ``text`` states, if it is one."""
    read = plain(text).strip(" .!")
    if is_negated(read) or PAST.search(read):
        return None
    for pattern in (ATTRIBUTE, MY_ATTRIBUTE, ATTRIBUTE_OF):
        match = pattern.match(read)
        if match and not MANY.search(match["attribute"]):
            return StatedValue(_subject(match["subject"]), _levelled(match["attribute"]), _levelled(match["value"]))
    for name, pattern in PATTERNS:
        match = pattern.match(read)
        if match:
            return StatedValue(_subject(match["subject"]), name, _levelled(match["value"]))
    return _identity(text) or _measurement(read) or _home(read)


def _identity(text: str) -> StatedValue | None:
    match = NAMED.match(text.strip(" .!"))
    if match is None or MANY.search(match["subject"].lower()):
        return None
    return StatedValue(plain(match["subject"]), "is the one called", _levelled(match["value"]))


def _measurement(read: str) -> StatedValue | None:
    """Return what is measured and how much it is; the same thing may be 30 years old and 180 cm tall."""
    match = MEASURED.match(read)
    if match is None or MANY.search(match["subject"]) or not MEASURE.search(match["value"]):
        return None
    unit = MEASURE.sub("#", match["value"])
    return StatedValue(_subject(match["subject"]), f"{stem(match['verb'])} {unit}", match["value"])


def _home(read: str) -> StatedValue | None:
    match = CHINESE_HOME.match(read.strip("。"))
    return StatedValue(match["subject"], "lives in", match["value"]) if match else None


def stated_value(text: str) -> str:
    """Return the words in ``text`` that name the value of its single-valued relation; nothing where it states none.

    >>> stated_value("Ada lives in Berlin.")
    'Berlin'
    """
    read = plain(text).strip(" .!")
    patterns = (ATTRIBUTE, MY_ATTRIBUTE, ATTRIBUTE_OF, *(pattern for _, pattern in PATTERNS))
    match = next(filter(None, (pattern.match(read) for pattern in patterns)), None)
    found = re.search(rf"(?i){re.escape(match['value'])}(?=[\s.!]*$)", text) if match else None
    return found.group() if found else ""


def is_negated(text: str) -> bool:
    """Return whether ``text`` is a negative statement."""
    return sum(map(is_negation, words(text))) % 2 == 1


def _subject(text: str) -> str:
    name = text.removeprefix("the ").strip()
    first = name.split(" ")[0]
    if first in SELF or name in ("user", "the user"):
        return " ".join(["user", *name.split(" ")[1:]]) if first in ("my", "our") else "user"
    return name


def _levelled(text: str) -> str:
    """Return the words of ``text`` without fillers, so that spellings of one value are equal."""
    if "@" in text:  # an address is one word, whatever stands in it
        return plain(text)
    return " ".join(stem(word) for word in words(text) if word not in EMPTY_WORDS)


def _other_value(one: StatedValue | None, other: StatedValue | None) -> bool:
    if one is None or other is None or (one.subject, one.attribute) != (other.subject, other.attribute):
        return False
    # "Berlin" and "Berlin, Germany" say the same, one more exactly.
    mine, yours = one.value.split(), other.value.split()
    return not (set(mine) <= set(yours) or set(yours) <= set(mine))


def _negates(one: str, other: str) -> bool:
    left, positive = _core(one)
    right, also_positive = _core(other)
    return positive != also_positive and left == right and len(left) > 1


@lru_cache(maxsize=KEPT)
def _core(text: str) -> tuple[tuple[str, ...], bool]:
    """Return what ``text`` asserts or denies, and which of the two it does."""
    kept: list[str] = []
    positive = True
    for word in words(text):
        base = stem(word)
        if word in ALWAYS_NEVER:
            positive ^= ALWAYS_NEVER[word]
        elif is_negation(word):
            positive = not positive
        elif base in OPPOSITES:
            kept.append(OPPOSITES[base][0])
            positive ^= not OPPOSITES[base][1]
        elif word not in AUXILIARIES and word not in EMPTY_WORDS:
            kept.append("user" if word in SELF else base)
    return tuple(kept), positive


def _ranks_reversed(one: str, other: str) -> bool:
    if not RANKING.search(one):
        return False
    left, right = RANKED.match(plain(one)), RANKED.match(plain(other))
    if left is None or right is None or _subject(left["subject"]) != _subject(right["subject"]):
        return False
    return _levelled(left["more"]) == _levelled(right["less"]) and _levelled(left["less"]) == _levelled(right["more"])
