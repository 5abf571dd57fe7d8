"""Read questions: what they are about, and which words a record of it would contain."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from memkit.llm.rules.claims import ADVERBS, LIKES, NOUNS, REMEMBER, WORDS, Slot, slot_of, subject_of
from memkit.runtime.memory.words.text import regex, stem

BE = r"(?:'s| is| are| am| was| were|'re| will be)"
DO = r"(?: do| does| did| should| would| can)?"
WHO = rf"(?P<s>{NOUNS})"
ASKING = regex(
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
PREFIX = regex(
    r"^(?:(?:please|and|so|but|then|also|now|hey|ok(?:ay)?|sorry|excuse me)[\s,]+|"
    r"(?:can|could|would|will) you (?:please )?(?:tell|remind) me(?: again)?[\s,]+|(?:tell|remind) me(?: again)?[\s,]+|"
    r"(?:do|can|could) you (?:still |happen to )?(?:know|remember|recall|tell)(?: again)?(?= (?:what|who|where|"
    r"when|which|how|whether|if|my|the|our)\b)[\s,]+|"
    r"i (?:forgot|forget|don't remember|can't remember|do not remember|can't recall|don't recall|wonder|want to know|"
    r"would like to know|need to know)[\s,]+|i'd like to know[\s,]+|any idea[\s,]+|again[\s,]+|(?:whether|"
    r"if) (?=\w)){1,4}",
    re.IGNORECASE,
)
END = regex(
    r"(?:[\s,]+(?:again|please|right|isn't it|is it|don't i|aren't i|correct|yes|no|then|now|due|currently|"
    r"these days|anyway|exactly|by the way))*\s*[?.! ]*$",
    re.IGNORECASE,
)

FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (relation, regex(pattern, re.IGNORECASE))
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
YES_NO = regex(rf"^(?P<helper>{HELPERS})(?P<not>n't)? (?P<rest>\S.{{0,300}})$", re.IGNORECASE)
AGAIN = regex(
    r"^(?:(?:and|what about|how about|and what about|and how about)[\s,]+){1,2}(?P<s>(?:my |our |the |his |"
    r"her )?[\w'-]+(?: [\w'-]+){0,2})\s*\??$",
    re.IGNORECASE,
)
"""A question of which only the subject is new: "and my cat?"."""
PRONOUN = regex(
    r"\b(?!it(?:'s)? (?:true|late|possible|ok|\w+ing|cold|hot|warm|dark|time)\b)"
    r"(?:(?P<of>his|their|its|her(?= [a-z]))|(?P<who>he|she|they|it|him|them|her))\b",
    re.IGNORECASE,
)

FILLER = regex(
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


CLAUSE = regex(r"(?:i|we|you|he|she|it|they) \w", re.IGNORECASE)
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


# What a message says without its dress: sentences of bounded length, haste and lead-ins levelled.

MOST_SENTENCES = 40
"""So many sentences of a message are read; what follows is a document and no conversation."""
LONGEST_SENTENCE = 500
"""Characters; what is longer states more than one thing."""
LONGEST_MESSAGE = MOST_SENTENCES * LONGEST_SENTENCE

QUOTES = str.maketrans("’‘ʼ＇`“”„", "''''" + "'" + '"""')
HASTE = {
    "im": "I'm", "i'm": "I'm", "ive": "I've", "i've": "I've", "i": "I", "i'll": "I'll", "i'd": "I'd", "dont": "don't",
    "doesnt": "doesn't", "didnt": "didn't", "cant": "can't", "wont": "won't", "isnt": "isn't", "arent": "aren't",
    "wasnt": "wasn't", "havent": "haven't", "whats": "what's", "wheres": "where's", "whos": "who's", "whens": "when's",
    "hows": "how's", "thats": "that's", "u": "you", "ur": "your", "pls": "please", "plz": "please", "wat": "what",
    "teh": "the", "adn": "and", "rember": "remember", "remeber": "remember", "recieve": "receive", "knwo": "know",
    "abt": "about", "cuz": "because", "liek": "like", "favorit": "favorite", "favourit": "favourite",
    "taht": "that", "hte": "the", "thier": "their", "adress": "address", "birtday": "birthday", "brithday": "birthday",
    "tommorow": "tomorrow", "tomorow": "tomorrow", "freind": "friend", "becuase": "because", "rembember": "remember",
}  # fmt: skip
"""How people type, and how the same is read."""
QUESTION_WORDS = frozenset({"what", "when", "where", "which", "who", "why", "how", "whose"})
HASTY = regex(
    r"(?<![\w'./@-])(?:" + "|".join(sorted(map(re.escape, HASTE), key=len, reverse=True)) + r")(?![\w'/@-]|\.\w)", re.I
)
SHORTENED = ("dr", "mr", "mrs", "ms", "prof", "st", "vs", "approx", "e.g", "i.e")
NO_END = "".join(rf"(?<!\b{re.escape(word)}\.)" for word in SHORTENED)
SENTENCE_END = regex(rf"(?<=[.!?]){NO_END}\s+(?=\S)|\s*\n+\s*(?:[-*•]\s+|\d{{1,2}}[.)]\s+)?|;\s+", re.IGNORECASE)
BULLET = regex(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
LEAD = regex(
    r"^(?:(?:btw|by the way|fyi|oh|ah|aha|um+|uh+|hm+|so|well|ok(?:ay)?|alright|right|yes|yeah|yep|sure|also|and|but|"
    r"anyway|hey|hi|hello|listen|look|honestly|basically|just so you know|for (?:the|your) (?:record|info(?:rmation)?)|"
    r"you (?:should|might want to|need to) know(?: that)?|(?:i want|i wanted|i'd like|"
    r"i would like) (?:to tell you|you to know|to mention)(?: that)?|did i (?:mention|tell you) that|"
    r"heads up|ps|p\.s\.|quick note|"
    r"(?:one more|another) thing|in case you wonder|as i said|guess what|please|(?:thanks|thank you|great|cool|"
    r"nice)(?=[,.!]))"
    r"(?![\w'-])[\s,:;.!-]*){1,4}(?=\S)",
    re.IGNORECASE,
)
TAIL = regex(
    r"(?:[\s,]+(?:lol|haha+|hehe|xd|:\)|:-\)|:d|;\)|<3|ok|okay|thanks|thank you|thx|please|btw|fyi|"
    r"by the way)){1,3}(?P<mark>[.!?]*)$",
    re.IGNORECASE,
)


def sentences_of(text: str) -> list[str]:
    """Return the sentences that a message holds, each on its own.

    >>> sentences_of("btw im vegetarian 🙂 and i live in Porto lol!!")
    ["I'm vegetarian and I live in Porto!"]
    """
    parts = SENTENCE_END.split(text[:LONGEST_MESSAGE].translate(QUOTES))[: 2 * MOST_SENTENCES]
    plain = (plain_sentence(part) for part in parts if len(part) <= LONGEST_SENTENCE)
    return [sentence for sentence in plain if sentence][:MOST_SENTENCES]


def plain_sentence(sentence: str) -> str:
    """Return a sentence without emoji, lead-in and tail, and with the words that haste cut short."""
    bare = "".join(letter for letter in sentence if not _is_picture(letter))
    bare = BULLET.sub("", " ".join(bare.split()))
    bare = re.sub(r"([!?.])[!?.]{1,500}$", r"\1", bare)
    bare = TAIL.sub(lambda match: match["mark"], bare)
    bare = HASTY.sub(lambda match: HASTE[match[0].lower()], bare)
    return _question_word(LEAD.sub("", bare).strip(" ,-"))


def _question_word(sentence: str) -> str:
    """Return a sentence whose first word is a question word mistyped, with the word that is meant.

    >>> _question_word("Whta do I like?"), _question_word("Were you there?")
    ('what do I like?', 'Were you there?')
    """
    first, _, rest = sentence.partition(" ")
    typed = first.lower()
    if not rest or typed in QUESTION_WORDS | {"were", "how"} or not typed.startswith(("w", "hw")):
        return sentence
    for word in sorted(QUESTION_WORDS):
        short = {word[:at] + word[at + 1 :] for at in range(1, len(word))} if len(word) > 3 else set()
        if sorted(typed) == sorted(word) or typed in short:
            return f"{word} {rest}"
    return sentence


def _is_picture(letter: str) -> bool:
    """Return whether a character is an emoji or a part of one."""
    return letter in "\u200d\ufe0f" or "\U0001f000" <= letter <= "\U0001faff" or unicodedata.category(letter) == "So"


# Say back to users what they said of themselves.

SECOND_PERSON: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (regex(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"^(?:(?:you can|you may|you should|please|just) ){0,2}call me\b", "you are called"),
        (r"^(?:please )?remind me (?:that )?", "you want to be reminded "),
        (r"^(?:please )?(?:(?:don't|do not) (?:let me )?forget|remember|make sure|be sure) (?=to\b)", "you want "),
        (r"\b(?:I|we) am\b|\bI'm\b|\bwe(?:'| a)re\b", "you are"),
        (r"\b(?:I was|we were)\b", "you were"),
        (r"\b(?:I|we)'ve\b", "you have"),
        (r"\b(?:I|we)'ll\b", "you will"),
        (r"\b(?:I|we)'d\b", "you would"),
        (r"\b(?:I|we)\b", "you"),
        (r"\b(?:my|our)\b", "your"),
        (r"\b(?:mine|ours)\b", "yours"),
        (r"\b(?:me|us)\b", "you"),
        (r"\b(?:myself|ourselves)\b", "yourself"),
    )
)
KEPT = regex(r"\b[A-Z]{2,}\b")
"""The US is no us."""


def to_second_person(text: str) -> str:
    """Return what the user said, said to the user.

    >>> to_second_person("My dog is called Rex and I live in Paris")
    'Your dog is called Rex and you live in Paris'
    """
    for pattern, words in SECOND_PERSON:
        text = pattern.sub(lambda match, words=words: match[0] if KEPT.fullmatch(match[0]) else words, text)  # type: ignore[misc]
    return text[:1].upper() + text[1:]
