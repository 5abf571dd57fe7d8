# ruff: noqa: SIM905 (lists of words read better as text)
"""What a statement says of whom: the patterns that statements and the questions about them have in common."""

from __future__ import annotations

import re
from typing import NamedTuple

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
    (relation, re.compile(pattern, re.IGNORECASE))
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
ENDED = re.compile(
    r"\bno longer |\bnot (?=\w+ing\b)| any ?more\b|\b(?:don't|do not) (?=(?:live|work)\b)", re.IGNORECASE
)
"""What a statement says that ended is about the same as before it ended."""
PAST = re.compile(r"\b(?:used to|formerly|once|previously)\b", re.IGNORECASE)
TIMED = re.compile(r"^(?:since|from|as of|starting|until) .{1,30}?,? (?=(?:I|we|my|our)\b)", re.IGNORECASE)
NOW = re.compile(r"\s+(?:now|instead)$", re.IGNORECASE)
INTRODUCTION = re.compile(r"(?:I am|I'm|This is) (?P<v>[A-Z][\w'-]{1,30}(?: [A-Z][\w'-]{1,30})?)(?: here)?")


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
