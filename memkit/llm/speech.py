"""What a message says without its dress: sentences of bounded length, haste and lead-ins levelled."""

from __future__ import annotations

import re
import unicodedata

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
ASKING = frozenset({"what", "when", "where", "which", "who", "why", "how", "whose"})
HASTY = re.compile(
    r"(?<![\w'./@-])(?:" + "|".join(sorted(map(re.escape, HASTE), key=len, reverse=True)) + r")(?![\w'/@-]|\.\w)", re.I
)
SHORTENED = ("dr", "mr", "mrs", "ms", "prof", "st", "vs", "approx", "e.g", "i.e")
NO_END = "".join(rf"(?<!\b{re.escape(word)}\.)" for word in SHORTENED)
END = re.compile(rf"(?<=[.!?]){NO_END}\s+(?=\S)|\s*\n+\s*(?:[-*•]\s+|\d{{1,2}}[.)]\s+)?|;\s+", re.IGNORECASE)
BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
LEAD = re.compile(
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
TAIL = re.compile(
    r"(?:[\s,]+(?:lol|haha+|hehe|xd|:\)|:-\)|:d|;\)|<3|ok|okay|thanks|thank you|thx|please|btw|fyi|"
    r"by the way)){1,3}(?P<mark>[.!?]*)$",
    re.IGNORECASE,
)


def sentences_of(text: str) -> list[str]:
    """Return the sentences that a message holds, each on its own.

    >>> sentences_of("btw im vegetarian 🙂 and i live in Porto lol!!")
    ["I'm vegetarian and I live in Porto!"]
    """
    parts = END.split(text[:LONGEST_MESSAGE].translate(QUOTES))[: 2 * MOST_SENTENCES]
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
    if not rest or typed in ASKING | {"were", "how"} or not typed.startswith(("w", "hw")):
        return sentence
    for word in sorted(ASKING):
        short = {word[:at] + word[at + 1 :] for at in range(1, len(word))} if len(word) > 3 else set()
        if sorted(typed) == sorted(word) or typed in short:
            return f"{word} {rest}"
    return sentence


def _is_picture(letter: str) -> bool:
    """Return whether a character is an emoji or a part of one."""
    return letter in "\u200d\ufe0f" or "\U0001f000" <= letter <= "\U0001faff" or unicodedata.category(letter) == "So"
