"""What a record states, whatever its spelling: the digest that tells whether a rejected value comes back."""

import hashlib
import hmac
import re
import unicodedata
from functools import lru_cache

from .text import folded

LOOKALIKES = str.maketrans("аеорсухіјѕһԁӏвкмнтгѵԛԝҽαοενρτικβζημɑɡıɩⲟօսհ", "aeopcyxijshdlbkmhtrvqweaoevptikbzhmagiioouh")
"""Letters by which another one is often replaced, small as they are after folding: a capital В is a small в there."""
SIGNS = frozenset("+#%&@")
"""Punctuation and symbols that belong to a word: C++ is not C#."""


@lru_cache(maxsize=16)  # the gate and the index ask for the same one in turn
def fingerprint(text: str) -> str:
    """Return a digest that is the same for every spelling of a value."""
    return hashlib.sha256(stated(text).encode()).hexdigest()[:32]


def keyed_fingerprint(key: bytes, user_id: str, text: str) -> str:
    """Return a digest of a user's value that nobody without ``key`` can find by trying values."""
    return hmac.new(key, f"{user_id}\0{stated(text)}".encode(), hashlib.sha256).hexdigest()


def stated(text: str) -> str:
    """Return what ``text`` comes down to: every word in its order, without what only spells it.

    Case, width, accents, invisible and look-alike characters, blanks and punctuation make no difference, except where
    they make a number another one.

    >>> stated("Alice prefers  es-presso!") == stated("alice prefers ESPRESSO")
    True
    >>> stated("It costs 3.5") == stated("It costs 35")
    False
    """
    flat = folded(text)
    if not flat.isascii():
        flat = flat.translate(LOOKALIKES)
    used = set(flat)
    gaps = "".join(sorted(filter(_is_gap, used)))
    if any(map(str.isnumeric, used)) and gaps:
        return re.sub(f"[{re.escape(gaps)}]+", _kept, flat) or text.strip()
    return flat.translate(dict.fromkeys(map(ord, gaps))) or text.strip()


@lru_cache(maxsize=1024)
def _is_gap(char: str) -> bool:
    return char not in SIGNS and unicodedata.category(char)[0] in "PZC"


def _kept(match: re.Match[str]) -> str:
    """Return what stays of blanks and punctuation between two runs of letters, digits and signs."""
    flat, gap, start, end = match.string, match.group(), match.start(), match.end()
    if not flat[end : end + 1].isnumeric():
        return ""
    if start and flat[start - 1].isnumeric():
        return gap.strip() or " "
    return "-" if gap.endswith(("-", "\N{MINUS SIGN}")) and (len(gap) > 1 or start == 0) else ""
