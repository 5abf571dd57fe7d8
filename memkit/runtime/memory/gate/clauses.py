"""Read plain clauses: a subject, a verb, its complements and a time; every word must be of a known kind.

``statements`` knows what a sentence says about whom, so that a later one can replace it. Of a clause it is only known
that it is plain: it states something lasting about the user, their people or their things, and every word is literal.
A clause with one unknown word is not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from ..words.text import any_of, regex
from .vocabulary import (
    A_WORKPLACE,
    AGE,
    ALLERGEN,
    ANIMALS,
    APPOINTMENT,
    AT_THE_TIME,
    BONE,
    CITY,
    CLUB,
    COLLECTED,
    COUNT,
    DATE,
    DAYS,
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
    FORCE,
    GOODS,
    GROUP,
    HOBBY,
    HOLIDAY,
    ILLNESS,
    JOB,
    LANGUAGE,
    LATELY,
    LOOK,
    LOVED,
    MONTH,
    MUSIC,
    NAME,
    NAMED,
    NAMES,
    NATION,
    NO_NAME,
    NUMBER,
    OWN_PLACE,
    PAIR,
    PERSONAL,
    PET,
    PRODUCT,
    PROPER,
    RELATIVE,
    RELATIVES,
    REMEDY,
    ROOM,
    SEASON,
    SINCE,
    SKILL,
    SPECIAL_DIET,
    SUBJECT,
    SURGERY,
    TIME_OF_DAY,
    TOLD_BY_NAME,
    TRAIT,
    UP,
    VALUED,
    VEHICLE,
    WHEN,
    WHICH,
    WORKPLACE,
)


def among(one: str, most: int = 3) -> str:
    """Return a pattern for one item of a kind, or a few of them joined by commas and "and".

    >>> among("tea|milk")
    '(?:tea|milk)(?:(?:, (?:tea|milk)){0,3},? (?:and|or) (?:tea|milk))?'
    """
    return rf"(?:{one})(?:(?:, (?:{one})){{0,{most}}},? (?:and|or) (?:{one}))?"


YEARS = (
    "(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    "eighteen)"
)
"""Numbers for the age of an animal."""
OLD = rf"(?!(?:an?|one|half an)\b){AGE}"
TOWN = rf"(?!\w+day\b){CITY}"
MINE = r"(?:[Mm]y|[Oo]ur)"
THEIRS = rf"(?:(?:{PERSONAL} )*{RELATIVE}(?: {NAME})?'s )?(?:{PERSONAL} )*"
CALLED_SO = rf"(?:,? (?:(?:Mrs?|Ms|Dr)\.? )?(?!I\b){NAME},?)?"
ONE = rf"(?:{MINE} {THEIRS}{RELATIVE}{CALLED_SO}|{MINE} (?:youngest|oldest|eldest|middle one)(?:,? {NAME},?)?)"
"""Somebody related to the user."""
BEAST = rf"{MINE} (?:{PERSONAL} )*{ANIMALS}(?:,? {NAME},?)?"
MANY = (
    rf"(?:{MINE}|[Tt]he(?= twins| kids| children)) {THEIRS}(?:{RELATIVES}|{RELATIVE}s)(?:,? {NAMES},?)?|{MINE} "
    rf"{RELATIVE}(?: {NAME})? and I"
)
FOLK = rf"(?:(?:{COUNT}) )?(?:{PERSONAL} )*(?:{RELATIVE}s?|{RELATIVES}|{ANIMALS}|boys|girls)"
TEAM = rf"(?:{MINE}|[Tt]he) (?:team|company|department|school|office|band|firm|start-?up|employer|organisation)"
PURPOSE = r"for (?:the |our )?[a-z-]+(?: end| work| else)?"
DOSE = rf"{NUMBER} ?(?:mg|mcg|milligrams|micrograms|grams|units|tablets|pills|drops|puffs)"
OFTEN = r"(?:(?:just|recently|now|also|usually|always|mostly|normally|generally|still|only|both|mainly) )?"
AT = rf"(?:,? (?:{WHEN}|{SINCE}|at home))*"
"""When or how often, after any activity or state."""
IN_PLACE = rf"(?:in|near|outside|close to|just outside) {TOWN}"
AT_WORK = rf"(?:at|for|in|with) {A_WORKPLACE}(?: {IN_PLACE})?"
TOGETHER = (
    rf"(?:with (?:(?:my|his|her|our|their) (?:{NUMBER} )?(?:{RELATIVE}(?: {NAME})?|{RELATIVES}|{PET}s?)|us|me|"
    rf"{among(FOLK)}|(?:{COUNT}) (?:other )?{JOB}s|{NAME})|alone|together)"
)
FLAT = rf"(?:an?|the) (?:{LOOK} |{NUMBER}-room )?{DWELLING}"
HOME = (
    rf"(?:{IN_PLACE}|(?:in|on) {FLAT}(?: {IN_PLACE}| with {among(FOLK)})?|next door|upstairs|downstairs|across the "
    rf"street|abroad|round the corner|"
    rf"(?:above|next to|opposite|behind) (?:an?|the) {WORKPLACE}(?: in {TOWN})?|"
    rf"on (?:the )?{NUMBER} floor|in the (?:countryside|city centre|suburbs|"
    rf"same (?:street|house|town|building) as my {RELATIVE}))(?: {TOGETHER})*|{TOGETHER}(?: {TOGETHER})?"
)

WHY = rf"(?:my|our) (?:{RELATIVE}'s )?(?:job|work|studies)"
SMALL = r"(?:a (?:kid|child|boy|girl|teenager|student)|little|small|young)"
THEN = (
    rf"(?: (?:{AT_THE_TIME}|{LATELY}|with (?:my|our) {RELATIVES}?|{NUMBER} years ago|when I was (?:{SMALL}|{OLD})|"
    rf"as {SMALL}|twice|"
    rf"(?:for|because of) {WHY}))*"
)
"""When something happened, and why."""
SOON = (
    rf"(?:{LATELY}|in {MONTH}(?: \d{{4}})?|in (?:the )?(?:spring|summer|autumn|winter|new year)|on {DATE}|in \d{{4}})"
)
"""When something is going to happen."""
NUMBER_TH = "(?:first|second|third|fourth|fifth)"
CHARGE = any_of(
    """payroll sales marketing logistics procurement purchasing accounts accounting the_accounts IT HR safety security
    training recruitment events catering the_kitchen the_bar the_archive the_library the_website the_newsletter quality
    quality_control production maintenance customer_service customer_support research operations the_budget invoices
    billing communications public_relations the_night_shift admissions exports imports the_warehouse the_garden
    the_database the_servers the_infrastructure the_back_end the_front_end releases testing data_protection"""
)
THEN_SURE = THEN.rstrip("*") + "+"
LONG_TIME = (
    rf"(?: (?:for (?:over |about |almost )?{NUMBER} years|until (?:{MONTH} )?(?:19|20)\d\d|from (?:19|20)\d\d "
    r"(?:to|until) (?:19|20)\d\d|all (?:my|his|her|their) (?:working )?li(?:fe|ves)))?"
)
"""The duration of something that is over."""
SOCIETY = rf"(?:the|an?|our) (?:(?:local )?{CLUB} club|{GROUP})"
OFFICE = "(?:treasurer|chair|secretary|captain|president|head|conductor)"
TRADE = (
    rf"(?:as an? {JOB}(?: {AT_WORK})?|{AT_WORK}|in {FIELD}|part-time|full-time|nights|night shifts|shifts|early "
    rf"shifts|freelance|"
    rf"remotely|from home)(?: in an? {WHICH}{WORKPLACE})?"
)
BEING = (
    rf"(?:(?:not )?{TRAIT}|{AGE} years old|an? {JOB}(?: (?:{AT_WORK}|{IN_PLACE}))?(?: by training)?|"
    rf"allergic to {among(ALLERGEN + '|' + FOOD + '|' + ANIMALS)}|(?:scared|afraid|terrified) of {FEAR}|"
    rf"on an? {SPECIAL_DIET} diet|married to {NAME}|"
    rf"the (?:youngest|oldest|eldest|{NUMBER_TH}) of {NUMBER}(?: (?:siblings|children|kids))?|"
    rf"a member of {SOCIETY}|the {OFFICE} of {SOCIETY}|learning (?:to {SKILL}|(?:the )?{MUSIC}|{LANGUAGE})|"
    rf"training for (?:an?|the) (?:{NAME} )?(?:half )?(?:marathon|triathlon)(?: in {MONTH})?|"
    rf"saving (?:up )?for an? (?:{LOOK} )?(?:{VEHICLE}|{ESTATE}|{DEVICE})|from {TOWN}|{NATION}|"
    rf"studying {SUBJECT}(?: (?:in|at) (?:the )?{TOWN})?|named after (?:my|our) {RELATIVE}|"
    rf"(?:doing|finishing|writing) (?:an?|my|his|her) (?:{DEGREE}|apprenticeship|internship)(?: (?:in|on) {SUBJECT})?"
    rf"(?: (?:at|with) {A_WORKPLACE})?|studying for (?:the|my|his|her) (?:{SUBJECT} |bar |final )?(?:exams?|finals)|"
    rf"trying to learn (?:to {SKILL}|(?:the )?{MUSIC}|{LANGUAGE})|"
    rf"(?:engaged|married) to an? (?:{NATION} )?{JOB}|together|sober|(?:both )?{JOB}s|"
    rf"in the {FORCE}|in charge of {CHARGE}(?: (?:at|for|in) {A_WORKPLACE})?|(?:the )?(?:head|"
    rf"director) of {CHARGE}(?: (?:at|for|in) {A_WORKPLACE})?|responsible for {CHARGE}|"
    rf"(?:expecting|having) (?:a baby|twins|a girl|a boy|our {NUMBER_TH} (?:child|baby))(?: {SOON})?|"
    rf"(?:moving|coming to live|going to live)(?: to {TOWN}| in {TOWN}| with (?:us|me|my {RELATIVES}?))+ {SOON}|"
    rf"(?:getting married|retiring|graduating|turning {AGE}|starting school|starting university)(?: {SOON})|"
    rf"an? (?:single |proud )?(?:father|mother|mum|mom|dad|parent|grandmother|grandfather) of {NUMBER}|"
    rf"a family of {NUMBER}|(?:half|part|originally) {NATION}|originally from {TOWN}|"
    rf"(?:{NUMBER} years|a year) (?:older|younger) than (?:me|my {RELATIVE}|us)|based in {TOWN}|"
    rf"working (?:{TRADE})|an only child|the (?:middle|only) child|interested in {among(SUBJECT + '|' + HOBBY)}|"
    rf"on the (?:board|committee|council) of (?:an?|the|my|our) [a-z]+(?: [a-z]+){{0,2}}|the only {JOB}(?: (?:in|on|"
    rf"at) "
    rf"(?:an?|the|our|my) [a-z]+(?: of [a-z]+)?)?|on (?:parental|maternity|paternity|sick) leave until {MONTH}|"
    r"\d[\d.]* ?(?:m|metres|cm|feet) tall|"
    rf"an? (?:big |huge )?fan of {among(NAME + '|' + FOOD)}|an? (?:widow|widower|father|mother|dad|mum|"
    rf"mom) with {FOLK}|"
    rf"(?:half|part) {NATION} on (?:my|his|her) (?:mother|father|mum|dad)'s side)"
)
SPEECH = rf"(?:(?:fluent|some|basic|a little|a bit of) )?{LANGUAGE}"
MONEY = r"(?:\d[\d.,]* (?:euros?|pounds|dollars|francs|kroner|zloty|a month)|[€£$]\d[\d.,]*)"
CUP = r"(?:black|white|strong|with honey|with (?:one|two) sugars|with (?:oat )?milk|without (?:sugar|milk))"
WORN = r"(?:glasses|contact lenses|hearing aids|a hearing aid|a wig|orthopaedic shoes|size \d\d(?:[.,]5)?(?: shoes)?)"
FILED = r"(?:passwords|notes|photos|files|backups|recipes|calendar|contacts|to-do list|invoices|books)"
RIDDEN = "(?:bike|train|bus|car|tram|ferry|boat)"
ABLE = rf"{SKILL}|read {LANGUAGE}|speak {LANGUAGE}"
CALLED = rf"(?:,? (?:called |named )?{NAMES})?"

MAKING = "(?:restoring|building|repairing|collecting|making|growing|breeding)"
DOING: tuple[tuple[str, str, str], ...] = (
    ("live", "lives", HOME),
    ("work", "works", rf"{TRADE}(?:, (?:mostly|mainly) from home)?|{NUMBER} days a week"),
    ("teach", "teaches", rf"{among(SUBJECT)}(?: (?:at|in) {A_WORKPLACE})?(?: to {RELATIVES})?(?: {IN_PLACE})?"),
    ("study", "studies", rf"{among(SUBJECT)}(?: (?:at|in) {A_WORKPLACE})?"),
    ("play", "plays",
     rf"{among(f'(?:the )?{MUSIC}')}(?: (?:in|for|with) (?:(?:an?|the|our) (?:{WHICH})?{GROUP}|{NAME}))?"),
    ("sing", "sings", rf"(?:{MUSIC} )?in (?:an?|the|our) {GROUP}"),
    ("speak", "speaks",
     rf"{among(SPEECH)}(?: (?:at home|at work|with (?:my|our|the) {RELATIVES}|fluently|well)){{0,2}}"),
    ("eat", "eats", rf"(?:(?:no|any) )?{among(FOOD)}"),
    ("drink", "drinks", rf"(?:(?:no|any) )?{among(DRINK)}"),
    ("take", "takes", rf"(?:my|his|her) (?:coffee|tea|espresso) {CUP}"),
    ("have", "has", rf"(?:{FOLK}){CALLED}|(?:got )?{among(FOLK + '|no ' + FOLK)}|got (?:{FOLK}){CALLED}"),
    ("have", "has", r"(?:got )?" + among(rf"{ILLNESS}|an? {ALLERGEN} allergy")),
    ("have", "has", rf"(?:an? )?(?:{NAME} )?{DEGREE} in {SUBJECT}(?: from {NAME})?"),
    ("have", "has",
     rf"(?:{COUNT}|no) {ESTATE}(?: (?:{IN_PLACE}|by the (?:sea|lake|river)|in the (?:mountains|country)))?"),
    ("have", "has", rf"(?:an?|no) (?:{LOOK} )?(?:{VEHICLE}|{PRODUCT})"),
    ("have", "has", rf"been (?:{BEING}) ?{SINCE}|lived (?:{HOME}) ?{SINCE}"),
    ("have", "has", rf"worked {AT_WORK} {SINCE}|had {ILLNESS} {SINCE}"),
    ("own", "owns", rf"(?:{PAIR}) (?:{LOOK} )?(?:{VEHICLE}|{ESTATE}|{DEVICE}|{ANIMALS})(?: {IN_PLACE}|{CALLED})"),
    ("run", "runs", rf"(?:an?|the|our) {WHICH}(?:{WORKPLACE}|{ESTATE}){CALLED}(?: {IN_PLACE})?(?: {TOGETHER})?"),
    ("drive", "drives", rf"an? (?:{LOOK} )?(?:(?:{NAME} )?{VEHICLE}|{PRODUCT})(?: to work)?"),
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
    ("pay", "pays",
     rf"{MONEY}(?: (?:a|per) month)?(?: (?:in |of |for )?rent)?(?: (?:a|"
     rf"per) month)?(?: for {FLAT}(?: {IN_PLACE})?)?"),
    ("commute", "commutes", rf"by {RIDDEN}(?: to {TOWN})?|(?:from {TOWN} )?to {TOWN}(?: by {RIDDEN})?"),
    ("cycle", "cycles", r"(?:to work|everywhere|to school)"),
    ("rent", "rents", rf"{FLAT}(?: {IN_PLACE})?"),
    ("get up", "gets up", rf"(?:at|around|about|before) {TIME_OF_DAY}"),
    ("wake up", "wakes up", rf"at {TIME_OF_DAY}"),
    ("go to bed", "goes to bed", rf"(?:at|around|about|before|after) {TIME_OF_DAY}"),
    ("start work", "starts work", rf"at {TIME_OF_DAY}"),
    ("finish work", "finishes work", rf"at {TIME_OF_DAY}"),
    ("go", "goes", rf"{EXERCISE}|to an? {WHICH}{WORKPLACE}"),
    ("am", "is", rf"{BEING}(?: {SINCE})?"),
    ("am", "is", OLD),
    ("are", "", OLD),
    ("are", "is", rf"{BEING}(?: {SINCE})?(?:,? both of us)?"),
    ("can", "can", ABLE),
    ("can't", "can't", rf"{ABLE}|eat (?:anything with )?{among(FOOD)}|drink {among(DRINK)}"),
    ("cannot", "cannot", rf"{ABLE}|eat (?:anything with )?{among(FOOD)}|drink {among(DRINK)}"),
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
    ("retired", "retired", rf"{AT_THE_TIME}|{LATELY}"),
    ("retire", "retires", SOON),
    ("wrote", "wrote",
     r"(?:my|his|her) (?:thesis|dissertation|PhD|master's thesis) (?:on|about) [a-z]+(?:[ -][a-z]+){0,4}"),
    ("have", "has", r"an? (?:shared |home |small )?(?:office|studio|workshop|darkroom|home gym|spare room)"),
    ("have", "has", rf"been (?:working|freelancing|training|volunteering) as an? {JOB}"),
    ("have", "has", rf"a (?:phobia|fear) of {FEAR}"),
    ("write", "writes", rf"(?:everything |mostly |code |(?:my|our) [a-z-]+ )?in {among(PRODUCT)}|{GOODS}"),
    ("code", "codes", rf"in {among(PRODUCT)}"),
    ("get", "gets", among(ILLNESS)),
    ("suffer", "suffers", rf"from {among(ILLNESS)}"),
    ("take", "takes", rf"{among(REMEDY)}(?:,? {DOSE}(?: of {REMEDY})?)?|{DOSE} of {REMEDY}"),
    ("report", "reports", rf"to {NAME}"),
    ("manage", "manages",
     rf"(?:an?|the|our) (?:{WHICH}(?:{WORKPLACE}|{ESTATE})|team(?: of {NUMBER})?)(?: {IN_PLACE})?"),
    ("lead", "leads", rf"(?:an?|the|our) (?:[a-z]+ )?(?:team|department|project)(?: of {NUMBER})?"),
    ("share", "shares", rf"{FLAT}(?: {IN_PLACE})?(?: {TOGETHER})?"),
    ("own", "owns",
     rf"(?:an? |the )(?:{LOOK} )*(?:{VEHICLE}|{WORKPLACE}|{ESTATE}|{NAME})(?: {IN_PLACE})?(?: from \d{{4}})?"),
    ("rent out", "rents out", rf"(?:{FLAT}|our {ESTATE})(?: {IN_PLACE})?"),
    ("grow", "grows", among(GOODS)),
    ("sell", "sells", rf"{among(GOODS)}(?: (?:on|at) the market)?"),
    ("repair", "repairs", among(GOODS)),
    ("fix", "fixes", among(GOODS)),
    ("make", "makes", among(GOODS)),
    ("build", "builds", among(GOODS)),
    ("restore", "restores", rf"(?:old |antique )?{among(GOODS)}"),
    ("breed", "breeds", among(ANIMALS)),
    ("raise", "raises", among(ANIMALS)),
    ("coach", "coaches", rf"(?:an?|the|our|my son's|my daughter's) (?:{WHICH})?(?:{MUSIC} )?{GROUP}"),
    ("look after", "looks after", rf"(?:my|our|his|her|their) {THEIRS}(?:{RELATIVES}|{RELATIVE})"),
    ("serve", "serves", rf"in the {FORCE}"),
    ("work", "works", rf"in (?:an?|the) {WHICH}{WORKPLACE}|in {NUMBER}-week sprints|{TRADE} {AT_WORK}"),
    ("live", "lives", rf"(?:{HOME})(?: {IN_PLACE})?"),
    ("cook", "cooks", r"for the whole (?:week|family)"),
    ("cook", "cooks", WHEN + "(?: for the whole (?:week|family))?"),
    ("bake", "bakes", r"(?:my|our|his|her|their) own bread|bread|cakes"),
    ("brew", "brews", r"(?:my|our|his|her|their) own beer|beer|cider"),
    ("have", "has",
     r"(?:an?|no) (?:driving|driver's|pilot's|fishing|hunting|sailing|motorbike) licen[cs]e|a work permit"),
    ("have", "has", rf"got (?:{COUNT}) (?:{PERSONAL} )*(?:{RELATIVES}|{RELATIVE}s?){CALLED}"),
    ("have", "has", rf"(?:had )?the same (?:{TOLD_BY_NAME}|{DEVICE}|{VEHICLE}|job|flat) {SINCE}"),
    ("have", "has", rf"worked (?:as an? {JOB}|{AT_WORK})(?: {IN_PLACE})?(?: {SINCE}| all (?:my|his|her) life)"),
    ("have", "has", rf"(?:never )?been to {among(NAME)}"),
    ("have", "has",
     rf"{NUMBER} (?:kids|children|sons|daughters|grandchildren)(?: (?:from|with) (?:my|his|her) (?:first|second|"
     rf"ex|previous) ?"
     rf"(?:marriage|husband|wife)?)?|the (?:kids|children) every (?:other )?(?:week|weekend|{DAYS})"),
    ("love", "loves", rf"{HOBBY} (?:in|on|along|around) (?:the )?{NAME}"),
    ("hate", "hates", rf"(?:being late|small talk|loud music|surprises|heat|the heat|the cold|{HOBBY})"),
    ("wake", "wakes", rf"up at {TIME_OF_DAY}"),
    ("swim", "swims", rf"(?:{NUMBER} lengths |a kilometre |a mile )?(?:{WHEN})"),
    ("run", "runs", rf"(?:(?:half )?marathons|ultramarathons)|{NUMBER} (?:kilometres|miles|k)(?: {WHEN})?"),
    ("was", "was",
     rf"an? {JOB}(?: (?:{AT_WORK}|{IN_PLACE}))?{LONG_TIME}|adopted{THEN}|raised in {TOWN}(?: by (?:my|our) "
     rf"{RELATIVES})?"),
    ("was", "was", rf"diagnosed with {ILLNESS}{THEN}|named after (?:my|our|his|her) {RELATIVE}"),
    ("were", "were", rf"{JOB}s{LONG_TIME}"),
    ("lived", "lived", rf"{IN_PLACE}{LONG_TIME}{THEN}|abroad{LONG_TIME}"),
    ("worked", "worked", rf"(?:as an? {JOB}(?: {AT_WORK})?|{AT_WORK}){LONG_TIME}{THEN}"),
    ("served", "served", rf"in the {FORCE}{LONG_TIME}{THEN}"),
    ("fought", "fought", rf"in (?:{NAME}|the (?:{NAME} )?[Ww]ar)"),
    ("came", "came", rf"(?:here )?(?:to|from) {TOWN}(?: with (?:my|our) {RELATIVES})?{THEN}"),
    ("moved", "moved", rf"(?:here |back )?(?:from {TOWN})?(?: ?to {TOWN})?{THEN}"),
    ("emigrated", "emigrated", rf"(?:from {TOWN} )?to {TOWN}{THEN}"),
    ("lost", "lost", rf"(?:my|his|her|our) (?:(?:{RELATIVE}|{PET}){CALLED_SO}|job){THEN_SURE}"),
    ("broke", "broke", rf"(?:my|his|her) {BONE}{THEN_SURE}"),
    ("had", "had", rf"{SURGERY}{THEN}"),
    ("have", "has", rf"had (?:{SURGERY}|(?:an?|{NUMBER}) [a-z]+ (?:operations?|surgery|surgeries)){THEN}"),
    ("keep", "keeps", "kosher|halal"),
    ("have", "has", "never (?:smoked|drunk alcohol|learned to drive|had a driving licence)"),
    ("prefer", "prefers", rf"to be (?:contacted|called|addressed|reached) (?:by|as|on|via) [\w-]+(?: {NAME})?"),
    ("split up", "split up", THEN_SURE.lstrip()),
    ("split", "split", rf"up{THEN_SURE}"),
    ("separated", "separated", THEN_SURE[1:] if THEN_SURE.startswith(" ") else THEN_SURE),
    ("got", "got",
     rf"(?:divorced|engaged|married){THEN}(?: in (?:an?|the) (?:[a-z]+ ){{0,2}}(?:chapel|church|town hall|garden|"
     rf"castle|registry office))?"
     rf"(?: (?:near|in) {TOWN})?|(?:my|his|her) (?:[a-z]+ )?{DEGREE}(?: in {SUBJECT})?(?: (?:in|at|from) "
     rf"{TOWN})?{THEN}"),
    ("graduated", "graduated", rf"(?:in {SUBJECT})?(?: ?from {NAME})?{THEN}"),
    ("adopted", "adopted",
     rf"(?:{COUNT}) (?:{LOOK} |{NUMBER} )*(?:{ANIMALS}|girl|boy|baby|children)(?:{CALLED})(?: from {TOWN})?{THEN}"),
    ("inherited", "inherited",
     rf"(?:my|our|his|her|an?|the) (?:{RELATIVE}'s )?(?:old )?(?:{ESTATE}|{WORKPLACE}|{DWELLING}|{DEVICE}|"
     rf"{VEHICLE})"
     rf"(?: {IN_PLACE})?{THEN}"),
    ("sold", "sold",
     rf"(?:my|our|his|her|the) (?:old )?(?:{ESTATE}|{DWELLING}|{VEHICLE}|shop|company)(?: {IN_PLACE})?{THEN_SURE}"),
    ("opened", "opened", rf"an? {WHICH}(?:{WORKPLACE}|{ESTATE})(?: {IN_PLACE})?{THEN}"),
    ("founded", "founded", rf"(?:{NAME}|an? {WHICH}{WORKPLACE})(?: {IN_PLACE})?{THEN}"),
    ("started", "started",
     rf"(?:school|university|nursery|kindergarten|secondary school|an apprenticeship)(?: in {TOWN})?{THEN}"),
    ("started", "started", rf"learning (?:the )?(?:{MUSIC}|{LANGUAGE}){THEN}"),
    ("switched", "switched", rf"(?:from {NAME} )?to {NAME}{THEN}"),
    ("stopped", "stopped", rf"(?:smoking|drinking|eating meat){THEN}"),
    ("turned", "turned", rf"{AGE}{THEN}"),
    ("learned", "learned", rf"to {SKILL}{THEN}"),
    ("died", "died", THEN_SURE.lstrip()),
    ("call", "calls", rf"me {NAME}"),
    ("talk", "talks", "to me"),
    ("don't talk to", "doesn't talk to", "me"),
)  # fmt: skip
"""Statements about "I" and about "my sister": the verb form for each, and what may follow."""

THINGS = tuple(
    regex(shape)
    for shape in (
        rf"{BEAST} {OFTEN}(?:only |never |doesn't )?(?:eats?|drinks?) (?:{among(FOOD)}|{among(DRINK)})",
        rf"{BEAST} (?:gets|takes|needs) (?:{REMEDY}|tablets|drops|injections)(?: {WHEN})?",
        rf"{BEAST} (?:is (?:diabetic|deaf|blind|epileptic|lame|neutered|house-trained|"
        rf"allergic to {among(f'{ALLERGEN}|{FOOD}')}|(?:scared|afraid) of {FEAR}|"
        rf"{NUMBER} (?:years|months|weeks) old|{YEARS}|called {NAME})|has {among(ILLNESS)}|turns {AGE} in {MONTH})",
        rf"{TEAM} (?:uses|runs on|deploys to|builds with|writes) {among(PRODUCT)}"
        rf"(?: {PURPOSE}(?: and {PRODUCT} {PURPOSE})?)?",
        rf"(?:{MINE}|[Tt]he(?= car)) (?:{LOOK} )?{DEVICE} (?:is (?:an? )?(?:{LOOK} )?{PRODUCT}|runs {PRODUCT})",
        rf"{MINE} (?:new |old )?{OWN_PLACE} is (?:{IN_PLACE}|(?:in|on|at) (?:the )?{NAME}|"
        rf"on the (?:ground|top|[a-z]+(?:st|nd|rd|th)) floor|closed {WHEN})",
        rf"(?:{MINE}|[Tt]he) (?:new )?{NAMED} is (?:called|named) [\"“]?{NAME}[\"”]?",
        rf"{MINE} (?:{TOLD_BY_NAME} is|(?:{TOLD_BY_NAME}|{RELATIVE})(?: is (?:called|named)|'s name is)) "
        rf"(?:(?:Dr|Mr|Mrs|Ms|Prof|Professor)\.? )?{NAME}(?: (?:in|on) {NAME})?",
        rf"{ONE}'s (?:maiden |middle |last |first )?(?:name|surname) is {NAME}",
        rf"{ONE}'s (?:family|parents|mother|father|side) (?:is|are) (?:originally )?from {TOWN}",
        rf"{MINE} (?:new )?(?:hobby|hobbies|pastime) (?:is|are) "
        rf"{among(f'{HOBBY}|{MUSIC}|{MAKING} (?:[a-z]+ )?{GOODS}|{MAKING} {COLLECTED}')}",
        rf"{DAYS}s? (?:is|are) (?:my|our) days? off",
        rf"(?:We|I|{TEAM}) uses? {PRODUCT} {PURPOSE}(?:, {PRODUCT} {PURPOSE})*,? and {PRODUCT} {PURPOSE}",
        rf"{MINE} blood type is (?:A|B|AB|O)(?: (?:positive|negative))?",
        rf"{BEAST} is an? (?:{NUMBER}[- ]year[- ]old )?{ANIMALS}{CALLED}",
        rf"{MINE} (?:landlord|landlady|building|office|school|employer) (?:doesn't|does not) allow [a-z]+(?: [a-z]+)?",
        rf"(?:{MINE}|[Tt]he) (?:database|back-?end|front-?end|server|stack|website) (?:is|uses|runs on|"
        rf"is written in) {among(PRODUCT)}",
        rf"{MINE} (?:[a-z]+ )?hours are {among(DAYS + 's?')}(?:,? (?:from )?{TIME_OF_DAY} to {TIME_OF_DAY})?",
        rf"{MINE} favou?rite {FAVOURITE} is (?:the )?(?:{VALUED}|{NAME})",
        rf"(?:{MINE}|[Tt]he) {APPOINTMENT} (?:is|starts) (?:(?:at {TIME_OF_DAY}|{WHEN}|on {DAYS}s?) ?)+",
        rf"{MINE} (?:wedding )?anniversary is (?:on )?{DATE}|{MINE} wedding is (?:in {MONTH}(?: \d{{4}})?|on {DATE})",
        rf"{MINE} (?:main |biggest |first )?(?:customer|client|supplier|competitor)s? (?:is|are) "
        rf"(?:{NAMES}|an? {WHICH}{WORKPLACE}(?: {IN_PLACE})?)",
        rf"{MINE} (?:goal|plan|ambition) is to (?:open|run|learn|visit|become|write|finish|buy|build|sail|travel|"
        rf"climb) "
        r"(?:(?:an?|the|my|our|to) )?[a-z-]+(?: [a-z-]+){0,3}",
        rf"{MINE} (?:first|last|old|previous) job was (?:at|in|with|as) (?:{A_WORKPLACE}|an? {JOB})(?: {IN_PLACE})?",
        rf"(?:{MINE}|[Tt]he) (?:project|product|app|team) (?:I'm on|I work on|we're building|we work on) is called "
        rf"{NAME}",
        rf"(?:{MINE}|[Tt]he) (?:project |submission |next |final )?deadline is (?:on )?{DATE}",
        rf"{MINE} (?:rent|salary) is [€£$]?\d[\d.,]*(?: (?:euros|pounds|dollars))?(?: (?:a|per) month)?",
        rf"{MINE} commute (?:takes|is)(?: about| around)? {NUMBER} (?:minutes|hours)(?: by {RIDDEN})?",
        rf"(?:{MINE}|[Tt]he) {ROOM} has {FITTED}",
        rf"(?:[Pp]lease )?(?:[Aa]lways|[Nn]ever) (?:suggest|recommend|use|serve|schedule|book|offer) (?:me )?"
        rf"(?:{among(FOOD)}|{among(DRINK)}|anything (?:before|after) {TIME_OF_DAY}|metric units|"
        r"British spelling|American spelling|bullet points|emojis?|the metric system)(?: to me| for me)?(?:,? please)?",
    )
)
"""Complete statements about animals and things, and about what the user wants always or never."""
I_OR_MANY = regex(rf"(?:[Ii]|[Ww]e|{MANY})(?P<short>'m|'re|'ve)? {OFTEN}(?:never |(?P<not>don't |do not ))?")
ANOTHER = regex(rf"{ONE}(?P<short>'s)? {OFTEN}(?:never |(?P<not>doesn't |does not ))?")
OWNER = regex(rf"(?P<who>[Ii]|[Ww]e|{MANY}|{ONE}|{BEAST})(?:(?P<own>'s)|(?=['’] ?| ))")
LONG = {None: "", "'m": "am ", "'re": "are ", "'ve": "have ", "'s": "is "}
DENIED = frozenset(
    "eat drink smoke drive cook have own use speak wear celebrate observe play swim cycle".split()  # noqa: SIM905
)
"""Verbs whose denial is worth a record: someone who does not live in Porto may live anywhere."""
BARE = frozenset(("drink", "smoke", "drive", "swim", "cook", "commute"))
"""Verbs that may be denied without an object."""
MOST_JOINTS = 6
JOINT = regex(
    r"[,;]? (?:and|but|because|so|since|as|(?:before|after)(?= (?:I|we|my|our|he|she|they)\b)) |, (?:which|who|"
    r"where|even if|even when|even though|"
    r"that's why) |[;,] | [-–—] |: "
)
REASONS = frozenset((
    "because", "so", "since", "as", "before", "after", "which", "who", "where", "even if", "even when", "even though",
    "that's why",
))  # fmt: skip
"""Conjunctions of a reason, a consequence or an aside, which retract nothing."""
BEGINS = regex(
    r"(?:I|[Ww]e|[Hh]e|[Ss]he|[Ii]t|[Tt]hey|[Mm]y|[Oo]ur|[Tt]he|[Hh]is|[Hh]er|[Tt]heir|[Tt]hat's why|[Tt]here|[Tt]his|"
    r"[Ee]verybody|[Ee]veryone|[Nn]o need)\b"
)
"""Beginnings of a clause that continues the story."""
TURNS = regex(
    r"\b(?:or|nor|except|unless|if|whether|when|only|until|till|although|though|not any ?more|supposed|supposedly|"
    r"dreams?|"
    r"joke|kidding|lies?|lied|lying|true|real|really|false|wrong|seems?|seemed|feels?|felt|speak|were|would|wish|head|"
    r"mind|heart|soul|Pope|Queen|King|pope|queen|king|emperor|moon|unicorns?|pigs|dragons?|aliens?|else|rather|"
    r"instead|"
    r"so (?:she|he|they|to|it|my|i)|opposite|fictional?|character|novel|game(?! design)|story|"
    r"pretend\w*|imagin\w+|knows?|once|former|ex)\b",
    re.IGNORECASE,
)
"""Words that may reverse, limit or mock what precedes them, and words found only in stories."""
ASIDE_VERB = regex(
    r"^(?:I|[Ww]e|[Hh]e|[Ss]he|[Tt]hey|[Ii]t) [a-z]+ \w|'(?:s|m|re|ve|ll|d)\b|\b(?:is|are|am|was|has|have|had|do|"
    r"does|did|can|can't|will|must|need|love|like|eat|work|"
    r"live|want|go|"
    r"get|[a-z]{2,}(?:es|ed|ts|ks|ves|ls|rs|ns|ms|ys|n't))\b"
)
MORE_OF_IT = regex(
    rf"(?:(?!an? )(?:no(?= [a-z]+$)|mostly|mainly|usually|especially|about|both|wide|up|been|{NUMBER}) \w|{NAME}$)"
)
"""The beginning of a phrase that adds detail after a comma."""
LIMITS = regex(
    r"\b(?:joke|jokes|doubt|way|fool|kidding|idea|sense|theory|percent|or|not|never|when|if|only|half of)\b|%"
)
"""Words that retract or mock what precedes them."""
STATES = regex(r"[a-z]+ (?:is|are|was|were|makes?|keeps?) [a-z]")
"""The beginning of a clause about something else."""
GOES_ON = regex(
    r"(?:needs|has|wants|likes|loves|goes|uses|takes|works|lives|keeps|gets|comes|drives|runs|plays|makes|does|have|"
    r"need|want|like|love|hate|go|use|take|work|always|usually) (?:his|her|their|my|our|an?|the|to|in|at|"
    r"on|for|with|from) \w"
)
"""The beginning of a clause with the same subject."""
WAS = regex(
    r"(?:[Mm]y \w+(?: [A-Z]\w+)?|I|[Ww]e) (?:was|were|grew|studied|lived|worked|trained|moved|started|got|had|bought|"
    r"came|graduated|played|learned|learnt|served)\b"
)
SINCE_THEN = regex(
    r"^(?:since then|nowadays|these days|now|before that|after that|then|before then|later|also|sometimes),? "
)
CHANGES = regex(
    r"n't\b|\b(?:not|never|no longer|any ?more|used|quit|left|moved|moving|stopped|gave|sold|died|was|had|ended|"
    r"will|gone|going|over|former(?:ly)?|by|actually|changed?|lost)\b|'ll\b",
    re.IGNORECASE,
)
"""Words after a "but" that may end what precedes it."""
FRONTED = regex(
    rf"(?P<when>From (?:19|20)\d\d (?:to|until) (?:19|20)\d\d|When I was (?:{SMALL}|{OLD})|{NUMBER} years ago|"
    rf"[A-Z][a-z]+ years ago|Last {SEASON}|"
    rf"In (?:{MONTH} )?(?:19|20)\d\d|Since (?:{MONTH} )?(?:19|20)\d\d),? (?P<rest>.+)"
)
"""A time stated first."""
BETWEEN = regex(rf"(?P<who>{ONE}|{BEAST}|{MANY}),? who (?P<aside>[^,]+), (?P<rest>[^,]+)")
PRONOUN = regex(
    rf"(?P<pronoun>[Hh]e|[Ss]he|[Tt]hey|(?:[Hh]is|[Hh]er|[Tt]heir)(?= {THEIRS}(?:{RELATIVE}|{RELATIVES})\b))(?='| )"
)
SOMEBODY = regex(
    rf"\b(?:{RELATIVE}|{RELATIVES})s?\b|\b(?:to|with|for|by|after|and|than|married|like) {NAME}|"
    r"\ban? (?:man|woman|boy|girl|guy|baby|[a-z]+ (?:man|woman|boy|girl))\b"
)
"""A person other than the subject of a clause, whom a following pronoun may mean."""
HE = regex(
    r"\b(?:step|grand|god|great-)?(?:father|dad|brother|son|husband|boyfriend|fiancé|uncle|nephew|grandpa|landlord)"
    r"(?:-in-law)?\b"
)
SHE = regex(
    r"\b(?:step|grand|god|great-)?(?:mother|mum|mom|sister|daughter|wife|girlfriend|fiancée|aunt|niece|grandma|"
    r"landlady)"
    r"(?:-in-law)?\b"
)
LONGEST = 200
"""In characters; longer text is not a plain clause."""


@cache
def _tail(verb: str, column: int) -> re.Pattern[str] | None:
    """Return the pattern for what follows a verb; None for an unknown verb."""
    known = [row[2] for row in DOING if verb == row[column]]
    often = "" if verb in ("am", "is", "are") else AT  # nobody is vegan on Mondays
    return re.compile(rf" (?:{'|'.join(known)}){often}") if known else None


def is_plain_clause(text: str) -> bool:
    """Return whether every word of a clause is of a known kind, in a position where it is literal.

    >>> is_plain_clause("My wife teaches chemistry at a grammar school"), is_plain_clause("We have three cats")
    (True, True)
    >>> is_plain_clause("My wife teaches me a lesson"), is_plain_clause("I work in a zoo"), is_plain_clause("I have it")
    (False, False, False)
    """
    if len(text) > LONGEST:
        return False
    if any(thing.fullmatch(text) for thing in THINGS) or any(_says(one, text) for one in (I_OR_MANY, ANOTHER)):
        return True
    return _goes_on_plainly(text)


def apart(text: str, reads: Callable[[str], bool] = is_plain_clause, before: str = "") -> list[str]:
    """Split a sentence into plain clauses, each with its own subject; return the text unchanged if doubt remains.

    A reason, a consequence or an aside that is not understood is left out if it cannot reverse anything. "She"
    refers to the subject of the previous clause, unless that mentions somebody else.

    Args:
        text: The sentence.
        reads: Returns whether a clause is plain.
        before: The clause that was read before the sentence.

    >>> apart("I'm married and have twin boys"), apart("I have bread and butter")
    (["I'm married", 'I have twin boys'], ['I have bread and butter'])
    >>> apart("My wife is a nurse in Graz, so we eat late"), apart("I live in Graz, or so she says")
    (['My wife is a nurse in Graz'], ['I live in Graz, or so she says'])
    """
    said = _named(text, before)
    if begun := FRONTED.fullmatch(said):
        first, *more = _taken_apart(begun["rest"], reads, MOST_JOINTS) or [""]
        dated = f"{first} {begun['when'][:1].lower()}{begun['when'][1:]}"
        if first and reads(dated):
            return [dated, *more]
    return _taken_apart(said, reads, MOST_JOINTS) or [text]


def _taken_apart(text: str, reads: Callable[[str], bool], joints: int) -> list[str]:
    """Return the clauses of a text; empty if part of it may reverse the rest."""
    if reads(text):
        return [text]
    if between := BETWEEN.match(text):
        parts = [f"{between['who'].rstrip(',')} {rest}" for rest in (between["aside"], between["rest"])]
        read = [_taken_apart(one, reads, 0) for one in parts]
        return [*read[0], *read[1]] if read[1] and (read[0] or not TURNS.search(between["aside"])) else []
    for joint in reversed([*JOINT.finditer(text)][:joints]):
        left, right = text[: joint.start()], text[joint.end() :]
        if joint[0] == ", " and PREPOSITION.match(f" {right}") and reads(f"{left} {right}"):
            return [f"{left} {right}"]
        if reads(left):
            rest = next(filter(None, (_taken_apart(one, reads, 3) for one in _with_subject(left, right))), None)
            if rest is not None or _may_be_left_out(left, joint[0].strip(" ,;:—–-").lower(), right):
                return [left, *(rest or [])]
    for joint in [*JOINT.finditer(text)][:joints]:
        left, right = text[: joint.start()], text[joint.end() :]
        if (
            joint[0].strip(" ,") in ("and", "but", ";")
            and BEGINS.match(left)
            and not TURNS.search(left)
            and " used to " not in left
        ):
            own = right[:1].upper() + right[1:]
            if OWNER.match(own) and (rest := _taken_apart(own, reads, 3)):
                return rest
    return []


def _with_subject(left: str, right: str) -> Iterator[str]:
    """Yield possible readings of what follows a clause: unchanged, with that clause's subject, or for a pronoun."""
    own = SINCE_THEN.sub("", right)
    yield own[:1].upper() + own[1:]
    who = OWNER.match(left)
    if who is not None:
        yield f"{who['who'].rstrip(',')} {right}"
        if being := re.match(r"'m|'re|'s| am| are| is", left[who.end("who") :]):
            yield f"{who['who'].rstrip(',')}{being[0]} {right}"
    if (named := _named(right, left)) != right:
        yield named


def _named(text: str, before: str) -> str:
    """Return a clause with its pronoun replaced by the subject of the previous clause, if unambiguous."""
    spoken, who = PRONOUN.match(text), OWNER.match(before)
    if spoken is None or who is None or who["own"] or who["who"].lower() in ("i", "we"):
        return text
    others = SOMEBODY.search(before, who.end())
    many = re.fullmatch(MANY, who["who"]) is not None
    sexes = [one for one, kin in (("he", HE), ("she", SHE)) if kin.search(who["who"])]
    pronoun = {"his": "he", "her": "she", "their": "they"}.get(spoken["pronoun"].lower(), spoken["pronoun"].lower())
    fits = many if pronoun == "they" else not many and (not sexes or pronoun in sexes)
    owned = "" if pronoun == spoken["pronoun"].lower() else "'s"
    rest = re.sub(r"^'s(?= (?!got|been|had|lived|worked))", " is", text[spoken.end() :])
    return f"{who['who'].rstrip(',')}{owned}{rest}" if fits and not others else text


def _may_be_left_out(left: str, joint: str, right: str) -> bool:
    """Return whether the text not understood after a clause merely continues it."""
    if not joint and MORE_OF_IT.match(right):
        return not LIMITS.search(right)
    if TURNS.search(right) or len(right.split()) < 2:
        return False
    if joint in REASONS:
        told = (
            BEGINS.match(right)
            or STATES.match(right)
            or right.startswith("of ")
            or joint in ("which", "who", "where", "that's why")
        )
        return bool(told) and not re.search(r"n't\b|\b(?:not|never|no)\b", left)
    if joint == "but" and WAS.match(left) and BEGINS.match(right) and not re.search(r"n't\b|\b(?:not|never)\b", right):
        return True  # a consequence does not undo the past
    if joint == "but":
        return BEGINS.match(right) is not None and not CHANGES.search(right)
    if joint == "and" and GOES_ON.match(right):
        return True
    begins = BEGINS.match(right) or (not joint and STATES.match(right[:1].lower() + right[1:]))
    return bool(begins) and ASIDE_VERB.search(right) is not None


def _says(subject: re.Pattern[str], text: str) -> bool:
    """Return whether a clause has this subject, followed by a verb and its complements."""
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


# Clauses of open words: a plain clause that continues, a thing with a regular day, a verb rarely used figuratively.

ODD = frozenset(
    """adulting again ages agony air alas alive allegedly almost already also amen angel angels angry another any
    anything apart apparently as ass attic attitude audience away awe awesome axe back bacon bad bananas bang
    barely bars basically bat battle batty beans beast because bed beef been bees believing belt berserk best
    better bill billion billions bills bits blame blast blaze blind blood blue bomb bones bonkers bonnet books boot
    bored bottom boy brain brains breath brick brink broke bubble bucket bull bullet bullets bullshit bush business
    busy but butter butterflies cake camps candle card cards castles chaos chip chips circle circles circus clever
    cloud clouds clown clowns clue cold comfort concept concern concerns constant control couch cow crap crazy
    crossfire crossroads crown crush cuckoo cup damn dance dark dead deal death debt demon demons denial depth
    destiny devil diamonds dinosaur dirt disaster disguise dishes doghouse doom doormat doubt dragon dragons drain
    drama dramas dream dreams dumb dumps dust ear ears earth edge egg eggs eggshells else embers enemies enemy
    eternity even ever every everybody everyone everything example excuse excuses exile expectations eye eyes face
    failure fairy false fame fate fault fear feelings feet fence fiction fight figment finger fingers fire fish
    flag flame flames flop flow flux fog fool foot force forever fortune frog fuck fucking full fun funny fury
    ghost ghosts giant girl glory goat god goddess gods gold good gossip grass grave great grief grind grudge guts
    habit hair happy hard hardly harmony hat hate hay haze head heart hearts heaven hell her here hero high him hip
    hole honestly honeymoon hook hope horror horse hot hotels hour hours how however hundreds hurricane hype ice
    idea ideas idiots if ignorance ill imagination impatient innocence insane instead isolation it its itself jack
    jail jeans joke joy judgment juice jungle just kidding kind king kingdom knots ladder lap late laundry legend
    leggings legs less lesson lessons lid lie lies life light like limbo limit line lions literally log lonely loop
    loose lost lots lottery love lovely luck lucky lungs luxury mad madness magic maker man many map marbles mars
    martyr mask masks mate matter maybe me meaning memory mental mercy mess metaphorically mile miles million
    millions mind minute minutes miracle mirror miserable misery mistakes moment monkey monster monsters mood moods
    moon more most mostly mountains mouth mud myself nails nap nearly nerve nerves never nightmare no nobody none
    nonsense noodles nor nose not nothing nowhere nuts oblivion obviously ocean off opinion opinions or ours over
    overdrive own pain pajamas panic paper paperwork paradise parking part past patch patience peace peak pennies
    pieces pig pigs pit pity places planet plate plates point pot practically presence pressure pretend pride
    prince princess principle prison procrastination promises punch pyjamas queen quite rage rags rails rainbow rat
    rather real reality really rebel regret regrets relationship rescue revenge right riot road rock rocks roof
    rope ropes rubbish rule rules rumors rumours rush sack sad saint saints sanity sarcasm scam scared scenes
    screaming screws seconds secret seems self sense sentiment shadow shadows shambles shame shark sharks sheep
    shell shirt shit shoes shorts shoulder shoulders show sick sieve sight silence sin sins skeleton skies skin sky
    slave sleep slippers smart smell smile smoke snake so sofa somebody somehow someone something song sorrow sort
    soul soup space spell spirit spirits spite sponge spot squalor stake star stars stench stick storm story stress
    strings stupid style success suffering sugar suitcases sun supposedly sure sweat sweatpants sword sympathy tail
    tails tank tatters tears technically teeth temper than that theirs them theory there these they thin thing
    things this those though thousand thousands thread throat throne through tide tiger till tired toast today toes
    tomb tongue tonight too toothache tornado towel tower track traffic trance transit trap trash treasure trenches
    trial trouble trousers true truth tune twilight ugly unicorn unicorns universe until used vain vampire
    vegetables veins verge victim view views visions void volcano wall walls war warpath wars water waters wave
    waves way ways weapon weather web weight weird werewolf what whatever wheel wheels when where whether which
    while whiskers who whole whose why wild wind wings winner witch wits wizard wolf wolves wonder wonderland word
    words world worlds worries worry worst wreck wrong yeah yesterday yet yonks you your zillion zombie zombies
    zoo""".split()  # noqa: SIM905
)
"""Figurative, emotional and referring words, none of which may occur in a clause of open words."""
REGULAR = (
    rf"(?:every (?:(?:other|single|{NUMBER_TH}|few) )?(?:day|week|month|year|morning|evening|afternoon|night|weekend|"
    rf"summer|winter|spring|autumn|Christmas|Easter|{MONTH}|{DAYS})|on (?:{DAYS}s|{DAYS} (?:morning|evening|afternoon|"
    rf"night)s|weekdays)(?: and {DAYS}s)?|on (?:{DAYS}s?|{DAYS}s?,? {DAYS}s?) and {DAYS}s?(?: (?:morning|evening|"
    rf"afternoon|night)s)?|(?:once|twice|{NUMBER} times|{NUMBER} (?:days|evenings|mornings|nights)) a "
    rf"(?:week|month|year))"
)
"""How often, by the calendar."""
OPEN_WORD = regex(rf"(?:[a-z]+(?:[-'][a-z]+)*'?|\d[\d.,]*|{PROPER}(?:'s)?)")
NO_NAMES = regex(rf"\b{NO_NAME}\b")
SOMEONE = rf"(?:[Ii]|[Ww]e|{MANY}|{ONE})"
SOMETHING = rf"(?:{MINE}|[Tt]he) (?!birthday|ex\b)[a-z]+(?:[-' ][a-z]+){{0,4}}?"
KEPT_DAY = regex(
    rf"{SOMETHING} (?:is|are|takes? place) {REGULAR}(?:,? (?:at|from) {TIME_OF_DAY})?(?: (?:in|at) (?:the|our|"
    rf"my) [a-z]+"
    r"(?: [a-z]+)?)?"
)


OWN_WAY = regex(rf"\bthe night$|\b(?:my|our) {UP}|\b(?:my|your|his|her|our|their) (?:own )?(?:way|rules|best)\b")
MOST_OPEN = 10
"""Words after an everyday verb; more make it a story."""
PASSING = regex(
    r"\b(?:meeting|call|appointment|interview|question|problem|issue|trouble|date|lunch|dinner|breakfast|drink|coffee|"
    r"flight|ticket|message|email|letter|deadline|exam|test|errand|errands|late|time|news|cold|headache)s?\b"
)
"""Things that somebody has for a day or an hour."""
PREPOSITION = regex(
    r" (?:when (?:I|we|it|the weather)|that (?:my|our|I|we)|in|at|with|for|from|near|about|around|outside|between|"
    r"behind|along|during|on|to(?= (?:the|my|our|an?|[a-z]+s)\b))"
    r" (?=\w)"
)
TAKES_MORE = regex(
    rf"{SOMEONE}(?:'m|'s| am| is| are) (?:an? {JOB}|(?:the )?head of)|{SOMEONE} {OFTEN}(?:teach(?:es)?|stud(?:y|"
    rf"ies)|play|sing|have|has|run|own|grow|sell|write|use|make|repair|build|restore|"
    r"collect|coach|volunteer|bake|studied|worked|lived|speak|swim|cycle|keep|get|eat|drink|wear|suffer)s?"
)
"""Verbs that may be followed by plain words on whom, where and about what."""


def _is_open(words: str) -> bool:
    """Return whether all words are plain and none is figurative."""
    return all(OPEN_WORD.fullmatch(word) and word.lower().removesuffix("'s") not in ODD for word in words.split())


LITERAL = regex(
    rf"{MINE} (?:(?:new|current|next) )?(?:project|product|start-?up|app|thesis|dissertation|book|novel|business|"
    rf"company|job) "
    r"(?:is an?|is about|makes|sells|deals with|involves)(?= )|"
    rf"{SOMEONE} {OFTEN}(?:only )?(?:translate|coach|restore|repair|knit|sew|brew|breed|attend|rent|wear|manage|"
    rf"volunteer|edit|"
    r"design|develop|supervise|mentor|represent|import|export|treat|research|illustrate|organi[sz]e|"
    r"co-own|share|commute|compose|administer|chair|babysit|garden|forage|hike|"
    r"bake|cook|sew|weld|carve|crochet|ferment|subscribe to|belong to|am enrolled in|"
    r"is enrolled in|is studying|(?:named(?= .* after )|adopted|fostered|renovated|rented|studied|trained|"
    r"apprenticed|qualified|"
    r"emigrated|co-founded|translated|inherited|did (?:my|his|her) [a-z]+(?: service)? (?:in|at|with)|"
    r"(?:was|were) (?:raised|brought up)(?= (?:by (?:my|our|his|her|an?)|in|on)\b)|grew up(?= (?:in|on|near|"
    r"with) (?:an?|my|our|his|her)\b)|moved here|moved in|started (?:my|our|his|her)(?: own)?(?= (?:company|"
    r"business|shop|studio|practice|firm|course|degree|blog|podcast|restaurant|café)\b)|"
    r"got into (?:[a-z]+ )?(?:school|college|university)|majored in|minored in|taught (?:me|us|my|himself|herself)))"
    r"(?:s|es)?(?= )|"
    rf"{SOMEONE}'(?:m|re|s) (?:also )?(?:taking(?= (?:an? )?(?:[a-z]+ )?(?:class|classes|lessons|course|courses)\b)|"
    rf"writing|building|restoring|renovating|learning|studying|researching|"
    rf"developing|translating) (?=an? |my |our |the |his |her |their |[a-z]+ (?:classes|lessons))"
)
"""Verbs that are rarely used figuratively."""


def _goes_on_plainly(text: str) -> bool:
    """Return whether a plain clause is followed by where, with whom, for whom or about what, in plain words."""
    for joint in PREPOSITION.finditer(text):
        begun, rest = text[: joint.start()], text[joint.end() :]
        if not TAKES_MORE.match(begun) or not _is_open(rest) or NO_NAMES.search(rest):
            continue
        if any(_says(one, begun) for one in (I_OR_MANY, ANOTHER)):
            return True
    if KEPT_DAY.fullmatch(text) and _is_open(text):
        return True
    literal = LITERAL.match(text)
    rest = text[literal.end() :] if literal else ""
    plain = 0 < len(rest.split()) <= MOST_OPEN and _is_open(rest) and not NO_NAMES.search(rest)
    return plain and not PASSING.search(rest) and not OWN_WAY.search(rest)
