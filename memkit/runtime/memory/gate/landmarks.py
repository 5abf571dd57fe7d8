"""Finds in one pass where a text has the first words of patterns, so that no pattern scans all of it.

A regular expression of eighty words is tried at every character, and there are sixty of them. One pass over the text
finds every word that any of them begins with, and a pattern is tried only at its own words. Patterns without spaces,
such as tokens, are searched for only in the long words of the text.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, chain

Words = tuple[str, ...]
"""Lower-case words; every match of a pattern begins with one of them."""
LONG_WORD = 12
SHORT_WORD = 8
"""The minimum length of a token; a word with a colon, such as a password in an address, may be shorter."""
_FOLDED = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u03c2", "\u03c3"), ("\u1c82", "\u043e"))
"""Letters whose other case has more than one letter, or which ``(?i)`` equates with another."""


def words(text: str) -> Words:
    """Return the words of a list in folded form; ``~`` joins the parts of a multi-word entry."""
    return tuple(folded(word.replace("~", " ")) for word in text.split())


def folded(text: str) -> str:
    """Return ``text`` in the lower case that ``(?i)`` compares, with its length unchanged.

    >>> folded("Ma\u0130l"), len("\u0130".lower())
    ('mail', 2)
    """
    if text.isascii():
        return text.lower()
    for odd, plain in _FOLDED[:1]:
        text = text.replace(odd, plain)
    text = text.lower()
    for odd, plain in _FOLDED[1:]:
        text = text.replace(odd, plain)
    return text


class Landmarks:
    """The positions of ``known`` words in a text, at word starts or anywhere, and the pattern matches there."""

    def __init__(self, text: str, known: Words, *, in_words: bool = False) -> None:
        self.text = text
        self.folded = folded(text)
        self._roots_of, pattern = _search_for(known, in_words)
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for found in pattern.finditer(self.folded):
            self._places[found[1]].append(found.start())

    def of(self, beginnings: Words) -> list[int]:
        """Return the positions of ``beginnings``, left to right, including words with the same first letters."""
        roots = self._roots_of(beginnings) & self._places.keys()
        return sorted(chain.from_iterable(self._places[root] for root in roots))

    def matches(self, pattern: re.Pattern[str], beginnings: Words) -> Iterator[re.Match[str]]:
        """Yield the same as ``pattern.finditer``, for a pattern that begins with one of these words."""
        end = 0
        for place in self.of(beginnings):
            if place >= end and (match := pattern.match(self.text, place)):
                end = match.end()
                yield match

    def matches_before(
        self, pattern: re.Pattern[str], place: int, most: int, with_one_of: frozenset[str] = frozenset()
    ) -> Iterator[re.Match[str]]:
        """Yield matches of ``pattern`` beginning at most ``most`` words before ``place``, with one of these within."""
        start = self._back(place, most)
        if with_one_of and with_one_of.isdisjoint(self.folded[start:place].split()):
            return
        while start <= place:
            match = pattern.match(self.text, start)
            start = match.end() if match else start + 1
            if match:
                yield match

    def _back(self, place: int, most: int) -> int:
        size = 32 * most
        while True:
            start = max(0, place - size)
            pieces = self.text[start:place].rsplit(None, most)
            if len(pieces) > most:
                return start + len(pieces[0])
            if start == 0:
                return 0
            size *= 4


@lru_cache(maxsize=4)
def _search_for(known: Words, in_words: bool) -> tuple[Callable[[Words], frozenset[str]], re.Pattern[str]]:
    """Return the shortest prefixes of known words, and a pattern that finds them, after a non-letter or anywhere."""
    roots: dict[str, str] = {}
    kept: set[str] = set()
    for word in sorted(known, key=len):
        roots[word] = next((word[:size] for size in range(1, len(word)) if word[:size] in kept), word)
        kept.add(roots[word])
    edge = "" if in_words else "(?<![a-z])"
    roots_of = lru_cache(lambda beginnings: frozenset(roots[word] for word in beginnings))
    return roots_of, re.compile(rf"{edge}(?=({_tree(kept)}))")


def _tree(endings: Iterable[str]) -> str:
    """Return an expression for ``endings`` that tries each first letter only once.

    >>> _tree(["pass", "pwd", "key"])
    '(?:key|p(?:ass|wd))'
    """
    by_first: defaultdict[str, list[str]] = defaultdict(list)
    for ending in sorted(endings):
        by_first[ending[:1]].append(ending[1:])
    if "" in by_first:
        return ""
    parts = [re.escape(first) + _tree(rest) for first, rest in by_first.items()]
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"


class LongWords:
    """The words of a text that can hold a token, on lines, with the original position of each character."""

    def __init__(self, text: str) -> None:
        found = [word for word in text.split() if len(word) >= LONG_WORD or (":" in word and len(word) >= SHORT_WORD)]
        self._starts, end = [], 0
        for word in found:  # no shorter word between two of them can hold one
            self._starts.append(text.index(word, end))
            end = self._starts[-1] + len(word)
        self._lines = [0, *accumulate(len(word) + 1 for word in found)]
        self.text = "\n".join(found)
        self._folded = folded(self.text)

    def with_one_of(self, keywords: Words) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the lines that contain one of ``keywords``."""
        for keyword in keywords:
            place = self._folded.find(keyword)
            while place >= 0:
                end = self.text.find("\n", place)
                end = len(self.text) if end < 0 else end
                yield self.text.rfind("\n", 0, place) + 1, end
                place = self._folded.find(keyword, end)

    def place(self, index: int) -> int:
        """Return the position in the whole text of the character at ``index`` in the lines."""
        line = bisect_right(self._lines, index) - 1
        return self._starts[line] + index - self._lines[line]
