"""Porter's stemmer for English: ``preference``, ``prefers`` and ``preferred`` meet in one stem."""

import re
from functools import lru_cache

CONSONANT = "(?:[^aeiouy]|(?<=[aeiou])y|(?<![a-z])y)"
VOWEL = "(?:[aeiou]|(?<=[^aeiou])y)"
MEASURED = re.compile(f"{VOWEL}+{CONSONANT}+")
HAS_VOWEL = re.compile(VOWEL)
DOUBLED = re.compile(r"([^aeiouy])\1$")
SHORT_END = re.compile(f"{CONSONANT}{VOWEL}[^aeiouwxy]$")

STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"), ("logi", "log"),
)  # fmt: skip
STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")
)  # fmt: skip
STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize",
    "sion", "tion", "al", "er", "ic", "ou",
)  # fmt: skip


def measure(stem: str) -> int:
    """Return how often a run of vowels is followed by a run of consonants."""
    return len(MEASURED.findall(stem))


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word; anything else comes back as it is."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    word = _without_plural(word)
    word = _without_past(word)
    if word.endswith("y") and HAS_VOWEL.search(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, STEP_2)
    word = _replaced(word, STEP_3)
    return _tidied(_without_ending(word))


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        base = word.removesuffix(ending)
        if base != word and HAS_VOWEL.search(base):
            return _mended(base)
    return word


def _mended(base: str) -> str:
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if DOUBLED.search(base) and base[-1] not in "lsz":
        return base[:-1]
    return base + "e" if measure(base) == 1 and SHORT_END.search(base) else base


def _replaced(word: str, table: tuple[tuple[str, str], ...]) -> str:
    for ending, instead in table:
        if word.endswith(ending):
            base = word[: -len(ending)]
            return base + instead if measure(base) > 0 else word
    return word


def _without_ending(word: str) -> str:
    for ending in STEP_4:
        if word.endswith(ending):
            kept = 1 if ending in ("sion", "tion") else 0
            base = word[: len(word) - len(ending) + kept]
            return base if measure(base) > 1 else word
    return word


def _tidied(word: str) -> str:
    if word.endswith("e"):
        base = word[:-1]
        size = measure(base)
        if size > 1 or (size == 1 and not SHORT_END.search(base)):
            word = base
    return word[:-1] if word.endswith("ll") and measure(word) > 1 else word
