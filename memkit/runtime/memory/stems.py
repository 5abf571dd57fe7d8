"""Porter's stemmer for English: ``preference``, ``prefers`` and ``preferred`` meet in one stem."""

from functools import lru_cache

ROLES = str.maketrans("abcdefghijklmnopqrstuvwxz", "vcccvcccvcccccvcccccvcccc")
"""Which letters are vowels and which are consonants; y may be either."""

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


def shape(word: str) -> str:
    """Return ``word`` with a v for each vowel and a c for each consonant; y is a vowel after a consonant.

    >>> shape("syzygy"), shape("yes"), shape("toy")
    ('cvcvcv', 'cvc', 'cvc')
    """
    found = word.translate(ROLES)
    while (place := found.find("y")) >= 0:
        role = "v" if place and word[place - 1] not in "aeiou" else "c"
        found = f"{found[:place]}{role}{found[place + 1 :]}"
    return found


def measure(stem: str) -> int:
    """Return how often a run of vowels is followed by a run of consonants."""
    return shape(stem).count("vc")


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word; anything else comes back as it is."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    word = _without_plural(word)
    word = _without_past(word)
    if word.endswith("y") and "v" in shape(word[:-1]):
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
        if base != word and "v" in shape(base):
            return _mended(base)
    return word


def _mended(base: str) -> str:
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if base[-1:] == base[-2:-1] and base[-1] not in "aeioulsyz":
        return base[:-1]
    return base + "e" if measure(base) == 1 and _ends_short(base) else base


def _ends_short(base: str) -> bool:
    return shape(base).endswith("cvc") and base[-1] not in "wxy"


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
        if size > 1 or (size == 1 and not _ends_short(base)):
            word = base
    return word[:-1] if word.endswith("ll") and measure(word) > 1 else word
