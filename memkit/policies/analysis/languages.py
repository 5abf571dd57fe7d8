"""Sets of texts that conditions hold for, as automata; and whether a combination of such sets contains any text.

Globs, prefixes and lists become the same automata that the engine runs for regular expressions. A question about
several of them walks through all at once, character by character, and remembers visited states: since these are
finite in number, it ends with a shortest text, or with the proof that there is none.
"""

from __future__ import annotations

import fnmatch
import re
import string
import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from memkit.runtime.guard.dfa import END, LAST_NEWLINE, Dfa, Place
from memkit.runtime.guard.interface import PolicySetError
from memkit.runtime.guard.regex import Automaton, Chars, compile_regex

WORDY = Chars(classes=("w",))
NEWLINE = Chars((("\n", "\n"),))

_READABLE = string.ascii_lowercase + string.digits + string.ascii_uppercase + "-_./ " + string.punctuation
_COMMON = "".join(dict.fromkeys(_READABLE + "".join(map(chr, range(128))))) + "é٣\u2003€"
"""Every ASCII character, most readable first; and beyond ASCII a letter, a digit, a space and a sign."""
_RUNS = re.compile(r"\d+|\s+|[^\W\d]+|[^\w\s]+")
_LAST_CASED = 0x1F000


@lru_cache(maxsize=65536)
def representatives(sets: frozenset[Chars]) -> str:
    """Return one character of every class into which the sets divide all characters, the most readable ones."""
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

    Between two boundaries of ranges only the Unicode classes distinguish characters, and with them the four that
    ``\d``, ``\s`` and ``\w`` make; a case-insensitive set also depends on a character's other case.
    """
    borders = {ord(low) for chars in sets for low, _ in chars.ranges}
    borders |= {ord(high) + 1 for chars in sets for _, high in chars.ranges}
    starts = sorted({128, *(border for border in borders if 128 < border <= sys.maxunicode)})
    if len(starts) > 1:
        for start, end in zip(starts, [*starts[1:], sys.maxunicode + 1], strict=True):
            yield from _kinds_between(start, end)
    if any(chars.fold for chars in sets):
        beyond = any(high > "\x7f" for chars in sets for _, high in chars.ranges)
        yield from _cased() if beyond else _cased_of_ascii()


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


@lru_cache(maxsize=1)
def _cased_of_ascii() -> tuple[str, ...]:
    """Return those of them that sets with ranges in ASCII alone can distinguish, in order.

    These are letters whose other case is in ASCII or has more than one letter; of all others the first for each
    combination of kinds of its cases.
    """
    found: dict[object, str] = {}
    for char in _cased():
        cases = char, char.lower(), char.upper()
        is_plain = all(len(case) == 1 and case > "\x7f" for case in cases)
        found.setdefault(tuple(map(_kind, cases)) if is_plain else char, char)
    return tuple(found.values())


MAX_CONFIGURATIONS = 3_000
"""The most states visited before the question is left open."""

Truth = bool | None
Accepts = Callable[[Sequence[Truth]], Truth]
"""From what is known about each set (in, out, or undecided) to what is known about their combination."""


def all_hold(truths: Sequence[Truth]) -> Truth:
    """Return what is known about a conjunction."""
    return False if False in truths else (None if None in truths else True)


class TooComplex(Exception):
    """A question that cannot be answered within the limits of this analysis."""


def escaped(text: str) -> str:
    """Return a pattern for exactly this text."""
    return "".join(char if char.isalnum() or char == "_" else f"\\{char}" for char in text)


def glob_pattern(glob: str) -> str:
    """Return the regular expression of a glob; open ends are left open, so that a match is never retracted."""
    core = glob.strip("*") if not glob.endswith("]") else glob.lstrip("*")
    head = "" if glob.startswith("*") else r"\A"
    tail = "" if glob.endswith("*") else r"\Z"
    if not core:
        return "" if glob else r"\A\Z"
    return f"{head}{''.join(_glob_parts(core))}{tail}"


def _glob_parts(glob: str) -> Iterable[str]:
    position = 0
    while position < len(glob):
        char = glob[position]
        end = _set_end(glob, position) if char == "[" else position + 1
        if char == "*":
            yield r"[\s\S]*"
        elif char == "?":
            yield r"[\s\S]"
        elif end > position + 1:
            yield _set_pattern(glob[position:end])
        else:
            yield escaped(char)
        position = end


def _set_end(glob: str, start: int) -> int:
    """Return where a set ends; an unclosed bracket is literal."""
    position = start + 1
    position += glob[position : position + 1] == "!"
    position += glob[position : position + 1] == "]"
    close = glob.find("]", position)
    return start + 1 if close < 0 else close + 1


def _set_pattern(glob: str) -> str:
    """Return Python's interpretation of a set, in the supported subset."""
    made = fnmatch.translate(glob).removeprefix("(?s:").removesuffix(r")\Z")
    return {"(?!)": r"[^\s\S]", ".": r"[\s\S]"}.get(made, made)


NUMBER = (
    r"\A\s*[+-]?(?:(?:\d(?:_?\d)*\.?(?:\d(?:_?\d)*)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?"
    r"|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)\s*\Z"
)
"""The texts that the engine reads as a number."""


@dataclass(frozen=True, eq=False)
class Language:
    """A set of texts accepted by an automaton, which searches for its pattern and accepts once it is found."""

    automaton: Automaton
    looks_ahead: bool
    """Whether a position depends on the following character."""

    @property
    def sets(self) -> tuple[Chars, ...]:
        """Return every set of characters that it distinguishes."""
        read = tuple(state.reads for state in self.automaton.states if state.reads is not None)
        return (*read, WORDY, NEWLINE) if self.looks_ahead else read

    @cached_property
    def dfa(self) -> Dfa:
        """Return the engine's search for it."""
        return Dfa(self.automaton)

    def told_apart(self, place: Place) -> Collection[Chars]:
        """Return the sets of characters that tell where the next one leads from a place of that search."""
        return self.sets if place and self.looks_ahead else self.dfa.reads(place)


@lru_cache(maxsize=4096)
def language(patterns: tuple[str, ...]) -> Language:
    """Return the texts in which one of the patterns occurs; raise ``TooComplex`` if they are too large together."""
    joined = "|".join(f"(?:{pattern})" for pattern in patterns) if len(patterns) > 1 else patterns[0]
    try:
        automaton = compile_regex(joined)
    except PolicySetError:
        raise TooComplex from None
    anchors = {state.anchor for state in automaton.states}
    return Language(automaton, bool(anchors & {"line_end", "boundary", "no_boundary"}))


def find_text(languages: Sequence[Language], accepts: Accepts) -> str | None:
    """Return a shortest text that the combination accepts, or ``None`` if there is none.

    Raises:
        TooComplex: More states than the limit.
    """
    looks_ahead = any(one.looks_ahead for one in languages)
    searches = [one.dfa for one in languages]
    queue = deque([([search.begin for search in searches], "", False)])
    visited: set[object] = set()
    while queue:
        places, text, ending = queue.popleft()
        verdict = accepts([search.answer(place) for search, place in zip(searches, places, strict=True)])
        if verdict is False:
            continue
        if verdict:
            return text
        told_apart = frozenset[Chars]().union(*map(Language.told_apart, languages, places))
        for char in _tokens(representatives(told_apart), ending=ending, looks_ahead=looks_ahead):
            reached = [search.led(place, [char]) for search, place in zip(searches, places, strict=True)]
            if char == END:
                if accepts([search.answer(place) is True for search, place in zip(searches, reached, strict=True)]):
                    return text
                continue
            configuration = (char == LAST_NEWLINE, *map(Dfa.identity, searches, reached))
            if configuration not in visited:
                if len(visited) >= MAX_CONFIGURATIONS:
                    raise TooComplex
                visited.add(configuration)
                queue.append((reached, text + char[0], char == LAST_NEWLINE))
    return None


def _tokens(alphabet: str, *, ending: bool, looks_ahead: bool) -> Iterable[str]:
    """Yield what may be read next: the end, a newline right before it, or a character."""
    yield END
    if ending:
        return
    if looks_ahead:
        yield LAST_NEWLINE
    yield from alphabet
