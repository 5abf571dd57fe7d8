"""Characters that stand for all others: no pattern of a question tells two characters of one class apart."""

from __future__ import annotations

import re
import string
import sys
from bisect import bisect_right
from collections.abc import Collection, Iterator
from functools import lru_cache

from memkit.runtime.guard.regex import Chars

WORDY = Chars(classes=("w",))
NEWLINE = Chars((("\n", "\n"),))

_READABLE = string.ascii_lowercase + string.digits + string.ascii_uppercase + "-_./ " + string.punctuation
_COMMON = "".join(dict.fromkeys(_READABLE + "".join(map(chr, range(128))))) + "é٣\u2003€"
"""Every ASCII character, those that read best first; and beyond ASCII a letter, a digit, a space and a sign."""
_RUNS = re.compile(r"\d+|\s+|[^\W\d]+|[^\w\s]+")
_LAST_CASED = 0x1F000


@lru_cache(maxsize=65536)
def representatives(sets: frozenset[Chars]) -> str:
    """Return one character of every class that the sets divide all characters into, those that read best first."""
    distinct = tuple(sets)
    if not distinct:
        return _COMMON[0]
    found: dict[tuple[bool, ...], str] = {}
    for char, seen in zip(_COMMON, zip(*map(_row, distinct), strict=True), strict=True):
        found.setdefault(seen, char)
    for char in dict.fromkeys(_uncommon(distinct)):
        found.setdefault(tuple(chars.holds(char) for chars in distinct), char)
    return "".join(found.values())


@lru_cache(maxsize=4096)
def _row(chars: Chars) -> tuple[bool, ...]:
    return tuple(map(chars.holds, _COMMON))


def _uncommon(sets: Collection[Chars]) -> Iterator[str]:
    r"""Yield characters that cover every class beyond ASCII.

    Between two borders of ranges only the Unicode classes can tell characters apart, and with them the four that
    ``\d``, ``\s`` and ``\w`` make; what ignores case asks for the other case of a character too.
    """
    borders = {ord(low) for chars in sets for low, _ in chars.ranges}
    borders |= {ord(high) + 1 for chars in sets for _, high in chars.ranges}
    starts = sorted({128, *(border for border in borders if 128 < border <= sys.maxunicode)})
    if len(starts) > 1:
        for start, end in zip(starts, [*starts[1:], sys.maxunicode + 1], strict=True):
            yield from _kinds_between(start, end)
    if any(chars.fold for chars in sets):
        yield from _cased()


def _kinds_between(start: int, end: int) -> Iterator[str]:
    """Yield the first character of each kind in a range."""
    runs = _runs()
    seen: set[str] = set()
    for position in range(bisect_right(runs, (start, "~")) - 1, len(runs)):
        place, kind = runs[position]
        if place >= end or len(seen) == 4:
            return
        if kind not in seen:
            seen.add(kind)
            yield chr(max(place, start))


@lru_cache(maxsize=1)
def _runs() -> tuple[tuple[int, str], ...]:
    """Return where each run of characters of one kind begins."""
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    return tuple((found.start(), _kind(found.group()[0])) for found in _RUNS.finditer(everything))


def _kind(char: str) -> str:
    if char.isdecimal():
        return "digit"
    if char.isspace():
        return "space"
    return "word" if char.isalnum() else "sign"


@lru_cache(maxsize=1)
def _cased() -> tuple[str, ...]:
    return tuple(char for char in map(chr, range(128, _LAST_CASED)) if char.lower() != char or char.upper() != char)
