"""Read questions: what they are about, and which words a record of it would contain."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memkit.llm.claims import REMEMBER
from memkit.llm.relations import ADVERBS, LIKES, NOUNS, WORDS, Slot, slot_of, subject_of
from memkit.runtime.memory.words.text import stem

BE = r"(?:'s| is| are| am| was| were|'re| will be)"
DO = r"(?: do| does| did| should| would| can)?"
WHO = rf"(?P<s>{NOUNS})"
ASKING = re.compile(
    r"\?\s*$|^(?:who|whose|whom|what|where|when|why|which|how|do|does|did|is|are|am|was|were|can you tell|"
    r"could you tell|"
    r"(?:please )?(?:repeat|say) (?:that|it)(?: again)?\W*$|come again|pardon|huh|"
    r"tell me|remind me (?:what|who|where|when|which|how|whether|if)|list|show me|i forg[oe]t (?:what|who|where|"
    r"when|which|"
    r"how|my \w+'s)|i (?:don't|can't|do not) (?:remember|recall)|any idea|do you|have i|has my|did i|what's|"
    r"where's|who's|"
    r"when's|how's|(?:help me )?plan(?: for)? my (?:day|week|weekend|month)|i wonder|i (?:want|would like|need) to "
    r"know|i'd like to know)(?![\w-])",
    re.IGNORECASE,
)
PREFIX = re.compile(
    r"^(?:(?:please|and|so|but|then|also|now|hey|ok(?:ay)?|sorry|excuse me)[\s,]+|"
    r"(?:can|could|would|will) you (?:please )?(?:tell|remind) me(?: again)?[\s,]+|(?:tell|remind) me(?: again)?[\s,]+|"
    r"(?:do|can|could) you (?:still |happen to )?(?:know|remember|recall|tell)(?: again)?(?= (?:what|who|where|"
    r"when|which|how|whether|if|my|the|our)\b)[\s,]+|"
    r"i (?:forgot|forget|don't remember|can't remember|do not remember|can't recall|don't recall|wonder|want to know|"
    r"would like to know|need to know)[\s,]+|i'd like to know[\s,]+|any idea[\s,]+|again[\s,]+|(?:whether|"
    r"if) (?=\w)){1,4}",
    re.IGNORECASE,
)
END = re.compile(
    r"(?:[\s,]+(?:again|please|right|isn't it|is it|don't i|aren't i|correct|yes|no|then|now|due|currently|"
    r"these days|anyway|exactly|by the way))*\s*[?.! ]*$",
    re.IGNORECASE,
)

FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (relation, re.compile(pattern, re.IGNORECASE))
    for relation, pattern in (
        ("name", rf"^(?:what|who){BE}? ?(?P<s>my|our|me) ?(?:full |first |real |nick)?(?:name)?(?: called)?$"),
        ("name", r"^(?:who|what) (?:am|was) (?P<s>i)(?: called| named)?$"),
        ("name", r"^what (?:should|do|can) (?:you|i) call (?P<s>me)$"),
        ("name", r"^(?P<s>my|our) name$"),
        ("name", rf"^(?:what|who){BE} (?:the name of )?{WHO}(?:'s?)? (?:names?|called|named)$"),
        ("name", rf"^(?:what|who){BE} the names? of {WHO}$"),
        ("name", rf"^what {WHO}{BE} (?:called|named)$"),
        ("name", rf"^(?:what do (?:i|we) call |what did (?:i|we) (?:call|name) ){WHO}$"),
        ("name", rf"^{WHO}'s? name$"),
        ("origin", rf"^where(?: do| does| did|{BE}) {WHO} (?:come )?from(?: originally)?$"),
        ("birthday", rf"^(?:when|what|which day){BE} (?P<s>my|our) (?:birthday|bday|date of birth)$"),
        ("birthday", rf"^(?:when|what){BE} {WHO}'s? (?:birthday|bday|date of birth)$"),
        ("birthday", rf"^(?:when|(?:what|which) (?:day|year)) (?:was|were|is|am) {WHO} born(?: on| in)?$|^when does "
        rf"(?P<s2>{NOUNS}) have (?:his|her|their) birthday$"),
        ("birthday", r"^(?P<s>my|our) (?:birthday|bday)$"),
        ("age", rf"^(?:how old|what age)(?: am| is| are| was| will)? ?{WHO}(?: be| am| is)?$|"
        rf"^what{BE} (?P<s2>{NOUNS})'s? age$"),
        ("home", rf"^where{DO} {WHO} (?:now |currently |still )?(?:live|lives|lived|reside|stay)(?: in| at)?$"),
        ("home", rf"^where{BE} {WHO} (?:living|based|at home)$|^where{DO} (?P<s2>{NOUNS}) (?:move|moved|"
        rf"relocate)(?: to)?$"),
        ("home", rf"^(?:which|what) (?:city|town|country|place|street){DO} {WHO} (?:live|lives|lived|stay|"
        rf"reside)(?: in| at)?$"),
        ("home", rf"^(?:what|where){BE} (?P<s>my|our) (?:home|address|home address|city|town|house)$"),
        ("home", rf"^(?:what|where){BE} {WHO}'s? (?:home|address|city|town)$"),
        ("home", rf"^(?:what|where){BE} (?:the )?(?:home|address) of {WHO}$"),
        ("work", rf"^(?:where|for whom|as what){DO} {WHO} (?:now |currently |still )?(?:work|works|"
        rf"worked)(?: at| for)?$"),
        ("work", rf"^(?:who|which company|what company){DO} {WHO} (?:work|works)(?: at| for)?$"),
        ("work", rf"^what{DO} {WHO} (?:do|work as)(?: for (?:a living|work)| at work| professionally)?$"),
        ("work", rf"^what{BE} (?P<s>my|our) (?:job|profession|occupation|employer|company)$|"
        rf"^where{BE} (?P<s2>{NOUNS}) (?:working|employed)$"),
        ("work", rf"^what{BE} {WHO}'s? (?:job|profession|occupation|employer)$"),
        ("taste", rf"^(?:what|which|who)(?P<about>(?: \w+){{0,3}}?) (?:do|does|did|would|don't|doesn't|can't) {WHO} "
        rf"(?:not )?(?:really |usually |also )?(?P<verb>{LIKES}|stand)(?P<rest> .{{0,60}})?$"),
        ("taste", rf"^(?:what|which|who)(?P<about>(?: \w+){{0,3}}?) {WHO} {ADVERBS}(?P<verb>{LIKES})(?P<rest> "
        rf".{{0,60}})?$"),
        ("taste", rf"^(?:what|which){BE} (?P<s>my|our) (?:preferences|tastes|likes|dislikes|favourites|hobbies|"
        rf"interests)$"),
        ("is", rf"^(?:what|which) (?:kind|sort|type|breed|make|model|brand|colou?r)(?: of [\w-]+){{0,2}}{BE} {WHO}$"),
        ("place", rf"^where{BE} {WHO}(?: located| hosted| running| stored| kept| parked)?$|"
        rf"^where {WHO.replace('<s>', '<s2>')}{BE}$"),
        ("is", rf"^(?:what|which|who|how|when){BE} {WHO}(?: like)?$|^(?:what|which|who|when) (?P<s2>{NOUNS}){BE}$"),
        ("is", r"^(?P<s>(?:my|our) [\w' -]{1,40})$"),
    )
)  # fmt: skip
"""Relation → how a question for it reads."""

HELPERS = r"do|does|did|am|is|are|was|were|have|has|had|can|could|will|would|should|must"
YES_NO = re.compile(rf"^(?P<helper>{HELPERS})(?P<not>n't)? (?P<rest>\S.{{0,300}})$", re.IGNORECASE)
AGAIN = re.compile(
    r"^(?:(?:and|what about|how about|and what about|and how about)[\s,]+){1,2}(?P<s>(?:my |our |the |his |"
    r"her )?[\w'-]+(?: [\w'-]+){0,2})\s*\??$",
    re.IGNORECASE,
)
"""A question of which only the subject is new: "and my cat?"."""
PRONOUN = re.compile(
    r"\b(?!it(?:'s)? (?:true|late|possible|ok|\w+ing|cold|hot|warm|dark|time)\b)"
    r"(?:(?P<of>his|their|its|her(?= [a-z]))|(?P<who>he|she|they|it|him|them|her))\b",
    re.IGNORECASE,
)

FILLER = re.compile(
    r"a|an|and|am|are|about|any|anything|be|been|can|could|did|do|does|for|from|had|has|have|how|i|in|is|it|if|know|me|"
    r"my|of|on|or|our|please|remember|tell|that|the|there|this|to|at|us|was|we|were|what|what's|when|where|which|who|"
    r"whom|whose|why|will|with|you|your|again|still|now|say|said|told|mention|mentioned|kind|sort|many|much|often|"
    r"who's|where's|when's|should|would|i'm|ever|get|got|by|so|as|these|those|some|best|most|lot"
)


SPELLINGS = {
    "colour": "color", "favourite": "favorite", "colours": "colors", "favourites": "favorites", "bought": "buy",
    "met": "meet", "went": "go", "ate": "eat", "drank": "drink", "drove": "drive", "wrote": "write", "spoke": "speak",
    "sold": "sell", "left": "leave", "began": "begin", "ran": "run", "grew": "grow", "gave": "give", "took": "take",
    "saw": "see", "sent": "send", "paid": "pay", "mum": "mom", "bday": "birthday", "fav": "favorite",
    "fave": "favorite", "film": "movie", "films": "movie", "wedding": "married", "made": "make", "told": "tell",
    "taught": "teach", "built": "build", "chose": "choose", "flew": "fly", "swam": "swim", "won": "win", "lost": "lose",
}  # fmt: skip
"""Words that mean the same to whoever asks."""


CLAUSE = re.compile(r"(?:i|we|you|he|she|it|they) \w", re.IGNORECASE)
"""How no subject begins, but a clause with a verb of its own."""


@dataclass(frozen=True)
class Asked:
    """What a question is about, and the words to search for."""

    subject: str | None
    """``i`` for the user, other words in lower case, or None where nothing is named."""
    relation: str
    query: str
    statement: Slot | str | None = None
    """What a yes-or-no question wants confirmed."""
    text: str = ""
    """The question without what surrounds it."""
    about: str = ""
    """What a question for tastes narrows them to."""


def is_question(sentence: str) -> bool:
    """Return whether a sentence asks something.

    >>> is_question("remind me what my cat is called"), is_question("remind me to feed the cat")
    (True, False)
    """
    return ASKING.search(sentence) is not None and not REMEMBER.match(sentence)


def read_question(sentence: str) -> Asked:
    """Return what ``sentence`` asks for.

    >>> read_question("What is my dog called?").query
    'dog name called call'
    """
    text = END.sub("", PREFIX.sub("", sentence.strip()))
    for relation, pattern in FORMS:
        if match := pattern.match(text):
            found = match.groupdict()
            subject = subject_of(found["s"] or found.get("s2") or "")
            if (relation == "is" and subject in {"i", "you"}) or CLAUSE.match(subject):
                continue
            about = " ".join(key_words(f"{found.get('about') or ''} {found.get('rest') or ''}"))
            query = " ".join(filter(None, (_named(subject), about, WORDS[relation])))
            return Asked(subject, relation, query or text, text=text, about=about)
    if match := YES_NO.match(text):
        return _yes_no(text, match)
    return Asked(None, "", " ".join(key_words(text)) or text, text=text)


def is_disliking(verb: str) -> bool:
    """Return whether a verb of taste says that something is not liked."""
    return re.search(r"hate|dislike|detest|loathe|can't|cannot|not |n't", verb, re.IGNORECASE) is not None


def _yes_no(text: str, match: re.Match[str]) -> Asked:
    helper, rest = match["helper"].lower(), match["rest"]
    words = rest.split()
    if helper in ("do", "does", "did"):
        candidates = [rest]
    else:
        candidates = [" ".join([*words[:place], helper, *words[place:]]) for place in range(1, min(len(words), 6))]
    slots = [slot for slot in map(slot_of, candidates) if slot is not None]
    best = next((slot for slot in slots if slot.relation not in ("is", "place")), slots[0] if slots else None)
    query = " ".join(dict.fromkeys([*key_words(rest), *(WORDS[best.relation].split() if best else ())]))
    subject = best.subject if best else None
    return Asked(subject, best.relation if best else "", query or text, best or rest, text)


def _named(subject: str) -> str:
    """Return the words of a subject that a record of it holds."""
    return "" if subject == "i" else " ".join(key_words(subject)) or subject


def with_subject(question: str, subject: str) -> str | None:
    """Return the question before, asked of another subject, or None where it names none."""
    asked = read_question(question)
    if asked.subject is None:
        return None
    named = (
        r"\b(?:i|my|me)\b"
        if asked.subject == "i"
        else rf"(?:\b(?:the|our|my) )?{re.escape(asked.subject.removeprefix('my '))}"
    )
    changed, times = re.subn(named, subject, asked.text, count=1, flags=re.IGNORECASE)
    return f"{changed}?" if times else None


def with_name(question: str, subject: str) -> str:
    """Return a question with a name where a pronoun stands.

    >>> with_name("and where does she live?", "Lena")
    'and where does Lena live?'
    """
    return PRONOUN.sub(lambda match: f"{subject}'s" if match["of"] else subject, question, count=1)


def key_words(text: str) -> list[str]:
    """Return the words of a question that carry its meaning, in order.

    >>> key_words("What did Alice say about the harbour?")
    ['alice', 'harbour']
    """
    words = (word.removesuffix("'s") for word in re.findall(r"[\w'.+#@-]*[\w+#]", text.lower()))
    return [SPELLINGS.get(word, word) for word in words if not FILLER.fullmatch(word)]


def key_stems(text: str) -> set[str]:
    """Return the stems of the words that carry the meaning of ``text``."""
    return {stem(word) for word in key_words(text)}
