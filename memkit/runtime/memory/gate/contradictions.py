# ruff: noqa: SIM905 (lists of words read better as text)
"""Finds statements that cannot both be true: two values of one attribute, or a statement and its negation."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..record.record import Record
from ..words.text import MONTHS, WEEKDAYS, plain, regex, stem
from ..words.wording import EMPTY_WORDS, KEPT, is_negated, is_negation, is_number, words

LONGEST_STATEMENT = 1000
"""In characters; a longer text says more than one thing."""
SUBJECT = r"(?P<subject>(?:the |my |our )?[\w.-]+(?:'s [\w ]{1,30}?)?(?: [\w.-]+){0,2}?)"
VALUE = r"(?P<value>(?:[^.;!?\n]|\.(?=\S)){1,80})"
ADVERBS = r"(?:(?:now|currently|usually|always|really|actually|still|just|also) )*"

SINGLE_VALUED: tuple[tuple[str, str], ...] = (
    (
        "lives in",
        r"(?:lives?|is living|resides?|am living|is based|am based|wohnt|lebt|woont) in|vive en|mora em|abita a"
        r"|habite (?:à|en)|mieszka w|bor i|живёт в|живет в|(?:(?:has|have|just) )*moved to(?!.*\b(?:in|since) \d{4})",
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
    ("grew up in", r"grew up in"),
    ("goes to school", r"goes? to school (?:in|at)"),
    ("is written in", r"is written in"),
    ("began", r"was (?:founded|built|established|opened) in"),
    ("runs on", r"runs? on(?! \w+days?\b)"),
    ("has eyes", r"(?:has|have)(?= \w+ eyes$)"),
    *(
        (f"{made} by", f"(?:is|was) {made} by")
        for made in ("founded", "written", "painted", "built", "designed", "led")
    ),
    ("graduated", r"graduated in(?= \d{4}$)"),
    ("goes to school", r"goes? to(?= \w+ school$)"),
    ("studies", r"(?:studies|is studying|am studying)(?= \w+$)"),
    ("is based in", r"(?:is|are) (?:based|located|headquartered) in"),
)
"""Relations that have one value at a time."""

PATTERNS = tuple((name, regex(rf"^{SUBJECT} {ADVERBS}(?:{verb}) {ADVERBS}{VALUE}")) for name, verb in SINGLE_VALUED)
ATTRIBUTE = regex(
    r"^(?P<subject>[\w.-]+(?: [\w.-]+)??)'s (?P<attribute>[\w -]{2,40}?) "
    rf"(?:is|was set to|is set to|=) {ADVERBS}{VALUE}"
)
MY_ATTRIBUTE = regex(rf"^(?P<subject>my|our) (?P<attribute>[\w -]{{2,40}}?) (?:is|is set to|=) {ADVERBS}{VALUE}")
ATTRIBUTE_OF = regex(
    rf"^the (?P<attribute>[\w -]{{2,40}}?) (?:of|for) (?P<subject>[\w. -]{{1,40}}?) (?:is|is set to|"
    rf"=) {ADVERBS}{VALUE}"
)
HELD_BY = regex(
    rf"^(?P<value>[\w.-]+(?: [\w.-]+){{0,2}}?) is {ADVERBS}the (?P<attribute>[\w -]{{2,40}}?) (?:of|for) "
    r"(?P<subject>[\w. -]{1,40})$"
)
"""The holder of a position: Ada is the CTO of Acme."""
IN_CHARGE = regex(
    r"^(?P<value>[A-Z][\w.-]*(?: [A-Z][\w.-]*)?) (?P<attribute>leads|heads|manages|chairs|owns|is in charge of"
    r"|is responsible for) (?P<subject>the [a-z]+|[A-Z]\w+|payroll|sales|support|marketing)[.!]?$"
)
"""The sole owner of something. Needs the text with its capitals."""
CHOSEN = regex(
    r"^(?:the |our )(?P<subject>(?:[\w-]+ ){0,2}(?:branch|region|limit|timeout|colou?r|language|format|mode|version"
    rf"|level|engine|provider|framework|theme|licen[cs]e|type|currency|time zone|flag|status|default)) "
    rf"is (?:set to )?{ADVERBS}{VALUE}$"
)
"""A choice of one value."""
PLACED = regex(
    r"^(?i:the|our|my) (?P<subject>[\w -]{2,40}?) (?:is|are) (?:in (?P<place>[A-Z]\w+(?: [A-Z]\w+)*)"
    r"|(?:in|on|under|behind|beside|above|next to) (?P<value>the [a-z]+))$"
)
"""The place of something that stays put. Needs the text with its capitals."""
NAMED = regex(
    r"^(?i:the|our) (?P<subject>[\w -]{2,40}?) is (?:(?:now|currently|still) )*"
    r"(?P<value>[A-Z][\w.+#-]*(?: [A-Z][\w.+#-]*)*)$"
)
"""The name or identity of something: the database is PostgreSQL. Needs the text with its capitals."""
MEASURED = regex(
    r"^(?:the |our |my )?(?P<subject>[\w' -]{1,60}?) "
    r"(?P<verb>is|(?:starts?|begins?|ends?) (?:at|in)|(?:opens?|closes?|leaves|arrives|gets? up|wakes? up) at|"
    r"expires? (?:in|on)|costs?"
    r"|weighs?|lasts?|earns?|requires?|has|have|holds|seats|employs|uses? \w+|(?:is|are) due in|within) "
    rf"{ADVERBS}(?P<value>[\w.,:/$€£% -]{{1,30}})$"
)
"""The amount, age or time of something: the port is 8080, the deadline is 3 May."""
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
"""What used to be true contradicts nothing that is true now."""
RANKED = regex(
    rf"^{SUBJECT} {ADVERBS}(?:prefers?|likes?|favou?rs?) (?P<more>[^.;]+?) "
    r"(?:over|to|more than|rather than|better than) (?P<less>[^.;]+)"
)
PREFERRED = regex(rf"^{SUBJECT} {ADVERBS}prefers? (?P<more>[\w-]+)$")
COMPARED = regex(r"^(?P<more>[^.;]+?) (?:is|are) (?P<subject>\w+er|more \w+) than (?P<less>[^.;]+)")
RANKING = regex(r"(?i)\b(?:over|to|than)\b")
COUNTED = regex(rf"^(?:only |about |exactly )*(?:\d|(?:one|{COUNT})\b)")
"""A count after "has"."""
EXCLUSIVE: tuple[frozenset[str], ...] = tuple(
    frozenset(words.split())
    for words in (
        "single married divorced widowed", "open closed shut", "on off", "public private", "positive negative",
        "awake asleep", "alive dead", "active closed inactive", "true false", "left-handed right-handed",
        "short long", "metric imperial", "own rent", "small large huge tiny big",
        "stateless stateful", "locked open", "north south east west", "allowed forbidden", "enabled disabled",
        "hourly daily weekly monthly yearly", "full empty", "near far", "early late", "cheap expensive", "male female",
        "free paid", "upstairs downstairs", "indoors outdoors", "vegetarian omnivore", "part-time full-time",
        "permanent temporary",
        "valid expired", "vacant filled occupied", "up down", "tabs spaces", "mornings evenings", "nights days",
    )
)  # fmt: skip
"""Of the words in one row, only one can be true of the same thing."""
COLOURS = frozenset("red green blue silver black white grey yellow brown orange purple pink beige".split())
LANGUAGES = frozenset("english german french spanish italian portuguese dutch polish swedish danish norwegian".split())
BEHIND_WORD = {
    "is": (COLOURS,),
    "are": (COLOURS,),
    "every": (frozenset("hour day week month quarter year".split()),),
    "by": (frozenset("post mail email card invoice cash cheque phone train bus car plane bike".split()),),
}
"""After these words only one is true; elsewhere several may be, such as the colours somebody likes."""
REPLYING = frozenset("answer reply respond write".split())
TRADES = frozenset(
    """teacher nurse doctor dentist lawyer plumber electrician carpenter engineer pilot surgeon baker butcher farmer
    programmer developer architect accountant chef cook waiter waitress driver journalist librarian pharmacist
    physicist chemist biologist veterinarian vet hairdresser firefighter gardener translator judge mechanic
    photographer postman policeman policewoman secretary tailor student intern""".split()
)
NATIONS = frozenset(
    """american australian austrian belgian brazilian british canadian chinese czech danish dutch egyptian english
    estonian finnish french german greek hungarian indian irish italian japanese korean mexican norwegian polish
    portuguese romanian russian scottish slovak spanish swedish swiss turkish ukrainian welsh""".split()
)
MARITAL = EXCLUSIVE[0]
"""Followed by the name of the spouse."""
TITLES = regex(r"\b(mr|mrs|ms|dr|prof|st)\. ")
SELF = frozenset("""i me my our user""".split())
MANY = regex(
    r"\b(?:one of|among|also|another|friend|colleague|sibling|brother|sister|child|son|daughter|hobby|language|cousin"
    r"|aunt|uncle|niece|nephew|grandson|granddaughter|neighbou?r|member|student|employee|parent|player|partner|fan|"
    r"engineer"
    r"|allergy)\b"
)
"""Attributes of which a person may have several."""

OPPOSITES = {
    stem(word): (stem(base), agrees)
    for agrees, pairs in (
        (True, "love:like enjoy:like"),
        (False, """hate:like dislike:like avoid:like disable:enable forbid:allow unpaid:paid unsafe:safe
                   unavailable:available unfinished:finished incomplete:complete invalid:valid unlocked:locked
                   unencrypted:encrypted unmarried:married"""),
    )
    for word, base in (pair.split(":") for pair in pairs.split())
}  # fmt: skip
"""Words that deny or affirm another one."""
COUNTING = frozenset(("has", "have", "requires", "require", "holds", "seats", "employs"))
HATES = regex(r"(?i)\bcan(?:no|['\u2019])t stand\b")
ALWAYS_NEVER = {"always": False, "never": True}
AUXILIARIES = frozenset(
    """must need needs yet with own owns do does did is am are was were will would can has have had be been
    longer any anymore more fluent fluently""".split()
)


SHORT = (
    ("i'm ", "i am "),
    ("we're ", "we are "),
    ("they're ", "they are "),
    ("i've ", "i have "),
    ("we've ", "we have "),
)
QUIT = regex(r"\b(?:quit|stopped|gave up) (?P<what>[a-z]+ing)(?: in \d{4}| (?:\w+ )?years? ago| last \w+)?$")
"""An activity that somebody has given up."""
FILLED = regex(r"\b(?:glass|bottle|pint|cup|can|slice|piece)s? of (?=\w)")


def _spelled_out(text: str) -> str:
    """Return ``text`` with contractions such as "I'm" written out."""
    read = plain(text).strip(" .!")
    for short, full in SHORT if "'" in read else ():
        if read.startswith(short):
            read = full + read[len(short) :]
    return read


class StatedValue(NamedTuple):
    """The value that a statement gives to an attribute of a subject."""

    subject: str
    attribute: str
    value: str


def contradicted(text: str, records: Iterable[Record], *, user_id: str) -> list[Record]:
    """Return the live records of this user that cannot be true together with ``text``."""
    short = [record for record in records if record.user_id == user_id and len(record.text) <= LONGEST_STATEMENT]
    return [record for record in short if contradict(text, record.text)] if len(text) <= LONGEST_STATEMENT else []


def contradict(one: str, other: str) -> bool:
    """Return whether the wording of two statements shows that they cannot both be true.

    >>> contradict("Alice lives in Berlin", "Alice lives in Paris")
    True
    >>> contradict("Alice likes tea", "Alice doesn't like tea")
    True
    >>> contradict("Alice likes tea", "Alice likes coffee")
    False
    """
    left, right = set(words(one)), set(words(other))
    if len(left & right) * 6 < min(len(left), len(right)):
        return False
    if _negates(one, other) or _other_value(claim(one), claim(other)) or _ranks_reversed(one, other):
        return True
    return any(_other_value(mine, yours) for mine in _alternatives(one) for yours in _alternatives(other))


def _alternatives(text: str) -> tuple[StatedValue, ...]:
    """Return the values that ``text`` states in words of which only one can be true."""
    return (*exclusives(text), *filter(None, (had(text), numbered(text))))


def grounds(text: str) -> set[tuple[str, ...]]:
    """Return the topics of ``text``: two statements that ``contradict`` each other share one of them.

    >>> sorted(grounds("Alice lives in Berlin") & grounds("Alice lives in Paris"))[-1]
    ('alice', 'lives in')
    """
    if len(text) > LONGEST_STATEMENT:
        return set()
    stated, ranked = claim(text), _ranked(text)
    core, positive = _core(text)
    found = ({core} if len(core) > 1 else set()) | ({(stated.subject, stated.attribute)} if stated else set())
    found |= {(one.subject, one.attribute) for one in _alternatives(text)}
    if positive:  # a general denial may begin it
        found |= {core[:length] for length in range(3, min(len(core), DENIED) + 1)}
    if ranked:
        found.add((_subject(ranked["subject"]), *sorted((_levelled(ranked["more"]), _levelled(ranked["less"])))))
    return found


@lru_cache(maxsize=KEPT)
def claim(text: str) -> StatedValue | None:
    """Return the single-valued relation that ``text`` states, if it is one."""
    read = TITLES.sub(r"\1 ", _spelled_out(text))
    if is_negated(read) or PAST.search(read):
        return None
    for pattern in (ATTRIBUTE, MY_ATTRIBUTE, ATTRIBUTE_OF, HELD_BY):
        match = pattern.match(read)
        if match and not MANY.search(match["attribute"]) and not _describes(match, text):
            kind = " is a" if match["value"].startswith(("a ", "an ")) else ""
            attribute = _levelled(match["attribute"]) + kind
            return StatedValue(_subject(match["subject"]), attribute, _levelled(match["value"]))
    if described := _described(read.split()):
        return described
    for name, pattern in PATTERNS:
        match = pattern.match(read)
        if match:
            return StatedValue(_subject(match["subject"]), name, _levelled(match["value"]))
    if match := IN_CHARGE.match(text):
        return StatedValue(_subject(plain(match["subject"])), match["attribute"], plain(match["value"]))
    return _identity(text) or _placed(text) or _chosen(read) or _measurement(read) or _home(read)


def _described(said: Sequence[str]) -> StatedValue | None:
    """Return the trade or nationality that a short statement gives somebody."""
    *before, last = said or [""]
    if last in TRADES and before[-1:] in (["a"], ["an"]):
        before, attribute = before[:-1], "is by trade"
    elif last in NATIONS:
        attribute = "is of"
    else:
        return None
    is_told = before[-1:] in (["is"], ["am"]) and 1 < len(before) <= LONGEST_NAME
    return StatedValue(_subject(" ".join(before[:-1])), attribute, last) if is_told else None


LONGEST_NAME = 5
"""The most words before a trade, including the verb: "my older sister Anna is"."""
VALUED = frozenset(
    """colour color size age job name status language currency timezone type mode diet email address phone number
    username handle website""".split()
)
"""Attributes whose value is an identity; other things may be described by manner or place."""


def _describes(match: re.Match[str], text: str) -> bool:
    """Return whether something is only described or named: my car is fast, my dog is called Rex."""
    value = match["value"]
    if re.match(r"(?:called|named) ", value):
        return match["attribute"] not in ONE_EACH
    is_thing = " " not in match["attribute"] and match["attribute"] not in VALUED
    return is_thing and not value.startswith(("a ", "an ")) and text.strip(" .!").endswith(value)


ONE_EACH = frozenset("boss manager landlord landlady doctor dentist wife husband accountant lawyer therapist".split())
"""Roles that one person fills, so that a name identifies them: my boss is called Joost."""
DENIED = 6
"""The most words of a denial that contradicts a longer statement: "I never play chess"."""


@lru_cache(maxsize=KEPT)
def exclusives(text: str) -> tuple[StatedValue, ...]:
    """Return the values that ``text`` states with exclusive words: open or closed, daily or weekly."""
    said = _spelled_out(text).split()
    if is_negated(text) or PAST.search(plain(text)) or len(said) > LONGEST_CHOICE:
        return ()
    found = []
    for place, word in enumerate(said):
        behind = said[place - 1] if place else ""
        groups = EXCLUSIVE if place and behind not in DETERMINERS else ()
        groups += BEHIND_WORD.get(behind, ()) + ((LANGUAGES,) if behind == "in" and said[0] in REPLYING else ())
        for group in groups:
            if word in group:
                bare = (one for one in said[:place] if one not in EMPTY_WORDS and one != "happily")
                before = " ".join("user" if one in SELF else one for one in bare)
                after = "" if group is MARITAL else " ".join(one for one in said[place + 1 :] if one not in EMPTY_WORDS)
                found.append(StatedValue(before, f"{min(group)} {after}", word))
    return tuple(found)


DETERMINERS = frozenset("the a an my our your his her its their this that some any every".split())
"""After one of them, an exclusive word identifies the thing instead: the early train, the late train."""
LONGEST_CHOICE = 12
"""In words; in a longer statement, something else may be open or closed."""


HAD = {
    "child": ("child children kid kids", "son sons daughter daughters baby twins triplets girl boy"),
    "sibling": ("sibling siblings", "brother brothers sister sisters"),
    "pet": ("pet pets", "cat cats dog dogs parrot hamster rabbit rabbits puppy kitten goldfish"),
    "debt": ("debt debts", "mortgage loan loans"),
    "degree": ("degree", "phd doctorate diploma bachelor master"),
    "spouse": ("spouse", "wife husband"),
    "car": ("car cars", ""),
    "meat": ("meat", "beef pork chicken steak ham bacon lamb turkey sausages"),
    "alcohol": ("alcohol", "wine beer whisky vodka gin"),
    "job": ("job", ""),
    "instrument": ("instrument instruments", "piano guitar violin cello flute drums trumpet harp viola saxophone"),
    "gluten": ("gluten", "bread pasta"),
}
"""Things somebody has, eats or drinks, with their subkinds: denying the kind denies all of these."""
ALL_OF = {word: kind for kind, (all_of, _) in HAD.items() for word in all_of.split()}
KIND_OF = ALL_OF | {word: kind for kind, (_, some) in HAD.items() for word in some.split()}
WITHOUT = {
    "childless": "child", "an only child": "sibling", "unemployed": "job", "retired": "job", "jobless": "job",
    "broken": "job", "single": "spouse", "unmarried": "spouse", "divorced": "spouse", "vegan": "meat",
    "vegetarian": "meat", "a vegan": "meat", "a vegetarian": "meat", "teetotal": "alcohol", "sober": "alcohol",
    "debt-free": "debt", "free": "price",
}  # fmt: skip
"""Adjectives for having, eating or drinking nothing of a kind; something broken does not work."""
_HAVING = r"(?:have|has|own|owns|eat|eats|drink|drinks|keep|keeps|drive|drives|play|plays)"
LACKS = regex(
    rf"^{SUBJECT} (?:(?:has|have) no|(?:(?:do|does)(?:n't| not)|can(?:not|'t)) {_HAVING}(?: any| an?)?|"
    rf"never {_HAVING}) (?P<what>\w+)$"
)
IS_WITHOUT = regex(rf"^{SUBJECT} (?:is|am|are) {ADVERBS}(?P<what>{'|'.join(WITHOUT)})$")
SAYS_HAD = frozenset([*_HAVING[3:-1].split("|"), "work", "works", "cost", "costs"])
SAYS_HAD |= {word.split()[-1] for word in WITHOUT}
HAS = regex(
    rf"^{SUBJECT} {ADVERBS}(?:{_HAVING} (?P<what>.+)|(?P<does>works?(?! (?:out|as a volunteer|(?:in|on) (?:my|"
    rf"the) )\b)|costs?)\b.*)$"
)
BEHIND = regex(r" (?:in|at|of|with|on|for|from|and|every|each|who|that|named|called|since|to|as|by|before)\b.*")


@lru_cache(maxsize=KEPT)
def had(text: str) -> StatedValue | None:
    """Return the kind of thing that somebody says they have some of, or none of.

    >>> had("Ada has a daughter in Rome"), had("Ada is childless").value
    (StatedValue(subject='ada', attribute='has child', value='some'), 'none')
    """
    read = FILLED.sub("", _spelled_out(text))
    if SAYS_HAD.isdisjoint(read.split()):
        return None  # compiling the patterns takes milliseconds, and most texts need none of them
    if match := LACKS.match(read):
        kind, value = ALL_OF.get(match["what"]), "none"
    elif match := IS_WITHOUT.match(read):
        kind, value = WITHOUT[match["what"]], "none"
    elif (match := HAS.match(read)) and not PAST.search(read) and not is_negated(read):
        head = BEHIND.sub("", match["what"] or "").rpartition(" ")[2]
        kind, value = (
            {"work": "job", "cost": "price"}.get((match["does"] or "").rstrip("s")) or KIND_OF.get(head),
            "some",
        )
    else:
        return None
    told = kind and not _reaches_on(match["subject"])
    return StatedValue(_subject(match["subject"]), f"has {kind}", value) if told else None


def _reaches_on(subject: str) -> bool:
    """Return whether the supposed subject contains more than a subject: "I cycle to" work."""
    return " " in subject and subject.partition(" ")[0] in ("i", "we", "you")


ORDINAL = r"ground|top|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\d+(?:st|nd|rd|th)"
NUMBER_LIKE = frozenset([*ORDINAL.split("|")[:12], *MONTHS, *WEEKDAYS])
_NUMBER = rf"(?:{MEASURE.pattern}|\b(?:{ORDINAL})\b)"
NUMBERED = regex(
    rf"^(?P<before>{SUBJECT} {ADVERBS}(?:(?:has|have|takes?|lasts?|needs?|speaks?|pays?|earns?|weighs?) "
    rf"(?:only |about )?"
    rf"|(?:is|are|am|lives?|starts?|ends?) (?:(?:in|on|at|due) )?(?:the |only )?))(?P<value>{_NUMBER}(?: {_NUMBER})*)"
    r"(?P<after>(?: [\w%€$£.-]+){0,4})$"
)
"""Units: the same thing cannot be two different numbers of them."""


@lru_cache(maxsize=KEPT)
def numbered(text: str) -> StatedValue | None:
    """Return the number that a statement gives, with the rest of the statement as its subject and attribute.

    >>> numbered("I live on the third floor")
    StatedValue(subject='user live on', attribute='# floor', value='third')
    """
    read = _spelled_out(text)
    if not any(is_number(word) or word in NUMBER_LIKE for word in read.split()):
        return None
    match = None if is_negated(read) or PAST.search(read) else NUMBERED.match(read)
    if match is None or MANY.search(match["subject"]) or _reaches_on(match["subject"]):
        return None
    before = f"{_subject(match['subject'])}{match['before'][len(match['subject']) :].replace(' only ', ' ')}"
    return StatedValue(_levelled(before), f"# {_levelled(match['after'])}".strip(), match["value"])


def _placed(text: str) -> StatedValue | None:
    match = PLACED.match(text.strip(" .!"))
    if match is None or MANY.search(match["subject"].lower()):
        return None
    kind = "a room" if match["value"] else "a place"
    return StatedValue(_subject(plain(match["subject"])), f"is in {kind}", _levelled(match["value"] or match["place"]))


def _chosen(read: str) -> StatedValue | None:
    match = CHOSEN.match(read)
    return StatedValue(match["subject"], "is set to", _levelled(match["value"])) if match else None


def _identity(text: str) -> StatedValue | None:
    match = NAMED.match(text.strip(" .!"))
    if match is None or MANY.search(match["subject"].lower()):
        return None
    return StatedValue(plain(match["subject"]), "is the one called", _levelled(match["value"]))


STARTS = frozenset(
    (("is", "at #"), *((verb, form) for verb in ("starts at", "begins at") for form in ("#", "half past #")))
)
"""Phrases for when something begins."""


def _measurement(read: str) -> StatedValue | None:
    """Return what is measured, and its value; the same thing may be 30 years old and 180 cm tall."""
    match = MEASURED.match(read)
    if match is None or MANY.search(match["subject"]) or not MEASURE.search(match["value"]):
        return None
    if match["verb"] in COUNTING and not COUNTED.match(match["value"]):
        return None  # I have a meeting at three
    unit = MEASURE.sub("#", match["value"]).removesuffix(" years old")
    verb = "is at" if (match["verb"], unit) in STARTS else f"{stem(match['verb'])} {unit}"
    return StatedValue(_subject(match["subject"]), verb, match["value"])


def _home(read: str) -> StatedValue | None:
    match = CHINESE_HOME.match(read.strip("。"))
    return StatedValue(match["subject"], "lives in", match["value"]) if match else None


def stated_value(text: str) -> str:
    """Return the words in ``text`` that state its single value; empty if it states none.

    >>> stated_value("Ada lives in Berlin.")
    'Berlin'
    """
    read = plain(text).strip(" .!")
    patterns = (ATTRIBUTE, MY_ATTRIBUTE, ATTRIBUTE_OF, *(pattern for _, pattern in PATTERNS))
    match = next(filter(None, (pattern.match(read) for pattern in patterns)), None)
    found = re.search(rf"(?i){re.escape(match['value'])}(?=[\s.!]*$)", text) if match else None
    return found.group() if found else ""


def _subject(text: str) -> str:
    name = text.removeprefix("the ").strip()
    first = name.split(" ")[0]
    if first in SELF or name in ("user", "the user"):
        return " ".join(["user", *name.split(" ")[1:]]) if first in ("my", "our") else "user"
    return name


def _levelled(text: str) -> str:
    """Return the words of ``text`` without fillers, so that spellings of one value are equal."""
    if "@" in text:  # an address is one word, whatever characters it contains
        return plain(text)
    return " ".join(stem(word) for word in words(text) if word not in EMPTY_WORDS) or plain(text)


def _other_value(one: StatedValue | None, other: StatedValue | None) -> bool:
    if one is None or other is None or (one.subject, one.attribute) != (other.subject, other.attribute):
        return False
    # "Berlin" and "Berlin, Germany" agree, one being more exact.
    mine, yours = one.value.split(), other.value.split()
    return not (set(mine) <= set(yours) or set(yours) <= set(mine))


def _negates(one: str, other: str) -> bool:
    left, positive = _core(one)
    right, also_positive = _core(other)
    if positive == also_positive or min(len(left), len(right)) < 2:
        return False
    denied, said = (right, left) if positive else (left, right)
    # Someone who never plays chess does not play it weekly either; the other way round both may be true.
    if denied == said or not (2 < len(denied) <= DENIED and said[: len(denied)] == denied):
        return denied == said
    # Someone who hates olives may like olive oil.
    mine, yours = (words(other), words(one)) if positive else (words(one), words(other))
    return not any(stem(word) == denied[-1] and word.endswith("s") and word not in yours for word in mine)


@lru_cache(maxsize=KEPT)
def _core(text: str) -> tuple[tuple[str, ...], bool]:
    """Return what ``text`` asserts or denies, and whether it asserts."""
    kept: list[str] = []
    positive = True
    for word in words(QUIT.sub(r"never \g<what>", HATES.sub("hates", text))):
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
    left, right = _ranked(one), _ranked(other)
    for ranked, text in ((left, other), (right, one)):
        if ranked is not None and (liked := PREFERRED.match(plain(text).strip(" .!"))):
            return _subject(liked["subject"]) == _subject(ranked["subject"]) and _levelled(liked["more"]) == _levelled(
                ranked["less"]
            )
    if left is None or right is None or _subject(left["subject"]) != _subject(right["subject"]):
        return False
    return _levelled(left["more"]) == _levelled(right["less"]) and _levelled(left["less"]) == _levelled(right["more"])


def _ranked(text: str) -> re.Match[str] | None:
    """Return the match of a comparison: something is liked better, or is more so, than something else."""
    read = plain(text).strip(" .!")
    return (RANKED.match(read) or COMPARED.match(read)) if RANKING.search(text) else None
