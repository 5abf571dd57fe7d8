"""Building blocks of conditions: reading and showing values of a call, globs, and combining answers.

Answers are three-valued: a view that cannot read its text answers "unknown", and unknown survives ``any``, ``all`` and
``not`` so that it reaches the policy, which treats it as a match if it is hard.
"""

from __future__ import annotations

import fnmatch
import math
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from .interface import JSON, Path, Ternary

_SHOWN = 60
_LISTED = 6


def text_of(value: JSON) -> str | None:
    """Return the text that a string condition examines, or ``None`` if the value has none.

    Numbers and booleans read as in JSON, so that a call cannot slip past by changing a type. A list reads as the
    command line that it would be, with the words of the lists in it.

    >>> text_of(["rm", ["-r", ["my files"]], 1.0])
    "rm -r 'my files' 1"
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if isinstance(value, (list, tuple)):
        return shlex.join(_words_in(value))
    return None


def _words_in(listed: Iterable[JSON]) -> Iterator[str]:
    """Yield the text of every item, at any depth: quoting inner lists once more for each level triples the text."""
    waiting = [iter(listed)]
    while waiting:
        item = next(waiting[-1], waiting)
        if item is waiting:
            waiting.pop()
        elif isinstance(item, (list, tuple)):
            waiting.append(iter(item))
        else:
            yield text_of(item) or ""


def shown(text: str | None) -> str:
    """Return text of a call for use in a reason: shortened, on one line, control characters escaped."""
    if text is None:
        return "the value"
    safe = text[: _SHOWN + 1]
    if not safe.isprintable():
        safe = "".join(char if char.isprintable() else repr(char)[1:-1] for char in safe)
    return safe if len(text) <= _SHOWN else f"{safe[:_SHOWN]}…"


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text as a set; long word lists are more readable as prose."""
    return frozenset(text.split())


def bracketed(values: Iterable[JSON]) -> str:
    """Return values as a readable list: ``[rm, shred, dd]``; a long one is truncated."""
    listed = [*values]
    texts = [text_of(value) or "" for value in listed[:_LISTED]]
    rest = [f"… {len(listed)} in all"] if len(listed) > _LISTED else []
    return f"[{', '.join(texts + rest)}]"


_WILDCARD = re.compile(r"[*?\[]")


def has_wildcards(pattern: str) -> bool:
    """Return whether a pattern can match more than its own text."""
    return _WILDCARD.search(pattern) is not None


def literal_head(pattern: str) -> str:
    """Return the text before the first wildcard."""
    return _WILDCARD.split(pattern, maxsplit=1)[0]


@lru_cache(maxsize=4096)
def glob_test(pattern: str) -> Callable[[str], bool]:
    """Return a matcher for one glob, whose time is bounded by text length times pattern length."""
    if not has_wildcards(pattern):
        return pattern.__eq__
    return lambda text: _glob(pattern).match(text) is not None


def glob_needs(pattern: str) -> Needs:
    """Return the need of a text that a glob matches: the longest of the literal pieces between its wildcards."""
    if not has_wildcards(pattern):
        return of_texts(EQUAL, [pattern])
    pieces = _WILDCARD.split(pattern)
    kinds = [PREFIX, *[INSIDE] * (len(pieces) - 2), SUFFIX]
    known = pieces[:1] if "[" in pattern else pieces  # what follows a bracket may be part of its set
    return of_all(of_texts(kind, [piece]) for kind, piece in zip(kinds, known, strict=False))


@lru_cache(maxsize=4096)
def _glob(pattern: str) -> re.Pattern[str]:
    """Return a compiled glob, on demand: most globs in a set of policies never meet a text."""
    return re.compile(fnmatch.translate(pattern))


NO = Ternary(False)


class Predicate:
    """One condition on a value, compiled to a closure; rarely used properties are computed on demand."""

    def __init__(
        self,
        test: Callable[[JSON], Ternary],
        tells: Callable[[], str],
        path: Path,
        children: tuple[Predicate, ...] = (),
        *,
        whole: bool = False,
        accepts: Callable[[str], bool] | None = None,
        joint: str = "",
        tells_needs: Callable[[], Needs] = lambda: UNKNOWN,
    ) -> None:
        self.test = test
        self.path = path
        self.children = children
        """The conditions that ``any``, ``all`` or ``not`` combines; empty for a leaf."""
        self.whole = whole
        """Whether a list is passed whole (as an argument vector) rather than one element at a time."""
        self.accepts = accepts
        """For a condition on text alone: returns whether it holds for a text, without the reason."""
        self.joint = joint
        """How the children are combined: ``any``, ``all`` or ``not``; empty for a leaf."""
        self._tells = tells
        self._tells_needs = tells_needs

    @cached_property
    def says(self) -> str:
        """The condition in words, for the reason of a verdict."""
        return self._tells()

    @cached_property
    def needs(self) -> Needs:
        """What a value must have for the condition to answer anything but ``NO``."""
        return self._tells_needs()

    def leaves(self) -> Iterator[Predicate]:
        """Yield the conditions that examine the value themselves."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()

    def on(self, value: JSON) -> Ternary:
        """Return the condition's answer; for a list, it holds if it holds for any element."""
        if self.whole or not isinstance(value, (list, tuple)):
            return NO if value is None else self.test(value)
        return first_of(self.on(element) for element in value)


def first_of(outcomes: Iterator[Ternary]) -> Ternary:
    """Return the first match, else the first unknown, else no match."""
    unknown = NO
    for outcome in outcomes:
        if outcome.state:
            return outcome
        if outcome.state is None and unknown.state is False:
            unknown = outcome
    return unknown


def any_check(
    children: Sequence[Predicate], path: Path, asked: Callable[[JSON], Sequence[Predicate]] | None = None
) -> Predicate:
    """Return a condition that holds if one of ``children`` does; ``asked`` selects those that may."""
    parts = tuple(children)

    def test(value: JSON) -> Ternary:
        return first_of(part.test(value) for part in (asked(value) if asked else parts))

    def needs() -> Needs:
        return of_any(part.needs for part in parts)

    return _combined("any", test, lambda: " or ".join(part.says for part in parts), path, parts, needs)


def all_check(children: Sequence[Predicate], path: Path) -> Predicate:
    """Return a condition that holds if every one of ``children`` does."""
    parts = tuple(children)

    def test(value: JSON) -> Ternary:
        outcomes = []
        for part in parts:
            outcome = part.test(value)
            if outcome.state is False:
                return NO
            outcomes.append(outcome)
        state = None if any(outcome.state is None for outcome in outcomes) else True
        return Ternary(state, " and ".join(outcome.reason for outcome in outcomes))

    def needs() -> Needs:
        return of_all(part.needs for part in parts)

    return _combined("all", test, lambda: " and ".join(part.says for part in parts), path, parts, needs)


def not_check(child: Predicate, path: Path) -> Predicate:
    """Return a condition that holds if ``child`` does not; unknown stays unknown."""

    def tells() -> str:
        return f"not ({child.says})"

    def test(value: JSON) -> Ternary:
        outcome = child.test(value)
        if outcome.state is None:
            return outcome
        return NO if outcome.state else Ternary(True, tells())

    return _combined("not", test, tells, path, (child,))


def surely_check(child: Predicate, path: Path) -> Predicate:
    """Return a condition that holds if ``child`` certainly does; unknown counts as no match."""

    def test(value: JSON) -> Ternary:
        outcome = child.test(value)
        return outcome if outcome.state else NO

    return _combined("any", test, lambda: child.says, path, (child,), lambda: child.needs)


def _combined(
    joint: str,
    test: Callable[[JSON], Ternary],
    tells: Callable[[], str],
    path: Path,
    parts: tuple[Predicate, ...],
    needs: Callable[[], Needs] = lambda: UNKNOWN,
) -> Predicate:
    whole = any(part.whole for part in parts)
    in_words = (lambda: f"({tells()})") if len(parts) > 1 else tells
    return Predicate(test, in_words, path, parts, whole=whole, joint=joint, tells_needs=needs)


# Needs: what a value must have for a condition to hold, which selects the policies worth evaluating.


EQUAL, PREFIX, SUFFIX, INSIDE, RANGE, PROGRAM, STATEMENT = (
    "equal",
    "prefix",
    "suffix",
    "inside",
    "range",
    "program",
    "statement",
)


class Need(NamedTuple):
    """One property that a value can have."""

    kind: str
    """How ``text`` relates to the text of the value: equal to it, at its start or end, or anywhere in any case; a
    range of numbers; a program that it would run as shell; the first word of a statement that it would run as SQL."""
    text: str = ""
    low: float = -math.inf
    high: float = math.inf
    """Both ends belong to the range; a value that is not a number may meet every range."""


Needs = frozenset[Need]
"""A value must meet one of them; if empty, nothing is known and the condition is always evaluated."""

UNKNOWN: Needs = frozenset()

_RARITY = {EQUAL: 60, PROGRAM: 50, STATEMENT: 30, RANGE: 4}
"""How selective a need is; a part of a text counts by its length."""


def of_texts(kind: str, texts: Iterable[str]) -> Needs:
    """Return the needs of a condition met by one of the texts; unknown if one is empty, which every value meets."""
    found = frozenset(Need(kind, folded(text) if kind == INSIDE else text) for text in texts)
    return found if all(need.text or kind == EQUAL for need in found) else UNKNOWN


def of_any(parts: Iterable[Needs]) -> Needs:
    """Return the needs of a disjunction."""
    known = list(parts)
    return frozenset().union(*known) if known and all(known) else UNKNOWN


def of_all(parts: Iterable[Needs]) -> Needs:
    """Return the needs of a conjunction: those of its most selective part."""
    return max(parts, key=telling, default=UNKNOWN)


def telling(needs: Needs) -> int:
    """Return a measure of how few values meet the needs."""
    return min((_RARITY.get(need.kind) or len(need.text) for need in needs), default=0)


_ODD = {0x130: "i", 0x131: "i", 0x17F: "s", 0x212A: "k"}
"""The non-ASCII characters that are an ASCII letter in another case."""
_FOLDS = {**{code: chr(code + 32) for code in range(ord("A"), ord("Z") + 1)}, **_ODD}


def folded(text: str) -> str:
    """Return a text in which letters that differ only in case are equal, as far as they map to ASCII."""
    return text.lower() if text.isascii() else text.translate(_FOLDS)
