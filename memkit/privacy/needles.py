"""What to look for after an erasure: pieces of a person's texts that nobody else's texts hold.

A text is compared by its letters and digits alone, so that case, accents, blanks, line breaks and punctuation cannot
hide it. From the texts come *runs* of a fixed number of letters and *values*, which are words with a digit in them. What
also stands in the lines of others, or in the files every store starts with, says nothing about the person and is left
out; so two users may say the same thing, and the scan accuses neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from unicodedata import normalize

RUN = 12
"""Letters and digits that a text must share with an erased one to count as a trace of it."""
SHORTEST_VALUE = 5
SHORTEST_NUMBER = 7
SHORTEST_NAME = 3
STRUCTURAL = frozenset(
    "head heads main master refs tags remotes origin stash notes commits archive skills policies domains outputs memkit "
    "cache state sessions shared local user users agent test tests docs person program import git github yaml json jsonl"
    " core human persona system store memory index update merge branch commit wip remember erase erased".split()
)
"""Words that a store is made of; somebody of that name can be found in the lines alone."""

_WORD = re.compile(r"[^\W_]+")
_ASCII_GAPS = {code: None for code in range(128) if not chr(code).isalnum()}


class Needles:
    """The pieces of one person's texts, and their name."""

    def __init__(self, user_id: str, texts: Iterable[str], ids: Iterable[str] = ()) -> None:
        self.user_id = user_id
        self.texts = frozenset(filter(None, (flat(text) for text in texts)))
        self.ids = frozenset(filter(None, map(flat, ids)))
        self.runs = {run for text in self.texts for run in _runs(text)}
        self.values = {value for text in texts for value in _values(text)} | self.ids
        self.names_person = len(user_id) >= SHORTEST_NAME and user_id.casefold() not in STRUCTURAL
        """Whether the id is a name of its own and no word of the store's."""
        self.bare = self.names_person
        """Whether the id alone, outside of a line, is a trace: not where others use the word as well."""
        self._name = re.compile(rf"(?<!\w){re.escape(user_id)}(?!\w)")
        self._field = re.compile(rf"user_id\W{{0,5}}[:=]\s*[\"']?{re.escape(user_id)}(?!\w)")

    def spare(self, text: str) -> None:
        """Leave out what ``text``, which is somebody else's, holds as well."""
        letters = flat(text)
        self.runs.difference_update(_runs(letters))
        if self.values:
            self.values.difference_update(_words(text))
        if self.bare and self._name.search(text):
            self.bare = False

    def found_in(self, text: str) -> bool:
        """Return whether ``text`` holds a piece."""
        return self._names(text) or self.quoted_in(text)

    def quoted_in(self, text: str) -> bool:
        """Return whether ``text`` holds a piece of a text; the name alone is none."""
        if not self.runs.isdisjoint(_runs(flat(text))):
            return True
        return bool(self.values) and not self.values.isdisjoint(_words(text))

    def whole_text_in(self, text: str) -> bool:
        """Return whether ``text`` repeats a whole text of some length, whoever else says the same."""
        letters = flat(text)
        return any(len(wanted) >= 2 * RUN and wanted in letters for wanted in self.texts)

    def redacted(self, text: str, *, name: bool = True) -> str:
        """Return ``text`` with every piece replaced; ``name`` says whether the person's name goes too."""
        spans = list(self._run_spans(text))
        spans += [match.span() for match in _WORD.finditer(text) if flat(match[0]) in self.values]
        if name and self.names_person:
            spans += [match.span() for match in self._name.finditer(text)]
        return _without(text, spans)

    def _names(self, text: str) -> bool:
        if self.user_id not in text:
            return False
        return bool(self._field.search(text) or (self.bare and self._name.search(text)))

    def _run_spans(self, text: str) -> Iterator[tuple[int, int]]:
        places = [(letter, place) for place, char in enumerate(text) for letter in _letters(char)]
        letters = "".join(letter for letter, _ in places)
        for start in range(len(letters) - RUN + 1):
            if letters[start : start + RUN] in self.runs:
                yield places[start][1], places[start + RUN - 1][1] + 1


def flat(text: str) -> str:
    """Return the letters and digits of ``text``, folded.

    >>> flat("Café  No. 7")
    'cafeno7'
    """
    if text.isascii():
        return text.lower().translate(_ASCII_GAPS)
    return "".join(map(_letters, text))


@lru_cache(maxsize=4096)
def _letters(char: str) -> str:
    return "".join(filter(str.isalnum, normalize("NFKD", normalize("NFKC", char).casefold())))


def _runs(letters: str) -> Iterator[str]:
    return (letters[start : start + RUN] for start in range(len(letters) - RUN + 1))


def _words(text: str) -> Iterator[str]:
    return (flat(word) for word in _WORD.findall(text))


def _values(text: str) -> Iterator[str]:
    """Yield the words that look like a value: a digit among letters, or a long number."""
    for word in _words(text):
        if any(char.isdigit() for char in word):
            shortest = SHORTEST_NUMBER if word.isdigit() else SHORTEST_VALUE
            if len(word) >= shortest:
                yield word


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return ``text`` with the spans, merged where they touch, replaced."""
    kept, end = [], 0
    for start, stop in sorted(spans):
        if start > end or (start == end and not kept):
            kept += [text[end:start], "[erased]"]
        end = max(end, stop)
    return "".join([*kept, text[end:]])
