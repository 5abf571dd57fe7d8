"""Read plain clauses: who, a verb, what belongs to that verb, and when; every word of a kind that is known.

Where ``statements`` knows what a sentence says of whom, so that a later one can take its place, a clause is only known
to be plain: it says something lasting of the user, of theirs or of what they have, and each word means what it says.
A clause that holds one word more is not read.
"""

from __future__ import annotations

import re
from functools import cache

from ..words.text import regex
from .vocabulary import (
    A_WORKPLACE,
    AGE,
    ALLERGEN,
    ANIMALS,
    AT_THE_TIME,
    CITY,
    CLUB,
    COLLECTED,
    COUNT,
    DATE,
    DEGREE,
    DEVICE,
    DRINK,
    DWELLING,
    ESTATE,
    EXERCISE,
    FAVOURITE,
    FEAR,
    FIELD,
    FITTED,
    FOOD,
    GROUP,
    HOBBY,
    HOLIDAY,
    ILLNESS,
    JOB,
    LANGUAGE,
    LEARNED,
    LOOK,
    LOVED,
    MONTH,
    MUSIC,
    NAME,
    NAMED,
    NAMES,
    NATION,
    NUMBER,
    OWN_PLACE,
    PAIR,
    PERSONAL,
    PET,
    PRODUCT,
    RELATIVE,
    RELATIVES,
    ROOM,
    SINCE,
    SKILL,
    SPECIAL_DIET,
    SUBJECT,
    TIME_OF_DAY,
    TOLD_BY_NAME,
    TRAIT,
    VALUED,
    VEHICLE,
    WHEN,
    WHICH,
    WORKPLACE,
)  # fmt: skip


def among(one: str, most: int = 3) -> str:
    """Return a pattern for one of a kind, or a few of it joined by commas and "and".

    >>> among("tea|milk")
    '(?:tea|milk)(?:(?:, (?:tea|milk)){0,3},? (?:and|or) (?:tea|milk))?'
    """
    return rf"(?:{one})(?:(?:, (?:{one})){{0,{most}}},? (?:and|or) (?:{one}))?"


TOWN = rf"(?!\w+day\b){CITY}"
MINE = r"(?:[Mm]y|[Oo]ur)"
ONE = rf"{MINE} (?:{PERSONAL} )*{RELATIVE}(?:,? (?!I\b){NAME},?)?"
"""Somebody of the user's."""
BEAST = rf"{MINE} (?:{PERSONAL} )*{ANIMALS}(?:,? {NAME},?)?"
MANY = rf"{MINE} (?:{PERSONAL} )*(?:{RELATIVES}|{RELATIVE}s)(?:,? {NAMES},?)?|{MINE} {RELATIVE} and I"
FOLK = rf"(?:(?:{COUNT}) )?(?:{PERSONAL} )*(?:{RELATIVE}s?|{RELATIVES}|{ANIMALS}|boys|girls)"
TEAM = rf"(?:{MINE}|[Tt]he) (?:team|company|department|school|office|band|firm|start-?up|employer|organisation)"
PURPOSE = r"for (?:the |our )?[a-z-]+(?: end| work)?"
OFTEN = r"(?:(?:also|usually|always|mostly|normally|generally|still|only|both|mainly) )?"
AT = rf"(?:,? (?:{WHEN}|{SINCE}|at home))*"
"""When or how often, after anything that somebody does or is."""
IN_PLACE = rf"(?:in|near|outside|close to|just outside) {TOWN}"
AT_WORK = rf"(?:at|for|in|with) {A_WORKPLACE}(?: {IN_PLACE})?"
TOGETHER = (
    rf"(?:with (?:(?:my|his|her|our|their) (?:{NUMBER} )?(?:{RELATIVE}|{RELATIVES}|{PET}s?)|{NAME})|alone|together)"
)
FLAT = rf"(?:an?|the) (?:{LOOK} |{NUMBER}-room )?{DWELLING}"
HOME = (
    rf"(?:{IN_PLACE}|(?:in|on) {FLAT}(?: {IN_PLACE})?|next door|abroad|round the corner|"
    rf"(?:above|next to|opposite|behind) (?:an?|the) {WORKPLACE}(?: in {TOWN})?|"
    rf"on (?:the )?{NUMBER} floor|in the (?:countryside|city centre|suburbs|"
    rf"same (?:street|house|town|building) as my {RELATIVE}))(?: {TOGETHER})?|{TOGETHER}"
)

WHY = rf"(?:my|our) (?:{RELATIVE}'s )?(?:job|work|studies)"
THEN = rf"(?: (?:{AT_THE_TIME}|{NUMBER} years ago|when I was {AGE}|(?:for|because of) {WHY}))*"
"""When something happened, and why."""
SOCIETY = rf"(?:the|an?|our) (?:(?:local )?{CLUB} club|{GROUP})"
OFFICE = "(?:treasurer|chair|secretary|captain|president|head|conductor)"
BEING = (
    rf"(?:(?:not )?{TRAIT}|{AGE} years old|an? {JOB}(?: (?:{AT_WORK}|{IN_PLACE}))?(?: by training)?|"
    rf"allergic to {among(ALLERGEN + '|' + FOOD + '|' + ANIMALS)}|(?:scared|afraid|terrified) of {FEAR}|"
    rf"on an? {SPECIAL_DIET} diet|married to {NAME}|"
    rf"the (?:youngest|oldest|eldest) of {NUMBER}(?: (?:siblings|children|kids))?|"
    rf"a member of {SOCIETY}|the {OFFICE} of {SOCIETY}|learning (?:to {SKILL}|(?:the )?{MUSIC}|{LEARNED})|"
    rf"training for (?:an?|the) (?:{NAME} )?(?:half )?(?:marathon|triathlon)(?: in {MONTH})?|"
    rf"saving (?:up )?for an? (?:{LOOK} )?(?:{VEHICLE}|{ESTATE}|{DEVICE})|from {TOWN}|{NATION}|"
    rf"studying {SUBJECT}(?: in {TOWN})?|named after (?:my|our) {RELATIVE})"
)
SPEECH = rf"(?:(?:fluent|some|basic|a little|a bit of) )?{LANGUAGE}"
TRADE = (
    rf"(?:as an? {JOB}(?: {AT_WORK})?|{AT_WORK}|in {FIELD}|part-time|full-time|nights|night shifts|shifts|freelance|"
    r"remotely|from home)"
)
MONEY = r"(?:\d[\d.,]* (?:euros?|pounds|dollars|francs|kroner|zloty|a month)|[€£$]\d[\d.,]*)"
CUP = r"(?:black|white|strong|with honey|with (?:one|two) sugars|with (?:oat )?milk|without (?:sugar|milk))"
WORN = r"(?:glasses|contact lenses|hearing aids|a hearing aid|a wig|orthopaedic shoes|size \d\d(?:[.,]5)?(?: shoes)?)"
FILED = r"(?:passwords|notes|photos|files|backups|recipes|calendar|contacts|to-do list|invoices|books)"
RIDDEN = "(?:bike|train|bus|car|tram|ferry|boat)"
ABLE = rf"{SKILL}|read {LEARNED}|speak {LANGUAGE}"
CALLED = rf"(?:,? (?:called |named )?{NAMES})?"

DOING: tuple[tuple[str, str, str], ...] = (
    ("live", "lives", HOME),
    ("work", "works", rf"{TRADE}(?:, (?:mostly|mainly) from home)?|{NUMBER} days a week"),
    ("teach", "teaches", rf"{among(SUBJECT)}(?: (?:at|in) {A_WORKPLACE})?(?: to {RELATIVES})?(?: {IN_PLACE})?"),
    ("study", "studies", rf"{among(SUBJECT)}(?: (?:at|in) {A_WORKPLACE})?"),
    ("play", "plays", rf"{among(f'(?:the )?{MUSIC}')}(?: (?:in|for|with) (?:an?|the|our) (?:{WHICH})?{GROUP})?"),
    ("sing", "sings", rf"(?:{MUSIC} )?in (?:an?|the|our) {GROUP}"),
    (
        "speak",
        "speaks",
        rf"{among(SPEECH)}(?: (?:at home|at work|with (?:my|our|the) {RELATIVES}|fluently|well)){{0,2}}",
    ),
    ("eat", "eats", rf"(?:(?:no|any) )?{among(FOOD)}"),
    ("drink", "drinks", rf"(?:(?:no|any) )?{among(DRINK)}"),
    ("take", "takes", rf"(?:my|his|her) (?:coffee|tea|espresso) {CUP}"),
    ("have", "has", rf"(?:{FOLK}){CALLED}|{among(FOLK)}|got (?:{FOLK}){CALLED}"),
    ("have", "has", among(rf"{ILLNESS}|an? {ALLERGEN} allergy")),
    ("have", "has", rf"(?:an? )?(?:{NAME} )?{DEGREE} in {SUBJECT}(?: from {NAME})?"),
    (
        "have",
        "has",
        rf"(?:{COUNT}|no) {ESTATE}(?: (?:{IN_PLACE}|by the (?:sea|lake|river)|in the (?:mountains|country)))?",
    ),
    ("have", "has", rf"(?:an?|no) (?:{LOOK} )?(?:{VEHICLE}|{PRODUCT})"),
    ("have", "has", rf"been (?:{BEING}) ?{SINCE}|lived (?:{HOME}) ?{SINCE}"),
    ("have", "has", rf"worked {AT_WORK} {SINCE}|had {ILLNESS} {SINCE}"),
    ("own", "owns", rf"(?:{PAIR}) (?:{LOOK} )?(?:{VEHICLE}|{ESTATE}|{DEVICE}|{ANIMALS})(?: {IN_PLACE}|{CALLED})"),
    ("run", "runs", rf"(?:an?|the|our) {WHICH}(?:{WORKPLACE}|{ESTATE}){CALLED}(?: {IN_PLACE})?(?: {TOGETHER})?"),
    ("drive", "drives", rf"an? (?:{LOOK} )?(?:{VEHICLE}|{PRODUCT})(?: to work)?"),
    ("ride", "rides", rf"an? (?:{LOOK} )?{VEHICLE}(?: to work)?"),
    ("use", "uses", rf"(?:an? )?{among(PRODUCT)}(?: for (?:the |my |our )?(?:[a-z]+ ?){{1,2}})?"),
    ("wear", "wears", WORN),
    ("collect", "collects", among(COLLECTED)),
    ("keep", "keeps", rf"{among(ANIMALS)}|(?:all )?(?:my|our|his|her) {FILED} (?:in|on|with) {PRODUCT}"),
    ("celebrate", "celebrates", among(HOLIDAY)),
    ("observe", "observes", among(HOLIDAY)),
    ("support", "supports", NAME),
    ("love", "loves", among(f"{LOVED}|{HOBBY}|{FOOD}")),
    ("hate", "hates", among(f"flying|driving|camping|phone calls|meetings|{LOVED}|{FOOD}|{DRINK}")),
    ("volunteer", "volunteers", rf"{AT_WORK}|as an? (?:firefighter|paramedic|coach|lifeguard|reading mentor)"),
    ("pay", "pays", rf"{MONEY}(?: (?:a|per) month)?(?: (?:in |of |for )?rent)?(?: (?:a|per) month)?"),
    ("commute", "commutes", rf"by {RIDDEN}(?: to {TOWN})?|(?:from {TOWN} )?to {TOWN}(?: by {RIDDEN})?"),
    ("cycle", "cycles", r"(?:to work|everywhere|to school)"),
    ("rent", "rents", rf"{FLAT}(?: {IN_PLACE})?"),
    ("get up", "gets up", rf"at {TIME_OF_DAY}"),
    ("wake up", "wakes up", rf"at {TIME_OF_DAY}"),
    ("go to bed", "goes to bed", rf"at {TIME_OF_DAY}"),
    ("start work", "starts work", rf"at {TIME_OF_DAY}"),
    ("finish work", "finishes work", rf"at {TIME_OF_DAY}"),
    ("go", "goes", rf"{EXERCISE}|to an? {WHICH}{WORKPLACE}"),
    ("am", "is", rf"{BEING}(?: {SINCE})?"),
    ("am", "", r"[1-9]\d"),
    ("are", "is", rf"{BEING}(?: {SINCE})?(?:,? both of us)?"),
    ("can", "can", ABLE),
    ("can't", "can't", rf"{ABLE}|eat {among(FOOD)}|drink {among(DRINK)}"),
    ("cannot", "cannot", rf"{ABLE}|eat {among(FOOD)}|drink {among(DRINK)}"),
    ("turn", "turns", rf"{AGE} (?:in {MONTH}|on (?:the )?{DATE})"),
    ("was", "was", rf"born (?:in|on) (?:{TOWN}|{DATE}|{MONTH} \d{{4}})(?: in \d{{4}})?"),
    ("were", "was", rf"born in (?:{TOWN}|{MONTH} \d{{4}})(?: in \d{{4}})?"),
    ("grew", "grew", rf"up (?:in|on|near) (?:{FLAT}(?: {IN_PLACE})?|{TOWN})"),
    ("studied", "studied", rf"{among(SUBJECT)}(?: (?:in|at) {TOWN})?{THEN}"),
    ("moved", "moved", rf"to {TOWN}{THEN}"),
    ("quit", "quit", rf"(?:smoking|drinking){THEN}"),
    ("gave up", "gave up", rf"(?:smoking|drinking){THEN}"),
    ("started", "started", rf"(?:work )?at {NAME}{THEN}"),
    ("joined", "joined", rf"{NAME}{THEN}"),
    ("finished", "finished", rf"(?:my|his|her) {DEGREE} in {SUBJECT}{THEN}"),
    ("bought", "bought", rf"an? (?:{LOOK} )?(?:{DWELLING}|{VEHICLE})(?: {IN_PLACE})?{THEN}"),
    ("got", "got", rf"(?:married|engaged)(?: to {NAME})?{THEN}|(?:my|his|her) {DEGREE} in {SUBJECT}{THEN}"),
    ("retired", "retired", AT_THE_TIME),
)
"""What is said of "I" and of "my sister": the verb after either, and what may follow."""

THINGS = tuple(
    regex(shape)
    for shape in (
        rf"{BEAST} {OFTEN}(?:only |never |doesn't )?(?:eats?|drinks?) (?:{among(FOOD)}|{among(DRINK)})",
        rf"{BEAST} (?:is (?:allergic to {among(f'{ALLERGEN}|{FOOD}')}|(?:scared|afraid) of {FEAR}|"
        rf"{NUMBER} (?:years|months|weeks) old)|has {among(ILLNESS)}|turns {AGE} in {MONTH})",
        rf"{TEAM} (?:uses|runs on|deploys to|builds with|writes) {among(PRODUCT)}"
        rf"(?: {PURPOSE}(?: and {PRODUCT} {PURPOSE})?)?",
        rf"{MINE} (?:{LOOK} )?{DEVICE} (?:is (?:an? )?(?:{LOOK} )?{PRODUCT}|runs {PRODUCT})",
        rf"{MINE} (?:new |old )?{OWN_PLACE} is (?:{IN_PLACE}|(?:in|on|at) (?:the )?{NAME}|"
        rf"on the (?:ground|top|[a-z]+(?:st|nd|rd|th)) floor|closed {WHEN})",
        rf"(?:{MINE}|[Tt]he) (?:new )?{NAMED} is (?:called|named) [\"“]?{NAME}[\"”]?",
        rf"{MINE} (?:{TOLD_BY_NAME} is|(?:{TOLD_BY_NAME}|{RELATIVE})(?: is (?:called|named)|'s name is)) "
        rf"(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?{NAME}",
        rf"{MINE} favou?rite {FAVOURITE} is (?:the )?(?:{VALUED}|{NAME})",
        rf"(?:{MINE}|[Tt]he) (?:project |submission |next |final )?deadline is (?:on )?{DATE}",
        rf"{MINE} (?:rent|salary) is [€£$]?\d[\d.,]*(?: (?:euros|pounds|dollars))?(?: (?:a|per) month)?",
        rf"{MINE} commute (?:takes|is)(?: about| around)? {NUMBER} (?:minutes|hours)(?: by {RIDDEN})?",
        rf"(?:{MINE}|[Tt]he) {ROOM} has {FITTED}",
        rf"(?:[Pp]lease )?(?:[Aa]lways|[Nn]ever) (?:suggest|recommend|use|serve|schedule|book|offer) (?:me )?"
        rf"(?:{among(FOOD)}|{among(DRINK)}|anything (?:before|after) {TIME_OF_DAY}|metric units|"
        r"British spelling|American spelling|bullet points|emojis?|the metric system)(?: to me| for me)?(?:,? please)?",
    )
)
"""What is said of animals and things, and what the user wants always or never, from its first word to its last."""
I_OR_MANY = regex(rf"(?:[Ii]|[Ww]e|{MANY})(?P<short>'m|'re|'ve)? {OFTEN}(?:never |(?P<not>don't |do not ))?")
ANOTHER = regex(rf"{ONE}(?P<short>'s)? {OFTEN}(?:never |(?P<not>doesn't |does not ))?")
OWNER = regex(rf"(?P<who>[Ii]|[Ww]e|{ONE})(?='| )")
LONG = {None: "", "'m": "am ", "'re": "are ", "'ve": "have ", "'s": "is "}
DENIED = frozenset(
    "eat drink smoke drive cook have own use speak wear celebrate observe play swim cycle".split()  # noqa: SIM905
)
"""Of what somebody does not do it is worth a record: who does not live in Porto may live anywhere."""
BARE = frozenset(("drink", "smoke", "drive", "swim", "cook", "commute"))
"""What somebody may not do at all."""
JOINT = regex(r",? (?:and|but) ")
LONGEST = 200
"""Characters; what is longer is no plain clause."""


@cache
def _tail(verb: str, column: int) -> re.Pattern[str] | None:
    """Return how what follows a verb reads; None for a verb that nothing is known of."""
    known = [row[2] for row in DOING if verb == row[column]]
    often = "" if verb in ("am", "is", "are") else AT  # vegan on Mondays is nobody
    return re.compile(rf" (?:{'|'.join(known)}){often}") if known else None


def is_plain_clause(text: str) -> bool:
    """Return whether every word of a clause is of a kind that is known, and stands where it means what it says.

    >>> is_plain_clause("My wife teaches chemistry at a grammar school"), is_plain_clause("We have three cats")
    (True, True)
    >>> is_plain_clause("My wife teaches me a lesson"), is_plain_clause("I work in a zoo"), is_plain_clause("I have it")
    (False, False, False)
    """
    if len(text) > LONGEST:
        return False
    return any(thing.fullmatch(text) for thing in THINGS) or any(_says(one, text) for one in (I_OR_MANY, ANOTHER))


def apart(text: str) -> list[str]:
    """Return the two plain clauses that an "and" or "but" joins, the subject repeated; any other text as it is.

    >>> apart("I'm married and have twin boys"), apart("I have bread and butter")
    (["I'm married", 'I have twin boys'], ['I have bread and butter'])
    """
    if is_plain_clause(text):
        return [text]
    for joint in JOINT.finditer(text):
        left, right = text[: joint.start()], text[joint.end() :]
        who = OWNER.match(left)
        for rest in (right[:1].upper() + right[1:], f"{who['who']} {right}" if who else ""):
            if is_plain_clause(left) and is_plain_clause(rest):
                return [left, rest]
    return [text]


def _says(subject: re.Pattern[str], text: str) -> bool:
    """Return whether a clause has this subject, and a verb with what belongs to it."""
    spoken = subject.match(text)
    if spoken is None:
        return False
    said = LONG[spoken["short"]] + text[spoken.end() :]
    if spoken["not"] and (said in BARE or said.partition(" ")[0] not in DENIED):
        return said in BARE
    column = 1 if subject is ANOTHER and not spoken["not"] else 0
    for end in (place for place, char in enumerate(said) if char == " "):
        tail = _tail(said[:end], column)
        if tail is not None and tail.fullmatch(said, end):
            return True
    return False
