"""What counts as a word: the same tokens for the index and for a query.

Patterns are compiled when the first text needs them, which most processes never see: it takes longer than a search.
"""

import re
import unicodedata
from collections.abc import Iterator

from .stems import stem

TOKENS_VERSION = 2
"""Part of the index format: raise it when the tokens of a record change."""
LONGEST_TOKEN = 64

MARKS = "\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0903\u093a-\u094f\u0951-\u0957"
MORE_MARKS = "\u0962\u0963\u0981-\u0983\u09bc-\u09d7\u0a01-\u0a4d\u0a81-\u0acd\u0b01-\u0b57\u0b82-\u0bd7\u0c00-\u0c56"
# Python's \w leaves out combining marks, and so would cut Hindi, Tamil or Thai words in pieces.
LETTERS = rf"\w\u0300-\u036f{MARKS}{MORE_MARKS}\u0c81-\u0cd6\u0d00-\u0d57\u0e31-\u0e4e\u0eb1-\u0ecd\u102b-\u103e"
EMOJI = (
    r"[\U0001F1E6-\U0001F1FF]{2}|[\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001F000-\U0001F3FA\U0001F400-\U0001FAFF]"
)
WORD = rf"[{LETTERS}]{{1,{LONGEST_TOKEN}}}(?:\+\+|#(?!\w))?|{EMOJI}"
ASCII_WORD = rf"[a-z0-9_]{{1,{LONGEST_TOKEN}}}(?:\+\+|#(?!\w))?"
UNSPACED = (
    "[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f"
    "\u1780-\u17ff\U00020000-\U0003ffff]+"
)
"""Scripts written without blanks between words."""
UNHEARD = "[\u0300-\u036f\u064b-\u065f\u0670\u0640\u0591-\u05bd\u00ad\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff]"
"""Accents, vowel points and invisible characters, which people leave out when they search."""
SHORTENED = r"['\u2019](?:s|re|ve|ll|d|m)\b"
APOSTROPHE = r"(?<=\w)['\u2019](?=\w)"

STOP_LIST = """
    a about above after again all also am an and any are arent as at be because been before being below between both
    but by can cannot cant could couldnt d did didnt do does doesnt doing dont down during each few for from further
    had hadnt has hasnt have havent having he her here hers herself him himself his how i if im in into is isnt it its
    itself just let me more most my myself no nor not now of off on once only or other our ours ourselves out over own
    please s same shall she should shouldnt so some such t than that the their theirs them themselves then there these
    they this those through to too under until up us very was wasnt we were werent what whats when where which while who
    whom whose why will with wont would wouldnt you your yours yourself yourselves
"""
STOP_WORDS = frozenset(STOP_LIST.split())


def folded(text: str) -> str:
    """Return ``text`` with case, width, accents and invisible characters taken out of the way."""
    if text.isascii():
        return text.lower()
    flat = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFC", re.sub(UNHEARD, "", flat))


def words(text: str) -> list[str]:
    """Return the words of ``text`` in order, folded and not stemmed."""
    flat = folded(text)
    if "'" in flat or "\u2019" in flat:
        flat = re.sub(APOSTROPHE, "", re.sub(SHORTENED, "", flat))
    return re.findall(ASCII_WORD if flat.isascii() else WORD, flat)


def tokens(text: str) -> list[str]:
    """Return what the index keeps of ``text``: stems, and letters and pairs of letters of unspaced scripts."""
    found = words(text)
    if text.isascii():
        return [stem(word) for word in found]
    return [token for word in found for token in _pieces(word, singles=True)]


def query_terms(query: str) -> list[str]:
    """Return what to look up for ``query``: its tokens without stop words, each once."""
    content = (word for word in words(query) if word not in STOP_WORDS)
    return list(dict.fromkeys(token for word in content for token in _pieces(word, singles=False)))


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
