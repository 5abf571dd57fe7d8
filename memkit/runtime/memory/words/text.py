"""Tokenisation: the same tokens for the index and for a query, and one digest for every spelling of a value.

Patterns are compiled on first use, which most processes never need: compiling takes longer than a search.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from functools import cached_property, lru_cache
from typing import Any, cast
from weakref import WeakSet

ROLES = str.maketrans("abcdefghijklmnopqrstuvwxz", "vcccvcccvcccccvcccccvcccc")
"""Vowels and consonants; y may be either."""

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


class _Pattern:
    """A regular expression with the attributes of a compiled one; the first access compiles it."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags
        _PATTERNS.add(self)

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.compiled, name)
        setattr(self, name, attribute)  # later accesses bypass this method
        return attribute


_PATTERNS: WeakSet[_Pattern] = WeakSet()


def compiled_patterns() -> list[int]:
    """Return marks of the patterns compiled in this process, which are also valid in the process it was forked from."""
    return [hash(one.pattern) for one in _PATTERNS if "compiled" in vars(one)]


def compile_patterns(marks: Iterable[int]) -> None:
    """Compile the patterns that a fork of this process needed, so that the next fork inherits them."""
    wanted = set(marks)
    for one in _PATTERNS:
        if hash(one.pattern) in wanted:
            _ = one.compiled


def regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return the same as ``re.compile``, but compiled on first use: most texts need few patterns."""
    return cast("re.Pattern[str]", _Pattern(pattern, flags))


def any_of(words: str) -> str:
    """Return a pattern for one of some words, in which an underscore stands for a space.

    >>> any_of("nuts tree_nuts")
    '(?:nuts|tree nuts)'
    """
    return f"(?:{'|'.join(words.split())})".replace("_", " ")


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


class _Stems(dict[str, str]):
    """The stem of each requested word: most words of a text are already known."""

    def __missing__(self, word: str) -> str:
        if len(self) >= MOST_STEMS:
            self.clear()
        found = self[word] = _stem(word)
        return found


MOST_STEMS = 200_000
stem = _Stems().__getitem__
"""Returns the stem of a lower-case English word; anything else is returned unchanged."""


def _stem(word: str) -> str:
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    found = _porter_stem(word)
    # A question drops stop words, and most texts hold them: "Ines" is not "in", nor is "used" "us".
    return f"{found}_" if found in STOP_WORDS and word not in STOP_WORDS else found


def _porter_stem(word: str) -> str:
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
            if base.endswith(("at", "bl", "iz")):
                return base + "e"
            if base[-1:] == base[-2:-1] and base[-1] not in "aeioulsyz":
                return base[:-1]
            return base + "e" if measure(base) == 1 and _ends_short(base) else base
    return word


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


TOKENS_VERSION = 4
"""Part of the index format: increment it when the tokens of a record change."""
LONGEST_TOKEN = 64

MARKS = "\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0903\u093a-\u094f\u0951-\u0957"
MORE_MARKS = "\u0962\u0963\u0981-\u0983\u09bc-\u09d7\u0a01-\u0a4d\u0a81-\u0acd\u0b01-\u0b57\u0b82-\u0bd7\u0c00-\u0c56"
# Python's \w excludes combining marks, and so would split Hindi, Tamil or Thai words.
LETTERS = rf"\w\u0300-\u036f{MARKS}{MORE_MARKS}\u0c81-\u0cd6\u0d00-\u0d57\u0e31-\u0e4e\u0eb1-\u0ecd\u102b-\u103e"
EMOJI = (
    r"[\U0001F1E6-\U0001F1FF]{2}|[\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001F000-\U0001F3FA\U0001F400-\U0001FAFF]"
)
WORD = regex(rf"[{LETTERS}]{{1,{LONGEST_TOKEN}}}(?:\+\+|#(?!\w))?|{EMOJI}")
ASCII_WORD = regex(rf"[a-z0-9_]{{1,{LONGEST_TOKEN}}}(?:\+\+|#(?!\w))?")
UNSPACED = (
    "[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f"
    "\u1780-\u17ff\U00020000-\U0003ffff]+"
)
"""Scripts written without spaces between words."""
UNHEARD = "[\u0300-\u036f\u064b-\u065f\u0670\u0640\u0591-\u05bd\u00ad\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff]"
"""Accents, vowel points and invisible characters, which people omit when they search."""
SHORTENED = r"['\u2019](?:s|re|ve|ll|d|m)\b"
APOSTROPHE = r"(?<=\w)['\u2019](?=\w)"

ASCII = [chr(code) for code in range(128)]
_WORDS_ALONE = {ord(char): char if char.isalnum() or char == "_" else " " for char in ASCII}
_LETTERS_ALONE = {ord(char): char if char.isalpha() else " " for char in ASCII}
"""Tables that cover all of ASCII: looking for a letter missing from a table takes longer than replacing it."""

STOP_LIST = """
    a about above after again all also am an and any are arent as at be because been before being below between both but
    by can cannot cant could couldnt d did didnt do does doesnt doing dont down during each few for from further had
    hadnt has hasnt have havent having he her here hers herself him himself his how i if im in into is isnt it its
    itself just let me more most my myself no nor not now of off on once one ones only or other others our ours
    ourselves out over own please s same shall she should shouldnt so some such t than that the their theirs them
    themselves then there these they this those through to too under until up us very was wasnt we were werent what
    whats when where which while who whom whose why will with wont would wouldnt you your yours yourself yourselves
"""
STOP_WORDS = frozenset(STOP_LIST.split())


WHOLE = str.maketrans(
    {
        "ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i", "ŀ": "l", "ƀ": "b", "ɨ": "i", "ƶ": "z",
        "æ": "ae", "œ": "oe", "þ": "th", "ĳ": "ij", "ŋ": "ng", "ĸ": "k",
    }
)  # fmt: skip
"""Lower-case letters with a stroke, and ligatures: Unicode decomposes none of them, and people type them plain."""


def folded(text: str) -> str:
    """Return ``text`` without differences of case, width, accents, strokes and invisible characters.

    >>> folded("Łódź, Smørrebrød, Straße")
    'lodz, smorrebrod, strasse'
    """
    return text.lower() if text.isascii() else _unaccented(text).translate(WHOLE)


def _unaccented(text: str) -> str:
    flat = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFC", re.sub(UNHEARD, "", flat))


def words(text: str) -> list[str]:
    """Return the words of ``text`` in order, folded and not stemmed."""
    flat = folded(text)
    if flat.isascii() and not ("'" in flat or "+" in flat or "#" in flat):  # most texts, in a third of the time
        found = flat.translate(_WORDS_ALONE).split()
        if len(flat) <= LONGEST_TOKEN or max(map(len, found), default=0) <= LONGEST_TOKEN:
            return found
    if "'" in flat or "\u2019" in flat:
        flat = re.sub(APOSTROPHE, "", re.sub(SHORTENED, "", flat))
    return (ASCII_WORD if flat.isascii() else WORD).findall(flat)


def tokens(text: str) -> list[str]:
    """Return the index terms of ``text``: stems, and single characters and pairs in unspaced scripts."""
    found = words(text)
    if text.isascii():
        return list(map(stem, found))
    return [token for word in found for token in _pieces(word, singles=True)]


def query_terms(query: str) -> list[str]:
    """Return the terms to look up for ``query``: its tokens without stop words and repeats."""
    content = [word for word in words(query) if word not in STOP_WORDS]
    if query.isascii():
        return list(dict.fromkeys(map(stem, content)))
    return list(dict.fromkeys(token for word in content for token in _pieces(word, singles=False)))


CAPITAL = regex(r"(?<=[^.!?:\u2026\n] )(?![a-z])[^\W\d_][\w'\u2019-]*")
"""A word inside a sentence that may begin with a capital letter."""


def names(text: str) -> list[str]:
    """Return, as tokens, the words of ``text`` that a capital inside a sentence marks as names.

    >>> names("We met Imke at the Paragon. She has stories")
    ['imk', 'paragon']
    """
    return query_terms(" ".join(found for found in CAPITAL.findall(text) if found[0].isupper()))


def _pieces(word: str, *, singles: bool) -> Iterator[str]:
    if word.isascii() or not re.search(UNSPACED, word):
        yield stem(word)
        return
    for part in re.split(f"({UNSPACED})", word):
        if not part:
            continue
        if not re.match(UNSPACED, part):
            yield stem(part)
            continue
        if singles or len(part) == 1:
            yield from part
        yield from (part[i : i + 2] for i in range(len(part) - 1))


APOSTROPHES = str.maketrans("’‘ʼ＇`", "'''''")
VOWEL_POINTS = dict.fromkeys([*range(0x64B, 0x660), 0x670, 0x640, *range(0x591, 0x5BE), *range(0x5C1, 0x5C8)])
"""Signs that are optional, and usually omitted, in Arabic and Hebrew."""


def plain(text: str) -> str:
    """Return ``text`` normalised: one form of each letter, lower case, single spaces, nothing invisible."""
    if text.isascii():
        return " ".join(text.casefold().split())
    shown = unicodedata.normalize("NFKC", text).translate(APOSTROPHES).translate(VOWEL_POINTS)
    shown = "".join(char for char in shown if unicodedata.category(char) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", shown.casefold()).split())


LOOKALIKES = str.maketrans("аеорсухіјѕһԁӏвкмнтгѵԛԝҽαοενρτικβζημɑɡıɩⲟօսհ", "aeopcyxijshdlbkmhtrvqweaoevptikbzhmagiioouh")
"""Letters often replaced by look-alikes, in lower case as after folding: a capital В is a small в there."""
SIGNS = frozenset("+#%&@")
"""Punctuation and symbols that belong to a word: C++ is not C#."""


@lru_cache(maxsize=16)  # the gate and the index request the same one in turn
def fingerprint(text: str) -> str:
    """Return a digest that is the same for every spelling of a value."""
    return str(_sha256()(stated(text).encode()).hexdigest()[:32])


@lru_cache(maxsize=1)
def _sha256() -> Callable[[bytes], Any]:
    from hashlib import sha256  # importing it costs more time than a search, which needs no digest

    return sha256


def keyed_fingerprints(key: bytes, user_id: str, text: str) -> list[str]:
    """Return digests of a user's value that cannot be found without ``key`` by trying values.

    The first is the one that is written; the others match values from before strokes were folded.
    """
    import hashlib
    import hmac

    spellings = dict.fromkeys((stated(text), _stated(_unaccented(text), text)))
    return [hmac.new(key, f"{user_id}\0{one}".encode(), hashlib.sha256).hexdigest() for one in spellings]


def stated(text: str) -> str:
    """Return the normalised content of ``text``: every word in order, independent of spelling.

    Case, width, accents, invisible and look-alike characters, spaces and punctuation make no difference, except
    where they change a number.

    >>> stated("Alice prefers  es-presso!") == stated("alice prefers ESPRESSO")
    True
    >>> stated("It costs 3.5") == stated("It costs 35")
    False
    """
    return _stated(folded(text), text)


def _stated(flat: str, text: str) -> str:
    if flat.isascii():
        return _closed_up_ascii(flat) or text.strip()
    flat = flat.translate(LOOKALIKES)
    used = set(flat)
    gaps = "".join(sorted(filter(_is_gap, used)))
    if any(map(str.isnumeric, used)) and gaps:
        between = f"[{re.escape(gaps)}]+"
        numeric = "0-9" + "".join(char for char in used if char.isnumeric() and not char.isascii())
        return _closed_up(flat, re.compile(between), re.compile(f"{between}+(?![{numeric}])")) or text.strip()
    return flat.translate(dict.fromkeys(map(ord, gaps))) or text.strip()


def _closed_up_ascii(flat: str) -> str:
    """Return the same as ``_closed_up`` for ASCII, where only gaps before a number can matter."""
    if not _DIGIT.search(flat):
        return flat.translate(_WITHOUT_GAPS)
    pieces, last = list[str](), 0
    for match in _GAP_BEFORE_NUMBER.finditer(flat):
        pieces += (flat[last : match.start()].translate(_WITHOUT_GAPS), _kept(match))
        last = match.end()
    return "".join((*pieces, flat[last:].translate(_WITHOUT_GAPS)))


def _closed_up(flat: str, gap: re.Pattern[str], loose: re.Pattern[str]) -> str:
    return gap.sub(_kept, loose.sub("", flat))  # gaps not followed by a number need no check


@lru_cache(maxsize=1024)
def _is_gap(char: str) -> bool:
    return char not in SIGNS and unicodedata.category(char)[0] in "PZC"


_WITHOUT_GAPS = {ord(char): None if _is_gap(char) else char for char in ASCII}
_ASCII_GAPS = re.escape("".join(filter(_is_gap, ASCII)))
_GAP_BEFORE_NUMBER, _DIGIT = regex(f"[{_ASCII_GAPS}]++(?=[0-9])"), regex("[0-9]")


def _kept(match: re.Match[str]) -> str:
    """Return what remains of spaces and punctuation between two runs of letters, digits and signs."""
    flat, gap, start, end = match.string, match.group(), match.start(), match.end()
    if not flat[end : end + 1].isnumeric():
        return ""
    if start and flat[start - 1].isnumeric():
        return gap.strip() or " "
    return "-" if gap.endswith(("-", "\N{MINUS SIGN}")) and (len(gap) > 1 or start == 0) else ""


SENTENCE_END = regex(r"(?<=[.!?。！？])\s+|\n+")
LINE_LIMIT = 160
"""The most characters kept of one turn."""


def first_sentence(text: str) -> str:
    """Return the first sentence of ``text``, truncated if it is too long for a line."""
    first = next((part.strip() for part in SENTENCE_END.split(text) if part.strip()), "")
    return first if len(first) <= LINE_LIMIT else first[: LINE_LIMIT - 1].rstrip() + "…"


# The calendar words by which a day is found; the phrases that name dates are parsed in ``dates``.

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
DATE_HINTS = frozenset(
    f"{word}{plural}" for plural in ("", "s") for word in (
        *MONTHS, *(name[:3] for name in MONTHS), "sept", *WEEKDAYS, "today", "tonight", "yesterday", "tomorrow", "ago",
    )
)  # fmt: skip
UNITS = frozenset(("week", "month", "year", "weekend"))
WHICH = frozenset(("last", "past", "this", "next", "previous", "coming"))
"""Without one of these next to a unit, or a year, a text names no date, and no pattern need be tried."""
_HINTS_OR_UNITS = DATE_HINTS | UNITS
_LETTERS, _YEAR = regex("[a-z]+"), regex(r"(?:19|20)\d\d")
AHEAD = 6
"""How many months ahead a month without a year may be in a statement; a question means one that has begun."""


@lru_cache(maxsize=512)
def day_words(day: date) -> tuple[str, ...]:
    """Return the words of a day.

    >>> day_words(date(2026, 3, 14))
    ('d_2026', 'd_2026_03', 'd_2026_w11', 'd_2026_03_14')
    """
    return (f"d_{day.year:04}", month_word(day), week_word(day), day_word(day))


def is_day(word: str) -> bool:
    """Return whether a word is one of these four."""
    return word.startswith("d_")


def day_word(day: date) -> str:
    """Return the word of a day itself."""
    return f"d_{day.year:04}_{day.month:02}_{day.day:02}"


def week_word(day: date) -> str:
    """Return the word of its week."""
    year, week, _ = day.isocalendar()
    return f"d_{year:04}_w{week:02}"


def month_word(day: date) -> str:
    """Return the word of its month."""
    return f"d_{day.year:04}_{day.month:02}"


@lru_cache(maxsize=4096)
def may_name_a_date(text: str) -> bool:
    """Return whether ``dated`` is worth calling: most texts name no date, and need not load its patterns."""
    if ("19" in text or "20" in text) and _YEAR.search(text):
        return True
    lower = text.lower()
    held = lower.translate(_LETTERS_ALONE).split() if lower.isascii() else _LETTERS.findall(lower)
    if _HINTS_OR_UNITS.isdisjoint(held):
        return False
    return not DATE_HINTS.isdisjoint(held) or not (UNITS.isdisjoint(held) or WHICH.isdisjoint(held))
