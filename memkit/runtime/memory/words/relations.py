# ruff: noqa: SIM905 (lists of words read better as text)
"""Relations stated in text: who works for whom, what is located where, since when.

A relation is read only if the wording is unambiguous: a whole sentence of a known form, between things that have a
name, or a role in somebody's life such as "my sister". A wrong one is worse than none. English only; a language model
supplies relations in other wordings, in the same form.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .text import MONTHS, WEEKDAYS, regex
from .text import words as named_by
from .wording import hedged_wording, is_negation, sentences, words

LONGEST = 300
"""In characters; a longer text is not a statement."""
MOST = 8
"""The most relations of one text."""
_ENDS = regex(r"(?<=[a-z0-9])(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bProf)[.!] (?=[A-Z])")


class Verb(NamedTuple):
    """A way to express a relation."""

    label: str
    """Its name in a graph."""
    family: str = ""
    """Groups relations that answer the same question; empty for the label itself."""
    kinds: tuple[str, str] = ("", "")
    """The kinds of subject and object: person | organisation | place."""
    moves: bool = False
    """Whether it implies that another one of its family ended."""
    ended: bool = False
    """Whether it is about the past."""

    @property
    def question(self) -> str:
        """Return the question that it answers."""
        return self.family or self.label


class Mention(NamedTuple):
    """How a statement refers to something: by name, by role, or by both."""

    name: str = ""
    """The name in lookup form; empty if it has no name here."""
    role: str = ""
    """``owner/what``, such as ``=ada/sister``; empty if not stated."""
    shown: str = ""


class Relation(NamedTuple):
    """What a record's line stores of a statement, in its own words."""

    subject: str
    predicate: str
    object: str
    valid_from: str | None = None
    valid_until: str | None = None

    def to_data(self) -> dict[str, Any]:
        """Return it without empty fields."""
        return {key: value for key, value in self._asdict().items() if value is not None}


class Stated(NamedTuple):
    """A relation in the form of the graph."""

    subject: Mention
    verb: Verb
    object: Mention
    since: str = ""
    until: str = ""
    gives: str = ""
    """The role that it gives the subject, such as ``acme/cto``."""


LEFT = "left"
"""Ends another relation without being one itself."""
PERSON, ORGANISATION, PLACE = "person", "organisation", "place"
_JOB, _HOME, _WEDDED = (PERSON, ORGANISATION), ("", PLACE), (PERSON, PERSON)
VERBS: tuple[tuple[str, Verb], ...] = (
    (r"used to work (?:for|at)|worked (?:for|at)|was employed (?:by|at)",
     Verb("worked for", "works for", _JOB, ended=True)),
    (r"left(?: (?:his|her|my|the|their) job at)?|quit|resigned from", Verb(LEFT, ended=True)),
    (r"works? (?:for|at)|is working (?:for|at)|am working (?:for|at)|(?:is|am) employed (?:by|at)"
     r"|(?:has|have) worked (?:for|at)", Verb("works for", "", _JOB)),
    (r"joined|started (?:work )?(?:at|working (?:for|at))", Verb("joined", "works for", moves=True)),
    (r"used to live in|lived in|was living in", Verb("lived in", "lives in", _HOME, ended=True)),
    (r"lives? in|(?:is|am) living in|resides? in|(?:has|have) lived in", Verb("lives in", "", _HOME)),
    (r"moved (?:back )?to|has moved to|have moved to|relocated to", Verb("moved to", "lives in", _HOME, moves=True)),
    (r"(?:is|am) based in|is headquartered in", Verb("is based in", "lives in", _HOME)),
    (r"is (?:located |situated )?in(?! charge\b)|lies in|is the capital of"
     r"|is an? (?:\w+ )?(?:city|town|village|district|region|suburb) (?:in|of)", Verb("is in", "", _HOME)),
    (r"was born in", Verb("was born in", "", (PERSON, PLACE))),
    (r"comes from|come from|is originally from|am originally from", Verb("comes from", "", _HOME)),
    (r"(?:is|am|was) married to|married", Verb("is married to", "", _WEDDED)),
    (r"(?:is|am) engaged to", Verb("is engaged to", "", _WEDDED)),
    (r"(?:is|am) friends with", Verb("is a friend of", "", _WEDDED)),
    (r"works? with", Verb("works with")),
    (r"works? in|(?:is|am) working in", Verb("works in", "", _HOME)),
    (r"grew up in", Verb("grew up in", "", _HOME)),
    (r"works? on|(?:is|am) working on", Verb("works on", "", (PERSON, ""))),
    (r"worked on", Verb("worked on", "works on", (PERSON, ""), ended=True)),
    (r"reports? to", Verb("reports to", "", _WEDDED)),
    (r"leads|lead|manages?|runs(?! on\b)|heads|directs|chairs|coaches|commands|(?:is|am) in charge of"
     r"|(?:is|am) responsible for",
     Verb("leads", "", (PERSON, ""))),
    (r"(?:is|was) (?:led|run|managed|headed|directed|chaired|coached|commanded) by",
     Verb("is led by", "leads", ("", PERSON))),
    (r"maintains?", Verb("maintains", "", (PERSON, ""))),
    (r"is maintained by|is looked after by", Verb("is maintained by", "maintains", ("", PERSON))),
    (r"(?:is|was) (?:written|authored) by", Verb("was written by", "wrote", ("", PERSON))),
    (r"was (?:co-?)?founded by", Verb("was founded by", "founded", (ORGANISATION, PERSON))),
    (r"(?:is|was) (?:created|designed|invented|developed|built) by", Verb("was created by", "created")),
    (r"is (?:funded|sponsored|paid for) by", Verb("is funded by", "funds", ("", ORGANISATION))),
    (r"funds|sponsors", Verb("funds", "", (ORGANISATION, ""))),
    (r"is (?:made|produced|sold) by", Verb("is made by", "makes", ("", ORGANISATION))),
    (r"is used by", Verb("is used by", "uses")),
    (r"co-?founded|founded|started the company", Verb("founded", "", (PERSON, ORGANISATION))),
    (r"owns?", Verb("owns")),
    (r"acquired|bought out|took over", Verb("acquired", "", (ORGANISATION, ORGANISATION))),
    (r"wrote|(?:has|have) written|is the author of", Verb("wrote")),
    (r"invented|created|designed", Verb("created")),
    (r"teaches at", Verb("teaches at", "works for", _JOB)),
    (r"stud(?:ies|y) at|(?:is|am) studying at|goes to school at", Verb("studies at", "", _JOB)),
    (r"studied at|graduated from", Verb("studied at", "studies at", _JOB, ended=True)),
    (r"plays for", Verb("plays for", "works for", _JOB)),
    (r"depends on|relies on", Verb("depends on")),
    (r"runs on|is (?:hosted|deployed) (?:on|by|in)", Verb("runs on")),
    (r"is written in", Verb("is written in")),
    (r"uses", Verb("uses")),
    (r"replaced|replaces", Verb("replaced")),
    (r"(?:is|was) (?:a )?part of|belongs to", Verb("is part of")),
    (r"is a subsidiary of|is owned by", Verb("is a subsidiary of", "", (ORGANISATION, ORGANISATION))),
    (r"(?:is|am) a member of", Verb("is a member of", "", _JOB)),
    (r"supplies", Verb("supplies", "", (ORGANISATION, ""))),
    (r"is a (?:client|customer) of", Verb("is a customer of")),
)  # fmt: skip
ENDED = frozenset(verb.label for _, verb in VERBS if verb.ended)
"""Past relations, even without an end date."""
OF_THINGS = frozenset(
    ("depends on", "runs on", "uses", "replaced", "is part of", "maintains", "works on", "leads", "owns", "created",
     "wrote", "is written in", "funds", "founded", "makes")
)  # fmt: skip
"""Things that may be mentioned without a name: the billing service."""
BEGINS = frozenset(("is married to", "founded", "created", "wrote", "acquired", "replaced", "is also called"))
"""Relations that happen on a day and hold from then on."""
VAGUE = frozenset(("best", "worst", "one", "part", "kind", "sort", "top", "first", "last", "most", "lot", "rest"))
MAKES = Verb("makes", "", (ORGANISATION, ""))
MAKING = r"makes|builds|produces|manufactures|develops|sells|offers"
ALIAS = Verb("is also called")
ABOUT = Verb("about")
"""Says that a record is about something; not a relation."""
ROLE_OF = "{} of"
"""The form of a role in a graph: *sister of*."""

_WORD = r"[^\W\d_a-z][\w.&+#'\u2019-]*\w[+#]*|[A-Z]\b"
_INNER = r"(?:of|de|da|do|dos|di|del|der|van|von|la|le|y|&|and Sons)"
NAME = (
    rf"(?:(?:Dr|Mrs?|Ms|Prof|St)\.? )?(?:{_WORD})(?: (?:(?:{_INNER}) )*(?:{_WORD}|\d+(?:\.\d+)*))*"
    r"(?: (?:AG|Inc\.|Ltd\.))?"
)
_WHAT = (
    r"(?:(?:PhD )?[a-z][a-z-]*(?:-in-law)?|C[EFTO]O|VP|PM|HR|QA|UX)"
    r"(?: (?!is\b|was\b|and\b|of\b|who\b|lives\b|works\b)[a-z][a-z-]*){0,2}?"
)
OWNER = rf"(?:(?:[Mm]y|[Oo]ur)(?: {_WHAT} {NAME}['\u2019]s)?|(?:{NAME})['\u2019]s|(?:{NAME})(?<=s)['\u2019])"
ROLED = rf"{OWNER} (?:{_WHAT})(?:['\u2019]s (?:{_WHAT}))?(?:,? (?:{NAME}),?)?"
THING = rf"[Tt]he (?:{_WORD}|[a-z][\w-]*)(?: [a-z][\w-]*){{0,2}}?"
_SUBJECT = rf"(?P<subject>I|{ROLED}|{THING}|{NAME}(?:, {OWNER} (?:{_WHAT}),)?)"
_OBJECT = rf"(?P<object>{ROLED}|(?:the )?{NAME}(?:, {NAME})?|{THING})"
_YEAR = r"(?:19|20)\d\d"
_DATE = rf"(?:{_YEAR}-\d\d(?:-\d\d)?|(?:(?:\d{{1,2}} )?(?:{'|'.join(name.title() for name in MONTHS)}) )?{_YEAR})"
_WHEN = (
    rf"(?P<when>,? (?:from (?P<from>{_DATE}) (?:to|until|till) (?P<to>{_DATE})|between (?P<between>{_DATE}) and "
    rf"(?P<and>{_DATE})|since (?P<since>{_DATE})|until (?P<until>{_DATE})|in (?P<in>{_DATE})|on (?P<on>{_DATE})))?"
)
_LATE = r"(?: (?:now|again|these days|as an? [a-z]+(?: [a-z]+)?))?"
_END = rf"{_LATE}{_WHEN}{_LATE}[.!]?$"
SAID = regex(
    rf" (?:(?:now|still|also|currently|recently|both) )?(?:{'|'.join(f'({spoken})' for spoken, _ in VERBS)})(?= )"
)
SUBJECT = regex(rf"^(?:{_SUBJECT})$")
OBJECT = regex(rf"^ {_OBJECT}{_END}")
MADE = regex(
    rf"^(?P<subject>{NAME}) (?P<verb>{MAKING}) (?P<object>[a-z][\w-]*(?: (?!and\b|or\b|but\b|so\b|it\b|that\b)"
    rf"[\w-]+){{0,4}}|{NAME}){_WHEN}[.!]?$"
)
IS_ROLE_OF = regex(
    rf"^{_SUBJECT} (?P<verb>is|was|am|became) (?P<article>an? |the )?(?P<what>{_WHAT}) (?P<of>of|at|for|in charge of) "
    rf"{_OBJECT}{_END}"
)
BEING = regex(r" (?:is|was|am|became) .* (?:of|at|for|in charge of) ")
IS_MY = regex(rf"^(?P<object>{NAME}) (?P<verb>is|was) (?P<owner>{OWNER}) (?P<what>{_WHAT}){_END}")
MY_IS = regex(
    rf"^(?P<owner>{OWNER}) (?P<what>{_WHAT})(?: (?:at|in|from) {NAME})?(?:['\u2019]s name)? "
    rf"(?P<verb>is(?: called| named)?) (?P<object>(?:the )?{NAME}){_END}"
)
HAS_CALLED = regex(
    rf"^(?P<object>I|{ROLED}|{NAME}) (?P<verb>have|has|owns?|runs?|keeps?|bought|founded|started) an? (?P<what>{_WHAT})"
    rf",? (?:called|named) (?P<subject>(?:the )?{NAME}){_END}"
)
"""The owner of something named: "Celeste has a dog named Rex"."""
ALSO = regex(
    rf"^(?P<subject>{NAME}) (?P<verb>is (?:also|now|better) (?:known as|called)|goes by|is short for"
    rf"|(?:has |was |is |has been )?(?:now )?renamed (?:itself )?(?:to |as )?|changed (?:its|his|her) name to"
    rf"|used to be called|was formerly (?:called|known as)|is the new name of) ?(?P<object>{NAME}){_END}"
)
RENAMING = (
    "known as", "also called", "now called", "better called", "be called", "formerly called", "goes by", "short for",
    "renamed", "name to", "new name of",
)  # fmt: skip
OWNING = ("'s ", "\u2019s ", "s' ", "s\u2019 ", " My ", " Our ", " is my ", " is our ", " was my ", " was our ")
CALLED = (" called ", " named ")
SHAPES = ((ALSO, ALIAS.label, RENAMING), (IS_MY, "", OWNING), (MY_IS, "", OWNING), (HAS_CALLED, "", CALLED))
"""A pattern, its relation, and words that a sentence of its form contains."""
FORMERLY = frozenset({"used to be called", "was formerly called", "was formerly known as", "is the new name of"})
MY_NAME = regex(rf"^(?:My name is|I am called|I['\u2019]m called) (?P<object>{NAME})[.!]?$")
BINDS = regex(
    r"[\"“”„«»`:(){}\[\]<>=\n…;?]|(?<!\w)['‘]|(?i:\b(?:if|unless|when|while|because|although|though|whether|than|or|nor|"
    r"either|neither|said|says|say|told|tells|thinks?|thought|believes?|believed|claims?|claimed|heard|wants?|"
    r"hopes?|plans?|would|could|should|will|might|almost|nearly|never|once|according|allegedly|pretends?|"
    r"dream(?:s|t|ed)?|imagines?|supposed(?:ly)?|like|as if|soon|maybe|only|other|another|someone|everyone)\b)|\bmay\b"
)
"""Marks of a sentence that is not a plain statement of fact."""
NO_NAME = frozenset(
    """i he she it they we you this that these those there here who what where when why how which everyone everybody
    someone somebody nobody anyone nothing something everything people today tomorrow yesterday tonight now then the a
    an my our your his her its their some many most all both each every no one if please yes no ok okay hi hello well so
    and but or not do does is are was were let lets remember note new old both""".split()
) | {*MONTHS, *WEEKDAYS}
"""Words that begin a sentence with a capital but are not names."""
ADJECTIVE = regex(r"(?i)(?:an|ish|ese|ic|ch|i|ous|ful|ed|ing|ist|al|ive)$")
"""Endings of adjectives: after "my sister is", such a word may describe her instead of naming her."""
LEGAL = frozenset("ag gmbh inc ltd llc plc corp corporation limited co se sa nv bv oy ab kg".split())
"""Legal forms after a company's name that do not affect its identity."""
SAME_ROLE = {
    "mum": "mother", "mom": "mother", "mummy": "mother", "mommy": "mother", "dad": "father", "daddy": "father",
    "sis": "sister", "bro": "brother", "hubby": "husband", "kid": "child", "grandma": "grandmother",
    "granny": "grandmother", "grandpa": "grandfather", "granddad": "grandfather", "chief executive": "ceo",
}  # fmt: skip
PAST_ROLES = ("former", "ex", "previous", "late", "old")
KIND_OF_ROLE = frozenset(
    """sister brother mother father wife husband son daughter child aunt uncle cousin niece nephew grandmother
    grandfather partner girlfriend boyfriend fiance fiancee friend colleague neighbour neighbor boss manager dentist
    doctor teacher landlord roommate flatmate ceo cto cfo coo founder director lawyer accountant mentor coach twin
    godmother godfather engineer designer developer lead assistant therapist trainer sibling parent spouse""".split()
)
"""Roles that people have."""
OFFICES = frozenset(("ceo", "cto", "cfo", "coo", "founder", "president", "chairman", "chairwoman", "chair"))
"""Roles in an organisation."""
LEADS_TO: Mapping[str, frozenset[str]] = {
    family: frozenset(asking.split())
    for family, asking in {
        "works for": "employer company job work works worked working firm employed workplace team club organisation "
        "organization plays play",
        "lives in": "home city town live lives lived living based country where move moved",
        "is in": "country city town state region village where located",
        "is married to": "wife husband spouse partner married wed",
        "makes": "make makes made product products produce produces produced build builds sell sells offer",
        "works on": "project working",
        "leads": "lead leads leader boss head heads manager manages run runs charge responsible direct directs "
        "director",
        "reports to": "boss manager report reports",
        "maintains": "maintainer maintain maintains owner",
        "depends on": "depend depends dependency dependencies need needs",
        "studies at": "school university college study studies studied",
        "founded": "founder founded found",
        "is part of": "part belong belongs team group programme program",
        "is also called": "name called nickname",
        "was born in": "born birthplace",
        "uses": "use uses",
        "runs on": "run runs hosted host",
        "is written in": "language written",
        "wrote": "wrote author write written software",
        "owns": "own owns owner",
        "comes from": "from come comes country",
        "is a subsidiary of": "parent subsidiary owner owns owned",
        "acquired": "acquire acquired bought owner",
        "supplies": "supply supplies supplier",
        "funds": "fund funds funder funded sponsor pays",
        "works in": "work works working office",
        "grew up in": "grow grew childhood",
        "created": "create created creator design designed designer make made",
    }.items()
}
"""The words of a question that ask for a relation."""


def relations(text: str) -> list[Relation]:
    """Return the relations that ``text`` plainly states, in its own words; mostly none.

    >>> relations("My sister Anna works for Siemens")[0][:3]
    ('my sister Anna', 'works for', 'Siemens')
    >>> relations("Anna might work for Siemens"), relations("Anna does not live in Porto")
    ([], [])
    """
    said = " ".join(text.split())
    if len(said) > LONGEST or BINDS.search(said) or hedged_wording(said) or any(map(is_negation, words(said))):
        return []
    found: list[Relation] = []
    for one in _ENDS.split(said):
        if relation := _relation(one):
            found.append(relation)
    return found[:MOST]


SPOKEN = regex(r"^(?P<who>[\w.'-]+(?: [\w'-]+){0,2}): (?P<said>\S.*)$", re.DOTALL)
USERS, AGENTS = frozenset(("user", "human", "me")), frozenset(("assistant", "ai", "agent", "bot", "system", "tool"))
INTERJECTION = regex(
    r"(?i)^(?:(?:hey|hi|hello|oh|wow|well|so|and|by the way|btw|you know(?: what)?|guess what|actually|also)\b"
    r"[,!.?:]? *)+"
)


def relations_of_turn(text: str) -> list[Relation]:
    """Return the relations in a conversation turn, sentence by sentence; "I" means the speaker whom it names.

    >>> relations_of_turn("Ann: Hey! I moved to Porto in 2020. How are you?")[0][:4]
    ('Ann', 'moved to', 'Porto', '2020-01-01')
    """
    match = SPOKEN.match(text)
    if match is None or match["who"].lower() in AGENTS:
        return []
    who = "I" if match["who"].lower() in USERS else match["who"].title()
    found = []
    for sentence in sentences(match["said"]):
        bare = INTERJECTION.sub("", sentence)
        found += [one._replace(subject=_by(one.subject, who), object=_by(one.object, who)) for one in relations(bare)]
    return found[:MOST]


def _by(end: str, who: str) -> str:
    """Return an end of a relation in the third person, where ``who`` is the speaker."""
    if who == "I":
        return end
    return who if end == "I" else re.sub(r"^(?:my|our) ", f"{who}'s ", end)


def _relation(said: str) -> Relation | None:
    if match := MY_NAME.match(said):
        return Relation("I", ALIAS.label, match["object"])
    for pattern, label, holding in SHAPES:  # compiling a pattern takes milliseconds, and most texts need few
        if not any(part in f" {said}" for part in holding) or (match := pattern.match(said)) is None:
            continue
        if pattern is HAS_CALLED:
            return _checked(match["subject"], f"is the {match['what']} of", match["object"], match)
        if label:
            turned = " ".join(match["verb"].split()) in FORMERLY
            pair = (match["object"], match["subject"]) if turned else (match["subject"], match["object"])
            return _checked(pair[0], label, pair[1], match)
        bare = match["verb"] in ("is", "was") and "name" not in said
        if pattern is MY_IS and bare and ADJECTIVE.search(match["object"]):
            return None
        article = "is" if match["verb"].startswith("is") else "was"
        return _checked(match["object"], f"{article} the {match['what']} of", _owner(match["owner"]), match)
    for spoken in SAID.finditer(said):
        subject, match = SUBJECT.match(said[: spoken.start()]), OBJECT.match(said[spoken.end() :])
        if subject and match:
            verb = VERBS[(spoken.lastindex or 1) - 1][1]
            if _is_thing(match["object"]) and verb.question not in OF_THINGS:
                return None  # in the kitchen, at the moment
            return _checked(subject["subject"], spoken[spoken.lastindex or 1], match["object"], match)
    if match := MADE.match(said):
        return _checked(match["subject"], match["verb"], match["object"], match, needs_name=False)
    if BEING.search(said) and (match := IS_ROLE_OF.match(said)):
        be = "is" if match["verb"] in ("is", "am") else match["verb"]
        told = f"{be} {match['article'] or 'the '}{match['what']} {match['of']}"
        if match["what"] in VAGUE or (match["of"] != "of" and _is_thing(match["object"])):
            return None
        return _checked(match["subject"], told, match["object"], match)
    return None


def _owner(owner: str) -> str:
    """Return the owner of something, as a mention."""
    return "I" if owner.lower() in ("my", "our") else owner[:-2] if owner[-1] == "s" else owner[:-1]


def _is_thing(text: str) -> bool:
    return text.startswith("the ") and text[4].islower()


def _checked(
    subject: str, predicate: str, object: str, match: re.Match[str], *, needs_name: bool = True
) -> Relation | None:
    """Return a relation if its ends are names and its dates are in order."""
    subject, object = subject.strip(" ,"), object.strip(" ,")
    if not _names(subject) or (needs_name and not _names(object)) or subject == object:
        return None
    since, until = _period(match, verb_of(predicate))
    if since and until and until < since:
        return None
    return Relation(_levelled(subject), " ".join(predicate.split()), _levelled(object), since or None, until or None)


def _names(text: str) -> bool:
    first = named_by(text)[:1]
    return text == "I" or text.lower().startswith(("my ", "our ", "the ")) or bool(first and first[0] not in NO_NAME)


def _levelled(text: str) -> str:
    """Return a mention in the form it has within a sentence."""
    return text[0].lower() + text[1:] if re.match(r"(?:My|Our|The) ", text) else text


def _period(match: re.Match[str], verb: Verb | None) -> tuple[str, str]:
    """Return the period for which a statement holds, as bare dates."""
    given = {key: value for key, value in match.groupdict().items() if value}
    first, last = given.get("from") or given.get("between"), given.get("to") or given.get("and")
    if first and last:
        return _days(first)[0], _days(last)[1]
    if since := given.get("since"):
        return _days(since)[0], ""
    if until := given.get("until"):
        return "", _days(until)[1]
    if day := given.get("in") or given.get("on"):
        start, end = _days(day)
        if verb and verb.label == LEFT:
            return "", end
        return (start, "") if verb is None or verb.moves or verb.label in BEGINS else (start, end)
    return "", ""


def _days(phrase: str) -> tuple[str, str]:
    """Return the first and the last day of a year, month or day.

    >>> _days("May 2024"), _days("2019")
    (('2024-05-01', '2024-05-31'), ('2019-01-01', '2019-12-31'))
    """
    from calendar import monthrange

    parts = phrase.replace("-", " ").split()
    if len(phrase) > 4 and phrase[4] == "-":
        year, month, day = int(parts[0]), int(parts[1]), int(parts[2]) if len(parts) > 2 else 0
    else:
        year = int(parts[-1])
        month = MONTHS.index(parts[-2].lower()) + 1 if len(parts) > 1 else 0
        day = int(parts[0]) if len(parts) > 2 else 0
    if not 0 <= month <= 12 or (day and (not month or day > monthrange(year, month)[1])):
        return "", ""
    last = day or monthrange(year, month or 12)[1]
    return f"{year}-{month or 1:02}-{day or 1:02}", f"{year}-{month or 12:02}-{last:02}"


_EXACT = regex(rf"^(?:{'|'.join(f'({spoken})' for spoken, _ in (*VERBS, (MAKING, MAKES)))})$")
_IS_THE = regex(r"^(?:is|was|am|became) (?:an? |the )?(?P<what>.+?) (?P<of>of|at|for|in charge of)$")


def verb_of(predicate: str) -> Verb | None:
    """Return the meaning of a predicate with a known wording; None for any other."""
    match = _EXACT.match(predicate)
    return (*VERBS, (MAKING, MAKES))[(match.lastindex or 1) - 1][1] if match else None


def stated(relation: Mapping[str, Any], user_id: str) -> Iterator[Stated]:
    """Yield a relation, and those implied by its mentions: for "my sister Anna", whose sister she is.

    ``user_id`` is the meaning of "I" and "my".
    """
    subject, object = (mention(str(relation.get(end, "")), user_id) for end in ("subject", "object"))
    predicate = " ".join(str(relation.get("predicate", "")).replace("_", " ").split())
    since, until = str(relation.get("valid_from") or ""), str(relation.get("valid_until") or "")
    for one in (subject, object):
        if one.role:
            yield from _roled(one)
    if match := _IS_THE.match(predicate):
        what, ended = match["what"].strip(), predicate.startswith("was ") and not since
        role = _role_key(_key_of(object), what)
        if match["of"] == "of" and subject.name and not ended:
            yield Stated(subject, _role_verb(what), object, since, until, role)
        else:
            family = "works for" if match["of"] in ("at", "for") else ""
            kinds = (PERSON, ORGANISATION) if family else ("", "")
            yield Stated(subject, Verb(f"{what} {match['of']}", family, kinds, ended=ended), object, since, until)
        return
    verb = ALIAS if predicate == ALIAS.label else verb_of(predicate) or Verb(predicate[:60])
    if subject != object:
        yield Stated(subject, verb, object, since, until)


def _roled(one: Mention) -> Iterator[Stated]:
    owner, _, what = one.role.rpartition("/")
    shown = owner[1:] if owner.startswith("=") else owner.rpartition("/")[2] if "/" in owner else owner
    holder = Mention("", owner, f"{shown}") if "/" in owner else Mention(owner, "", shown)
    yield Stated(one, _role_verb(what), holder, gives=one.role)


def _role_verb(what: str) -> Verb:
    base = what.removesuffix("-in-law").split()[-1].lower()
    owner = ORGANISATION if base in OFFICES else ""
    return Verb(ROLE_OF.format(what), "", (PERSON if base in KIND_OF_ROLE or owner else "", owner))


def mention(text: str, user_id: str) -> Mention:
    """Return how a text refers to something.

    >>> mention("my sister Anna", "ada")
    Mention(name='anna', role='=ada/sister', shown='Anna')
    >>> mention("Anna's husband", "ada"), mention("I", "ada").name
    (Mention(name='', role='anna/husband', shown="Anna's husband"), '=ada')
    """
    said = " ".join(text.split()).strip(" ,.")
    if said in ("I", "me", "Me", "myself") or said.lower() in ("user", "the user", user_id.lower()):
        return Mention(f"={user_id}", "", user_id)
    if not OWNED.search(said):
        return _named(said)
    behind = re.match(rf"^(?P<name>{NAME}), (?P<roled>{OWNER} (?:{_WHAT}))$", said)
    if behind:
        return mention(f"{behind['roled']} {behind['name']}", user_id)
    match = re.match(
        rf"^(?P<owner>{OWNER}) (?P<what>{_WHAT})(?:['\u2019]s (?P<more>{_WHAT}))?(?:,? (?P<name>{NAME}))?$", said
    )
    if match is None:
        return _named(said)
    owner = _owner(match["owner"])
    key = f"={user_id}" if owner == "I" else _key_of(mention(owner, user_id))
    role = _role_key(key, match["what"])
    if match["more"]:
        role = _role_key(role, match["more"])
    name = match["name"] or ""
    return Mention(name_key(name) if name else "", role, name or said)


OWNED = regex(r"(?i)\b(?:my|our)\b|['\u2019]s |s['\u2019] ")
"""A text without any of these names no role."""


def _named(said: str) -> Mention:
    shown = re.sub(r"^[Tt]he (?=[A-Z])", "", said.partition(", ")[0])  # Lisbon, Portugal
    return Mention(name_key(shown), "", shown)


def _key_of(one: Mention) -> str:
    return one.name or one.role


def name_key(name: str) -> str:
    """Return a name in lookup form: without case, accents and legal form.

    >>> name_key("Siemens AG"), name_key("Łódź")
    ('siemens', 'lodz')
    """
    found = named_by(name)
    if found[:1] == ["the"]:
        found = found[1:]
    while len(found) > 1 and found[-1] in LEGAL:
        found.pop()
    return " ".join(found)


def _role_key(owner: str, what: str) -> str:
    parts = what.lower().replace("-", " ").split()
    parts = [part for part in parts if part not in ("new", "dear", "own", "little", "the", "beloved")] or parts
    if parts[0] in PAST_ROLES and len(parts) > 1:
        parts = [f"former-{parts[-1]}"]
    parts[-1] = SAME_ROLE.get(parts[-1], parts[-1])
    return f"{owner}/{' '.join(parts)}"


def kept_relations(value: Any) -> list[Mapping[str, Any]]:
    """Return the relations in a record's field, which holds one or several."""
    found = value if isinstance(value, Sequence) and not isinstance(value, str) else [value] if value else []
    return [one for one in found if isinstance(one, Mapping)]


SPEAKERS = frozenset(
    """i my me our we user ich mein meine meiner meinem meinen mir mich wir unser unsere nutzer nutzerin je j mon ma mes
    moi notre nous yo mi mis mio nuestro usuario usuaria io mia miei mie eu meu minha meus minhas jag min mitt mina ik
    mijn jeg mit moj moja ja mam я мой моя мне мои меня benim ben minun אני שלי أنا 我 私 나 제""".split()
)
"""How the speaker is called in a text, in some languages: a model gives that end of a relation as "I"."""


def is_told(relation: Mapping[str, Any], text: str) -> bool:
    """Return whether the text names both ends of a model's relation, neither of which may be invented."""
    held = set(named_by(text)) | set(words(text))

    def named(end: str) -> bool:
        asked = [word for word in named_by(str(relation.get(end, ""))) if word not in ("i", "my", "me", "user", "the")]
        return all(word in held for word in asked) and (bool(asked) or not held.isdisjoint(SPEAKERS))

    return named("subject") and named("object")
