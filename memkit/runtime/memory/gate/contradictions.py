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
    ("works at", r"(?:works?|is working|am working|is employed|am employed) (?:at|for|by)"),
    ("works as", r"(?:works?|is employed) as"),
    ("married to", r"(?:is|am) married to"),
    ("born", r"(?:was|is) born (?:in|on)"),
    ("is called", r"(?:is|am) (?:called|named)|goes by"),
    ("speaks natively", r"(?:is a )?native speaker of"),
    ("comes from", r"(?:comes?|is|am) (?:originally )?from"),
    ("years old", r"(?:is|am)(?= \d+ years? old)"),
    ("takes coffee", r"takes? (?:his|her|their|my) coffee"),
    ("belongs to", r"belongs? to"),
    ("began", r"was (?:founded|built|established|opened) in"),
    ("runs on", r"runs? on(?! \w+days?\b)"),
    ("is based in", r"(?:is|are) (?:based|located|headquartered) in"),
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
HELD_BY = regex(
    rf"^(?P<value>[\w.-]+(?: [\w.-]+){{0,2}}?) is {ADVERBS}the (?P<attribute>[\w -]{{2,40}}?) (?:of|for) "
    r"(?P<subject>[\w. -]{1,40})$"
)
"""Who the one is that something has: Ada is the CTO of Acme."""
CHOSEN = regex(
    r"^(?:the |our )(?P<subject>(?:[\w-]+ ){0,2}(?:branch|region|limit|timeout|colou?r|language|format|mode|version"
    rf"|type|currency|time zone|flag|status|default)) is (?:set to )?{ADVERBS}{VALUE}$"
)
"""What one value is chosen for."""
PLACED = regex(
    r"^(?i:the|our|my) (?P<subject>[\w -]{2,40}?) (?:is|are) in (?P<value>[A-Z]\w+(?: [A-Z]\w+)*|the [a-z]+)$"
)
"""Where something is that stays where it is. Needs the text with its capitals."""
NAMED = regex(
    r"^(?i:the|our) (?P<subject>[\w -]{2,40}?) is (?:(?:now|currently|still) )*"
    r"(?P<value>[A-Z][\w.+#-]*(?: [A-Z][\w.+#-]*)*)$"
)
"""What something is called or which one it is: the database is PostgreSQL. Needs the text with its capitals."""
MEASURED = regex(
    r"^(?:the |our |my )?(?P<subject>[\w' -]{1,60}?) "
    r"(?P<verb>is|(?:starts?|begins?|ends?) (?:at|in)|(?:opens?|closes?|leaves|arrives|gets? up|wakes? up) at|costs?"
    r"|weighs?|lasts?|earns?|requires?|has|have|holds|seats|employs|uses? \w+|(?:is|are) due in|within) "
    rf"{ADVERBS}(?P<value>[\w.,:/$€£% -]{{1,30}})$"
)
"""How much, how old or when something is: the port is 8080, the deadline is 3 May."""
COUNT = r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|a hundred"
MEASURE = regex(
    rf"\d+(?:[.,:/-]\d+)*|\b(?:one|{COUNT})\b"
    r"|\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
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
COUNTED = regex(rf"^(?:only |about |exactly )*(?:\d|(?:one|{COUNT})\b)")
"""What follows "has" where it says how many."""
EXCLUSIVE: tuple[frozenset[str], ...] = tuple(
    frozenset(words.split())
    for words in (
        "single married divorced widowed", "open closed shut", "on off", "public private", "positive negative",
        "awake asleep", "alive dead", "active closed inactive", "true false", "left-handed right-handed",
        "short long", "with without", "metric imperial", "own rent", "small large huge tiny big", "green red",
        "stateless stateful", "locked open", "north south east west", "allowed forbidden", "enabled disabled",
        "hourly daily weekly monthly yearly", "full empty", "near far", "early late", "cheap expensive", "male female",
        "free paid", "upstairs downstairs", "indoors outdoors", "vegetarian omnivore",
    )
)  # fmt: skip
"""Of the words of a line only one is true of the same thing."""
MARITAL = EXCLUSIVE[0]
"""Whom somebody is married to is said behind it."""
TITLES = regex(r"\b(mr|mrs|ms|dr|prof|st)\. ")
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
        ("unpaid", "paid", False),
        ("unsafe", "safe", False),
        ("unavailable", "available", False),
        ("unfinished", "finished", False),
        ("incomplete", "complete", False),
        ("invalid", "valid", False),
        ("unlocked", "locked", False),
        ("unencrypted", "encrypted", False),
        ("unmarried", "married", False),
    )
}
"""Words that deny or affirm another one."""
COUNTING = frozenset(("has", "have", "requires", "require", "holds", "seats", "employs"))
HATES = regex(r"(?i)\bcan(?:no|['\u2019])t stand\b")
ALWAYS_NEVER = {"always": False, "never": True}
AUXILIARIES = frozenset(
    """own owns do does did is am are was were will would can has have had be been longer any anymore more""".split()
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
    if _negates(one, other) or _other_value(claim(one), claim(other)) or _ranks_reversed(one, other):
        return True
    return any(_other_value(mine, yours) for mine in exclusives(one) for yours in exclusives(other))


def grounds(text: str) -> set[tuple[str, ...]]:
    """Return what ``text`` speaks of: two statements that ``contradict`` each other share one of these.

    >>> sorted(grounds("Alice lives in Berlin") & grounds("Alice lives in Paris"))[-1]
    ('alice', 'lives in')
    """
    if len(text) > LONGEST_STATEMENT:
        return set()
    stated, ranked = claim(text), RANKED.match(plain(text)) if RANKING.search(text) else None
    core, positive = _core(text)
    found = ({core} if len(core) > 1 else set()) | ({(stated.subject, stated.attribute)} if stated else set())
    found |= {(one.subject, one.attribute) for one in exclusives(text)}
    if positive:  # what is denied altogether may begin it
        found |= {core[:length] for length in range(3, min(len(core), DENIED) + 1)}
    if ranked:
        found.add((_subject(ranked["subject"]), *sorted((_levelled(ranked["more"]), _levelled(ranked["less"])))))
    return found


@lru_cache(maxsize=KEPT)
def claim(text: str) -> StatedValue | None:
    """Return the single-valued relation that ``text`` states, if it is one."""
    read = TITLES.sub(r"\1 ", plain(text)).strip(" .!")
    if is_negated(read) or PAST.search(read):
        return None
    for pattern in (ATTRIBUTE, MY_ATTRIBUTE, ATTRIBUTE_OF, HELD_BY):
        match = pattern.match(read)
        if match and not MANY.search(match["attribute"]):
            return StatedValue(_subject(match["subject"]), _levelled(match["attribute"]), _levelled(match["value"]))
    for name, pattern in PATTERNS:
        match = pattern.match(read)
        if match:
            return StatedValue(_subject(match["subject"]), name, _levelled(match["value"]))
    return _identity(text) or _placed(text) or _chosen(read) or _measurement(read) or _home(read)


DENIED = 6
"""So many words a denial may have that what is said in more words contradicts: "I never play chess"."""


@lru_cache(maxsize=KEPT)
def exclusives(text: str) -> tuple[StatedValue, ...]:
    """Return what ``text`` says by words of which only one is true: open or closed, daily or weekly."""
    said = [word for word in plain(text).strip(" .!").split() if word not in EMPTY_WORDS]
    if is_negated(text) or PAST.search(plain(text)) or len(said) > LONGEST_CHOICE:
        return ()
    found = []
    for place, word in enumerate(said):
        for group in EXCLUSIVE if place else ():
            if word in group:
                before = " ".join("user" if one in SELF else one for one in said[:place])
                after = "" if group is MARITAL else " ".join(said[place + 1 :])
                found.append(StatedValue(before, f"{min(group)} {after}", word))
    return tuple(found)


LONGEST_CHOICE = 12
"""Words; in a longer statement what is open or closed may be something else."""


def _placed(text: str) -> StatedValue | None:
    match = PLACED.match(text.strip(" .!"))
    if match is None or MANY.search(match["subject"].lower()):
        return None
    kind = "a room" if match["value"].startswith("the ") else "a place"
    return StatedValue(_subject(plain(match["subject"])), f"is in {kind}", _levelled(match["value"]))


def _chosen(read: str) -> StatedValue | None:
    match = CHOSEN.match(read)
    return StatedValue(match["subject"], "is set to", _levelled(match["value"])) if match else None


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
    if match["verb"] in COUNTING and not COUNTED.match(match["value"]):
        return None  # I have a meeting at three
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
    return " ".join(stem(word) for word in words(text) if word not in EMPTY_WORDS) or plain(text)


def _other_value(one: StatedValue | None, other: StatedValue | None) -> bool:
    if one is None or other is None or (one.subject, one.attribute) != (other.subject, other.attribute):
        return False
    # "Berlin" and "Berlin, Germany" say the same, one more exactly.
    mine, yours = one.value.split(), other.value.split()
    return not (set(mine) <= set(yours) or set(yours) <= set(mine))


def _negates(one: str, other: str) -> bool:
    left, positive = _core(one)
    right, also_positive = _core(other)
    if positive == also_positive or min(len(left), len(right)) < 2:
        return False
    denied, said = (right, left) if positive else (left, right)
    # Who never plays chess does not play it every week either; the other way round both may be true.
    return denied == said or (2 < len(denied) <= DENIED and said[: len(denied)] == denied)


@lru_cache(maxsize=KEPT)
def _core(text: str) -> tuple[tuple[str, ...], bool]:
    """Return what ``text`` asserts or denies, and which of the two it does."""
    kept: list[str] = []
    positive = True
    for word in words(HATES.sub("hates", text)):
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
