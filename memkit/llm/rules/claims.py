"""Read statements that are worth remembering: what they are about, so that questions find them again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from memkit.runtime.memory.words.text import regex
from memkit.runtime.memory.words.wording import hedged_wording, transient_wording

# What a statement says of whom: the patterns that statements and the questions about them have in common.

# ruff: noqa: SIM905 (lists of words read better as text)


ADVERBS = (
    r"(?:(?:really|just|still|also|usually|always|mostly|now|currently|actually|already|both|recently|originally|"
    r"basically|definitely|absolutely|only|never|often|sometimes|probably) ){0,3}"
)
NOUNS = (
    r"(?:(?:my|our|the|his|her|their|its|this|that|an?|your) )?[^\W_][\w'.&/+#@-]{0,40}(?: [\w'.&/+#@-]{1,40}){0,5}?"
)
"""A few words that may name somebody or something, as few as the rest of the pattern lets them be."""
WHO = rf"(?P<s>{NOUNS})"
IS = r"(?: is| are| was| were| am|'s|'m|'re)"
NAMES = r"(?-i:[A-Z][\w'-]{0,30}(?:(?:,? and|,)? [A-Z][\w'-]{0,30}){0,5})"
VALUE = r"(?P<v>\S.{0,400})"
AGE = (
    r"(?P<v>\d{1,3}(?: ?(?:years?|yrs?|y/?o|months?)(?: old)?)?"
    r"(?: (?:in|on|next|this|today|tomorrow|now|soon)\b.{0,40})?)"
)
TIME = (
    r"(?P<v>(?:(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|noon|midnight|tomorrow|next \w+|\d{1,2}(?::\d\d|"
    r" ?[ap]\.?m\b| o'clock|(?:st|nd|rd|th)\b)|(?:19|20)\d\d-|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*"
    r"(?: \d|$)).{0,60})"
)
SINGLE = (
    r"(?:(?:mobile|cell|smart|work|phone|car|company|home|e-?mail)[ -]?)?(?:phone|laptop|computer|pc|tablet|watch|"
    r"camera|car|bike|job|boss|manager|landlord|doctor|dentist|address|flat|apartment|house|number|e-?mail|employer|"
    r"bank)"
)
"""What people have one of, so that a new one takes the place of the old."""
LIKES = (
    r"(?:prefer|like|love|enjoy|hate|dislike|adore|detest|loathe|can't stand|cannot stand|do not like|don't like|"
    r"doesn't like|does not like|do not enjoy|don't enjoy|doesn't enjoy|don't mind|am fond of|'m fond of|"
    r"am (?:not )?(?:really )?into|'m (?:not )?(?:really )?into|am a (?:big )?fan of|'m a (?:big )?fan of)(?:s|es)?"
)

PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (relation, regex(pattern, re.IGNORECASE))
    for relation, pattern in (
        ("name", rf"^(?P<s>my|our)(?: real| first| full| nick)? ?(?:name|nickname){IS}(?: now)?(?: called)? {VALUE}$"),
        ("name", rf"^{WHO}'s? (?:name|nickname){IS}(?: now)?(?: called)? {VALUE}$"),
        ("name", rf"^the name of {WHO}{IS}(?: now)? {VALUE}$"),
        ("name", rf"^{WHO}{IS}(?: now)? (?:called|named|known as) {VALUE}$"),
        (
            "name",
            rf"^(?:(?:you can|you may|you should|just|please|people|friends|everybody|"
            rf"everyone) ){{0,2}}calls? (?P<s>me) (?!back\b|later\b|when\b|tomorrow\b|on\b){VALUE}$",
        ),
        ("name", rf"^(?:i|we)(?: have|'ve got| own| got) an? (?P<mine>[\w -]{{1,30}}?) (?:called|named) {VALUE}$"),
        (
            "name",
            r"^(?:i|we)(?: have|'ve got| own| got) (?:an?|two|three|four|five|\d) (?P<mine>[\w-]{1,30}(?: "
            r"[\w-]{1,20})?),"
            rf" (?P<v>{NAMES})(?:[,.] .{{1,200}})?$",
        ),
        ("name", rf"^(?:the |my )name(?P<s>)(?: is|'s) {VALUE}$"),
        ("name", rf"^(?P<s>i) go by {VALUE}$"),
        (
            "is",
            rf"^(?:i|we)(?:'ve| have)?(?: just| finally)? (?:got|bought|purchased|ordered|have|picked up|switched to)"
            rf"(?: myself)? (?:an?|my|our) new (?P<mine>{SINGLE})(?:[,:;]| -| and)?(?: (?:it|he|she)(?:'s| is)|"
            rf" which is| called| from)?(?: an?| the)? (?P<v>\S.{{0,80}})$",
        ),
        (
            "place",
            rf"^(?!(?:i|we|he|she|they)\b){WHO}(?:{IS}| has been| got)? (?:moved|shifted|pushed|postponed|rescheduled)"
            rf"(?: back| forward)?(?: from \S.{{0,40}}?)? (?:to|until|till) {TIME}$",
        ),
        ("origin", rf"^{WHO}(?:{IS}| comes?| came) {ADVERBS}from {VALUE}$"),
        ("birthday", rf"^(?P<s>my|our){IS}? ?(?:birthday|bday|date of birth){IS}(?: on| in)? {VALUE}$"),
        ("birthday", rf"^{WHO}'s? (?:birthday|bday|date of birth){IS}(?: on| in)? {VALUE}$"),
        ("birthday", rf"^{WHO} (?:was|were|am|is) born (?:on|in) (?P<v>(?=.{{0,30}}\d)\S.{{0,60}})$"),
        ("age", rf"^{WHO}(?:{IS}| turned| turns| will be| will turn|'ll be|'ll turn)(?: just)? {AGE}$"),
        (
            "home",
            rf"^{WHO} {ADVERBS}(?:lives?|lived|resides?|(?:is|am|are|was) (?:now )?(?:based|living)) {ADVERBS}"
            rf"(?:in|at|near|on|with) {VALUE}$",
        ),
        ("home", rf"^{WHO}(?:'m|'re) {ADVERBS}(?:based|living) (?:in|at|near|on|with) {VALUE}$"),
        (
            "home",
            rf"^{WHO}(?: have| has|'ve|'s)? {ADVERBS}(?:moved|relocated|am moving|is moving)"
            rf"(?: from \S.{{0,40}}?)?(?: back| over)? (?:to|into) {VALUE}$",
        ),
        ("home", rf"^(?P<s>my|our) (?:home|address|city|town|home town){IS}(?: now)?(?: in| at)? {VALUE}$"),
        ("home", rf"^{WHO}'s? (?:home|address|city|town|home town){IS}(?: now)?(?: in| at)? {VALUE}$"),
        ("work", rf"^{WHO} {ADVERBS}(?:works?|worked) (?:as|at|for|in|with) {VALUE}$"),
        ("work", rf"^{WHO}{IS} {ADVERBS}(?:working|employed) (?:as|at|for|in|with|by) {VALUE}$"),
        ("work", rf"^(?P<s>my|our) (?:job|profession|occupation|employer){IS}(?: now)? {VALUE}$"),
        (
            "work",
            rf"^{WHO} {ADVERBS}(?:started (?:working )?(?:at|for)|(?:got|have|took) a (?:new )?job (?:at|as|in|"
            rf"with)) {VALUE}$",
        ),
        ("taste", rf"^{WHO} ?{ADVERBS}(?:would |'d |do |does )?{ADVERBS}(?P<verb>{LIKES}) {VALUE}$"),
        (
            "place",
            rf"^{WHO}{IS} {ADVERBS}(?:located |hosted |running |stored |kept |parked |reachable )?(?:at|in|on|"
            rf"under|behind|inside|next to) {VALUE}$",
        ),
        ("is", rf"^{WHO}{IS} {VALUE}$"),
    )
)
"""Relation → how a statement of it reads; the first that matches names it."""

ONE_VALUE = frozenset({"name", "origin", "birthday", "age", "home", "work", "place", "is"})
"""Relations of which one holds at a time."""
WORDS = {
    "name": "name called call",
    "origin": "from come",
    "birthday": "birthday born",
    "age": "old years turns turned",
    "home": "live moved home address based",
    "work": "work job working employed",
    "taste": "prefer like love enjoy hate",
    "place": "",
    "is": "",
    "": "",
}
"""The words by which a record of each relation is found."""
SELF = frozenset({"i", "we", "me", "my", "our", "us", "myself"})
ADJECTIVES = frozenset(
    """german french spanish italian english british american canadian mexican brazilian portuguese dutch belgian swiss
    austrian polish czech danish swedish norwegian finnish russian ukrainian turkish greek irish scottish welsh indian
    chinese japanese korean vietnamese thai australian african asian european catholic christian protestant muslim
    jewish hindu buddhist vegan vegetarian republican democrat gen""".split()
)
"""Written with a capital, and no names."""
ENDED = regex(r"\bno longer |\bnot (?=\w+ing\b)| any ?more\b|\b(?:don't|do not) (?=(?:live|work)\b)", re.IGNORECASE)
"""What a statement says that ended is about the same as before it ended."""
PAST = regex(r"\b(?:used to|formerly|once|previously)\b", re.IGNORECASE)
TIMED = regex(r"^(?:since|from|as of|starting|until) .{1,30}?,? (?=(?:I|we|my|our)\b)", re.IGNORECASE)
NOW = regex(r"\s+(?:now|instead)$", re.IGNORECASE)
INTRODUCTION = regex(r"(?:I am|I'm|This is) (?P<v>[A-Z][\w'-]{1,30}(?: [A-Z][\w'-]{1,30})?)(?: here)?")


class Slot(NamedTuple):
    """What a statement is about, and what it says of it."""

    subject: str
    """``i`` for the user, else the words that name it, in lower case."""
    relation: str
    value: str

    def same(self, other: Slot) -> bool:
        """Return whether two statements fill the same place, of which only one can hold."""
        named = {self.relation, other.relation} == {"name", "is"} and self.subject.startswith("my ")
        alike = self.relation == other.relation and self.relation in ONE_VALUE
        # One may be many things at once, but one's city is one.
        return self._of == other._of and (named or (alike and (self.subject, self.relation) != ("i", "is")))

    @property
    def _of(self) -> str:
        """Return whom or what it is about, the same for "my new colour" and "the color"."""
        return re.sub(r"ou(?=r)", "o", re.sub(r"^my (?:new |current )?(?=\w)", "", self.subject))


def slot_of(text: str) -> Slot | None:
    """Return the slot that a statement fills, or None for one that no pattern knows.

    >>> slot_of("My dog is called Rex.")
    Slot(subject='my dog', relation='name', value='Rex')
    """
    if PAST.search(text):
        return None
    read = ENDED.sub("", TIMED.sub("", text.strip().rstrip(".!")))
    introduced = INTRODUCTION.fullmatch(read)
    if introduced and introduced["v"].lower() not in ADJECTIVES and not introduced["v"].isupper():
        return Slot("i", "name", introduced["v"])
    for relation, pattern in PATTERNS:
        if match := pattern.match(read):
            owned = match.groupdict().get("mine")
            subject = f"my {owned.lower()}" if owned else subject_of(match["s"] or "i")
            return Slot(subject, relation, NOW.sub("", re.sub(r"^now (?=\S)", "", match["v"].strip())))
    return None


def subject_of(words: str) -> str:
    """Return what some words name, the same for "the staging server" and "our staging server".

    >>> subject_of("Our staging server"), subject_of("we"), subject_of("my dog's")
    ('my staging server', 'i', 'my dog')
    """
    name = re.sub(r"'s?$", "", " ".join(words.lower().split()))
    name = re.sub(r"^our ", "my ", re.sub(r"^(?:the|a|an|this|that) ", "", name))
    return "i" if name in SELF else name


# ruff: noqa: SIM905 (lists of words read better as text)


CORRECTION = regex(
    r"^(?:(?:actually|no|nope|nah|correction|wait|sorry|oh|well|oops|i meant(?: to say)?|i mean|in fact|"
    r"not any ?more|update|"
    r"(?:no,? )?(?:that(?:'s| is| was)|you(?:'re| are)) (?:wrong|not right|not true|incorrect|mistaken|outdated|"
    r"old)|not quite|wrong|my mistake|"
    r"my bad|scratch that)(?![\w'])[\s,;:.!-]*){1,4}",
    re.IGNORECASE,
)
REMEMBER = regex(
    r"^(?:(?:please|and|also|can you|could you|would you|will you|i want you to|i'd like you to) ){0,3}"
    r"(?:remember|note(?: down)?|keep in mind|make a note|write down|take note|(?:save|store)(?=:| (?:that|this|the "
    r"fact|my|our|i|i'm|we)\b| the .{1,80}?(?:\b(?:is|are)\b|[:=\d]))|don't forget|"
    r"do not forget|memori[sz]e)"
    r"(?! to\b|,? (?:what|where|when|who|whose|which|how|why|if|whether|me|anything|everything|things)\b)"
    r"(?: that| this| the fact that)?[\s,:]+",
    re.IGNORECASE,
)
SET = regex(
    r"^(?:please )?(?:change|update|set|correct) (?P<s>(?:my|our|the) [\w' -]{1,40}?) (?:to|as|=) (?P<v>.{1,200})$",
    re.IGNORECASE,
)
JOINED = regex(
    r"(?:,?\s+(?:and|but|so|plus)\s+|,\s+|\s+[-–—]\s+)(?=(?:I|I'm|I've|I'd|my|our|we|we're)\s)", re.IGNORECASE
)
CHANGED = regex(
    r"\b(?:moved|relocated|no longer|any ?more|instead|now|changed|switched|used to|new|renamed)\b", re.IGNORECASE
)
LEAVING = regex(
    r"^(?:i|we)(?: have to| need to| must| should| got to|'m going to|'ve got to)\b.{0,60}\b(?:right )?now$",
    re.IGNORECASE,
)
"""What is to be done at once is no goal to keep."""
GOAL = regex(
    r"^(?:please )?(?:(?:to-?do|note to self|reminder|task)\s*:|remind me (?:[\w:.'-]+ ){0,5}?(?:to|about|of|"
    r"that)\b|(?:don't|"
    r"do not) (?:let me )?forget to|"
    r"(?:i|we) (?:really |still |also )?(?:need|have|has|want|plan|hope|intend|aim|promised|must|should|got|"
    r"am going|agreed|committed)\b"
    r"|(?:remember|make sure|be sure) to\b"
    r"|(?:i'm|i am|we're|we are) (?:going|trying|planning|hoping) to\b|(?:i'll|we'll|i will|we will|i've got to|"
    r"i gotta)\b"
    r"|(?:my|our) (?:\w+ )?(?:goal|aim|deadline|plan)\b)",
    re.IGNORECASE,
)
DONE = regex(
    r"^(?:(?:i|we)(?:'m|'ve|'re| am| are| have)? ?)?(?:(?:already|just|finally|now) ){0,2}"
    r"(?:done(?: with)?|finished(?: with)?|completed|did) (?P<what>.{1,200})$"
    r"|^(?P<it>[\w' -]{2,80}?) (?:is|are|was|has been|have been) (?:(?:now|all|finally) ){0,2}"
    r"(?:done|finished|completed?|filed|paid|sent|booked|shipped|delivered|renewed|returned|submitted|ordered|signed|"
    r"fixed|merged|released|deployed|published|bought|written)(?:,? (?:too|as well|now|already|by now))?$",
    re.IGNORECASE,
)
DID = regex(
    r"^(?:(?:i|we)(?:'ve| have)? )?(?:(?:already|just|finally) ){0,2}"
    r"(?P<what>(?:\w{1,20}(?:ed|ent|aid|ote|old|ook|ought|ade)|got|met|put|cut|read) .{1,200})$",
    re.IGNORECASE,
)
"""What somebody did may have been a goal; then two of its words are the goal's."""
DROPPED = regex(
    r"^(?:i|we) (?:don't|do not|no longer) (?:need|have|want|plan) to (?P<what>.{1,200}?)(?: any ?more)?$"
    r"|^(?:i|we)(?:'ve| have)? (?:just |finally )?(?:gave up on|given up on|abandoned|"
    r"changed my mind about) (?P<left>.{1,200})$"
    r"|^(?:cancel|drop|never mind|forget) (?:(?:the |my )?(?:goal|plan|task|reminder|todo)(?: to| of| about)? )?"
    r"(?P<other>.{1,200})$",
    re.IGNORECASE,
)
BECAME = regex(r"(?:i|we)(?:'m|'re| am| are) (?:an?|the|my|our) \S.{0,200}? now", re.IGNORECASE)
"""What is so from now on is more than a state of the moment."""
LASTING_NOW = regex(
    r"(?:i|we) (?:only |mostly |usually )?(?:weigh|drink|eat|drive|ride|use|study|teach|own|wear|smoke|speak|earn|pay|"
    r"collect|practi[sc]e|play|take|avoid) \S.{0,200} now",
    re.IGNORECASE,
)
"""A habit or a measure that is new, and no moment."""
ACQUIRED = regex(
    r"^(?:i|we)(?:'ve| have)?(?: just| finally)? (?:got|bought|purchased|adopted) (?:an?|two|three|my|our) "
    r"(?:(?:new|first|used|second-hand|own) )*(?P<what>[\w-]+)",
    re.IGNORECASE,
)
"""What somebody has by now, of which they may have said that they had none."""
LACKED = regex(r"^(?:i|we) (?:(?:don't|do not|never) (?:have|own|had|owned)|have no|own no)\b", re.IGNORECASE)
SHORTENED = regex(
    r"^(?:i|we|he|she|they|my \w+)(?:'m|'re| am| is| are| do| does| did| have| has| can| will)(?: not|n't)?"
    r"(?:,? (?:either|too|though))?\W*$|^(?:i'm|i am|we're) not\W*$",
    re.IGNORECASE,
)
"""A clause that says something only with the one before: "Mia is vegan, I'm not"."""
ORDER = regex(
    r"^(?:please )?(?:e-?mail|mail|text|phone|ping|buy|order|book|cancel|check|open|close|print|delete|remove|add|put|"
    r"create|draft|schedule|start|stop|find|search|upload|download|install|restart|reboot|invite|share|post|forward|"
    r"translate|calculate|turn|copy|clean|wash|bring|pick)\s+(?:[\w.@-]+\s+)?(?:the|an?|my|our|his|her|their|this|that|"
    r"these|those|all|some|it|him|them|me|us)\b",
    re.IGNORECASE,
)
"""What somebody is told to do states nothing."""
DATED = regex(r"\b(?:yesterday|tomorrow|this (?:coming )?weekend|next \w+)\b", re.IGNORECASE)
"""What happened or lies ahead is worth a note, as the present moment is not."""
PASSING = regex(
    r"^(?:i'm|i am|we're|we are|it's|it is|i feel|i'm feeling)(?: (?:so|very|really|a bit|just|not|pretty|"
    r"kind of|too)){0,2} "
    r"(?:tired|hungry|bored|happy|sad|sick|busy|back|here|ready|done|ok|okay|fine|good|great|sure|sorry|late|"
    r"leaving|going(?! to\b)|"
    r"glad|excited|stressed|confused|lost|curious|afraid(?! of\b)|thirsty|cold|hot|angry|annoyed|in a hurry|on my way|"
    r"raining|sunny|"
    r"nice|cool|funny|true|wrong|right|interesting|amazing|working|thinking|joking|kidding|testing|not sure|impressed|"
    r"wondering|looking|having)\b",
    re.IGNORECASE,
)
EMPTY = regex(
    r"^(?:you(?! (?:can|may|should) call me\b)|(?:it|that|this|there|here|what|how)'s|it|that|this|there you|what a|"
    r"how|let|lets|let's|i never said|i didn't say|i have (?:a|one|another) (?:question|request|"
    r"problem|idea|favou?r)|i (?:guess|see|know|understand|agree|hope|"
    r"don't know|"
    r"do not know|have no idea|wonder|mean|forgot|(?:love|like) (?:it|that|this|you)(?! (?:when|if|that|how)\b)|"
    r"hate (?:it|that|this|you)(?! (?:when|if|that|how)\b)|asked|said|told you)\b)"
    r"(?![\w'])",
    re.IGNORECASE,
)
"""How sentences begin that say nothing to remember: about the agent, the moment, or nothing at all."""
VERBS = (
    "am|is|are|was|were|have|has|had|do|does|did|don't|doesn't|didn't|can|can't|cannot|could|must|mustn't|should|"
    "shouldn't|will|won't|never|always|usually|"
    + "|".join(
        f"{verb}(?:s|es|d|ed)?"
        for verb in """use prefer like love hate enjoy work live need want start end open close cost take give run host
        own play drive ride speak study eat drink cook read write collect keep listen watch follow avoid require belong
        contain support expire happen deploy ship store manage lead report sit wear smoke feel felt travel visit
        teach learn train turn weigh measure grow finish attend join support handle maintain depend point serve meet
        move call hold pay charge change celebrate graduate retire earn sleep wake commute look buy sell order receive
        join swim walk cycle climb dance sing paint draw bake volunteer arrive land depart return cause fix build break
        help know think believe dream suffer recover struggle taste smell sound seem care worry borrow lend rent lease
        share save spend win lose fight argue agree remind record sign ship store organi[sz]e prepare plan visit
        leave die board fail bark snore miss include last stay stand collect exercise practi[sc]e meditate pray vote
        annoy bother excite fascinate""".split()
    )
    + "|quit|quits|stopped|learned|learnt|became|broke|lost|found|won|built|made|met|bought|sold|went|got|grew|"
    "kept|slept|stood|caught|gave|took|saw|came|chose|threw|flew|fell|sent|paid|swam|sang|drew|stole|tore|wore|spent|"
    "lent|passed|spoke|taught|left|began|ran|runs?|go|goes|fl(?:y|ies)|flew|carr(?:y|ies)|stud(?:y|ies)|ate|drank|"
    "drove|wrote|studied|studies|married|"
    "i'm|i've|i'll|i'd|we're|we've|we'll|he's|she's|they're|isn't|aren't|wasn't"
)
STATES = regex(
    r"^(?!(?:what|who|when|where|which|how|why|if|unless|because|although|please|maybe|perhaps|once|whatever|don't|"
    r"do not|tell|ask|show|give|send|help|let|imagine|suppose|pretend)\b)(?:(?:i'm|i've|i'll|i'd|we're|we've|"
    r"we'll)\b|(?:i|we) [a-z']{2,20} \S|"
    rf"(?:[\w'.&/+#@,-]{{1,40}} ){{1,7}}?(?:{VERBS})\b|[\w.-]{{1,40}}'s \w|"
    r"(?:the|our|my|each|every|all) (?:[\w'.&/+#@-]{1,40} ){2,6}?[a-z]{3,20}(?:s|ed) (?:the|an?|every|each|on|in|at|"
    r"to|from|"
    r"by|with|for|after|before|when|until|about|as|into|over|per|\d))",
    re.IGNORECASE,
)
RULE = regex(
    r"^(?:please )?(?:never|always|do not|don't|only|avoid|use|answer|reply|respond|address me)\b (?!mind|worry|"
    r"panic|be|remember|store|save|keep|"
    r"forget|know|care|say)\w",
    re.IGNORECASE,
)
"""A standing wish: "never deploy on Fridays"."""
SHORT_VALUE = regex(
    r"^(?:(?:it|that|this|she|he|they|its|her|his|their)(?:'s| is| are| was| should be| must be|"
    r"'re)?(?: (?:called|named|name is|actually|spelled|spelt|now)){0,2} )?(?P<v>\S.{0,80})$",
    re.IGNORECASE,
)
NOT_BUT = regex(
    r"^(?:(?:it|that|this|she|he)(?:'s| is) )?not (?P<old>[^,;]{1,60})[,;]? (?:but |it's |its |"
    r"rather )?(?P<new>.{1,60})$|^(?:(?:it|that|this|she|he)(?:'s|"
    r" is) )?(?P<new2>[^,;]{1,60})[,;] (?:and )?not (?P<old2>.{1,60})$",
    re.IGNORECASE,
)
STARRED = regex(r"^\*(?P<v>\w[\w' -]{0,40})\*?$")
"""How a typo is put right in a chat."""
POINTS_BACK = regex(r"^(?:it|he|she|they|that|this|its|her|his|their)(?:\b|')", re.IGNORECASE)


@dataclass(frozen=True)
class Claim:
    """A statement that is worth remembering."""

    text: str
    slot: Slot | None
    """What it is about, where a pattern knows."""
    corrects: bool = False
    """Whether the user says that something known is no longer, or never was, so."""
    kind: str = ""
    """``goal`` for what is still to be done, ``passing`` for a state of the moment, ``unsure`` for a guess."""

    @property
    def relation(self) -> str:
        """Return what the statement says of its subject; empty where no pattern knows."""
        return self.slot.relation if self.slot else ""


@dataclass(frozen=True)
class Replacement:
    """What a user puts in the place of a part of what was said last: "it's Max", "Max, not Rex"."""

    value: str
    old: str = ""


def read_claim(sentence: str) -> Claim | None:
    """Return the statement in ``sentence``, or None when it states nothing.

    >>> read_claim("no, my dog is called Max.").text
    'My dog is called Max'
    """
    text = sentence.strip().rstrip(".! ")
    wanted = REMEMBER.match(text)
    text = text[wanted.end() :] if wanted else text
    setting = SET.match(text)
    marker = CORRECTION.match(text)
    body = text[marker.end() :].strip() if marker else text
    body = body.rstrip("? ") if wanted else body
    if not body or body.endswith("?"):
        return None
    if setting := setting or SET.match(body):
        body = f"{setting['s']} is {setting['v']}"
    elif (not wanted and ORDER.match(body)) or (
        not wanted
        and not PASSING.match(body)
        and (EMPTY.match(body) or not (STATES.match(body) or GOAL.match(body) or RULE.match(body) or slot_of(body)))
    ):
        return None
    if body.lower().startswith(("i would like to know", "i'd like to know", "i want to know", "i need to know")):
        return None
    slot = slot_of(body)
    corrects = bool(marker or setting) or (
        slot is not None and slot.relation in ONE_VALUE and CHANGED.search(body) is not None
    )
    corrects |= bool(re.search(r"\b(?:no longer|any ?more)\b", body, re.IGNORECASE) or ACQUIRED.match(body))
    corrects |= LASTING_NOW.fullmatch(body) is not None and re.search(r"\d", body) is not None
    return Claim(body[0].upper() + body[1:], slot, corrects, "" if wanted else _kind(body, slot))


def _kind(body: str, slot: Slot | None) -> str:
    if PASSING.match(body) or LEAVING.search(body):
        return "passing"
    if hedged_wording(body) or body.lower().startswith("i think"):
        return "unsure"
    if GOAL.match(body) and not (slot and slot.relation == "taste"):
        return "goal"
    known = slot is not None and (slot.relation not in ("is", "place") or BECAME.fullmatch(body) is not None)
    known |= LASTING_NOW.fullmatch(body) is not None or ACQUIRED.match(body) is not None
    known |= DATED.search(body) is not None
    return "passing" if transient_wording(body) and not known and not re.search(r"\bmet|visited|bought\b", body) else ""


def read_claims(sentence: str) -> list[Claim]:
    """Return the statements in ``sentence``: those that are joined apart, where each states something of its own.

    >>> [claim.text for claim in read_claims("My name is Ada and I prefer tea over milk and honey.")]
    ['My name is Ada', 'I prefer tea over milk and honey']
    """
    marker = CORRECTION.match(sentence)
    head, rest = (sentence[: marker.end()], sentence[marker.end() :]) if marker else ("", sentence)
    told = JOINED.split(rest)
    parts = [read_claim(head + part if place == 0 else part) for place, part in enumerate(told)]
    if all(parts) and not any(map(SHORTENED.match, told[1:])):
        return [part for part in parts if part is not None]
    whole = read_claim(sentence)
    return [whole] if whole is not None else []


def read_replacement(sentence: str) -> Replacement | None:
    """Return the value that a correction without a subject names.

    >>> read_replacement("no, it's Max"), read_replacement("I meant Max, not Rex").old
    (Replacement(value='Max', old=''), 'Rex')
    """
    text = sentence.strip().rstrip(".! ")
    if starred := STARRED.match(text):
        return Replacement(starred["v"])
    marker = CORRECTION.match(text)
    body = text[marker.end() :].strip() if marker else text
    if not body or body.endswith("?"):
        return None
    if both := NOT_BUT.match(body):
        new, old = both["new"] or both["new2"], both["old"] or both["old2"]
        return None if both["new2"] and STATES.match(new) else Replacement(new.strip(), old.strip())
    points = POINTS_BACK.match(body)
    if not marker or (not points and (len(body.split()) > 3 or STATES.match(body))):
        return None
    match = SHORT_VALUE.match(body)
    return Replacement(match["v"].strip()) if match else None
