"""Whether one value can be as several conditions want it: a value that shows it, the proof of none, or neither.

A value is a text (numbers and truth values count by their spelling), an object, or a list. Every value that is returned
was put before the engine. That there is none is claimed only where texts, numbers and shapes were looked through
completely.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, count, islice
from typing import NamedTuple

from memkit.guard.errors import PolicySetError
from memkit.guard.interface import JSON
from memkit.guard.texts import text_of
from memkit.policies.analysis.formulas import (
    POSSIBLE,
    All,
    Any,
    Condition,
    Formula,
    Leaf,
    Literal,
    denied,
    leaves,
)
from memkit.policies.analysis.languages import NUMBER, Language, TooComplex, Truth, find_text, language
from memkit.policies.analysis.numbers import sample_numbers
from memkit.policies.analysis.views import glob_sample, guesses, within

MAX_CASES = 4_000
"""So many ways to fulfil the views are looked at before the answer is that nobody knows."""
_ORDINARY = ("x", "a b", "0", "1", "/tmp/x", "ls", "")
_FEW = 12


class Part(NamedTuple):
    """One condition that a value must fulfil, or must not."""

    condition: Condition
    mode: str
    """Whether surely or possibly."""
    wanted: bool = True

    def holds(self, value: JSON) -> bool:
        """Return what the engine says of a value."""
        return self.condition.holds(value, self.mode) is self.wanted

    @property
    def formula(self) -> Formula:
        """Return when a value that is no list is as wanted."""
        formula = self.condition.formula(self.mode)
        return formula if self.wanted else denied(formula)


@dataclass(frozen=True)
class Found:
    """A value that is as wanted."""

    value: JSON


@dataclass(frozen=True)
class Nothing:
    """There is no such value."""


@dataclass(frozen=True)
class Unknown:
    """Nobody knows, and why."""

    reason: str


Answer = Found | Nothing | Unknown


@lru_cache(maxsize=65536)
def solve(parts: tuple[Part, ...], *, text_only: bool = False, glance: bool = False) -> Answer:
    """Return a value that is as every part wants it.

    Args:
        parts: What is wanted of the value.
        text_only: Whether the value is a text by its nature, as the name of a tool is.
        glance: Whether only a value is of use and no proof, so that what takes long is left.
    """
    formula = All(tuple(part.formula for part in parts))
    for value in _likely(parts, formula):
        if all(part.holds(value) for part in parts):
            return Found(value)
    if glance and any(leaf.is_view for leaf in leaves(formula)):
        return _guessed(parts, formula)
    try:
        answers = [_texts(parts, formula)]
        if not (text_only or glance) and not isinstance(answers[0], Found):
            answers += [_objects(parts, formula), _lists(parts, formula)]
    except (TooComplex, PolicySetError):
        return Unknown("the conditions are too large to look through")
    return min(answers, key=lambda answer: (Found, Unknown, Nothing).index(type(answer)))


# Guesses


def _likely(parts: Sequence[Part], formula: Formula) -> Iterator[JSON]:
    """Yield values that are probably as wanted: those that the conditions name, and ordinary ones."""
    wanted = [leaf for part in parts if part.wanted for leaf in part.condition.leaves]
    for leaf in dict.fromkeys(wanted):
        yield from islice(samples(leaf), _FEW)
    yield from _ordinary_numbers(formula)
    yield from _ORDINARY


def samples(leaf: Leaf) -> Iterable[JSON]:
    """Return values for which a leaf probably holds, those that read best first."""
    if leaf.members is not None:
        return leaf.members.values()
    if leaf.operator == "glob":
        return [glob_sample(glob) for glob in (leaf.operand if isinstance(leaf.operand, list) else [leaf.operand])]
    if leaf.operator == "prefix":
        return leaf.operand if isinstance(leaf.operand, list) else [leaf.operand]
    if leaf.operator == "range":
        return _whole([leaf])
    if leaf.operator == "regex":
        return _regex_samples(leaf)
    return guesses([leaf])


@lru_cache(maxsize=4096)
def _regex_samples(leaf: Leaf) -> tuple[str, ...]:
    try:
        found = find_text([leaf.language], lambda known: known[0])
    except (TooComplex, PolicySetError):
        return ()
    return () if found is None else (found,)


def _whole(ranges: Iterable[Leaf]) -> Iterator[JSON]:
    yield from map(_written, sample_numbers(leaf.operand for leaf in ranges))


def _written(number: float) -> JSON:
    """Return a number as people and JSON write it; JSON has no infinity, but the engine reads its name."""
    if not math.isfinite(number):
        return str(number)
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _ordinary_numbers(formula: Formula) -> Iterator[JSON]:
    ranges = [leaf for leaf in leaves(formula) if leaf.operator == "range"]
    if ranges:
        yield from _whole(ranges)


def _guessed(parts: Sequence[Part], formula: Formula) -> Answer:
    """Try what fulfils several views at once."""
    for views, _ in islice(_ways(formula, count()), _FEW):
        for value in guesses([one.leaf for one in views if one.wanted]):
            if all(part.holds(value) for part in parts):
                return Found(value)
    return Unknown("no text was found, and none was ruled out")


# Texts, numbers and truth values


def _texts(parts: Sequence[Part], formula: Formula) -> Answer:
    listable = [members for members in map(_members, parts) if members is not None]
    if listable:
        values = (value for text in sorted(frozenset.intersection(*listable)) for value in _spelled(text))
        return next((Found(value) for value in values if all(part.holds(value) for part in parts)), Nothing())
    return _looked_through(parts, formula, "text")


def _members(part: Part) -> frozenset[str] | None:
    """Return every text that can be as a part wants it, when they can be listed."""
    may_not_tell = part.mode == POSSIBLE and any(not leaf.is_text for leaf in part.condition.leaves)
    return part.condition.members if part.wanted and not may_not_tell else None


def _spelled(text: str) -> Iterator[JSON]:
    """Yield a text, and the number or truth value that is spelled so: a view reads texts only."""
    yield text
    try:
        value = json.loads(text)
    except ValueError:
        return
    if isinstance(value, (bool, int, float)) and text_of(value) == text:
        yield value


def _looked_through(parts: Sequence[Part], formula: Formula, shape: str) -> Answer:
    """Return what is known after every way to fulfil the views was looked at, with the plain rest of each."""
    unsure = False
    for views, plain in _cases(formula):
        texts = _plain_texts(plain, shape)
        first = next(texts, None)
        if first is None:
            continue
        if shape == "text":
            for value in chain([first], guesses([one.leaf for one in views if one.wanted]), texts):
                if all(part.holds(value) for part in parts):
                    return Found(value)
        unsure = True
    return Unknown("no text was found, and none was ruled out") if unsure else Nothing()


def _at_odds(views: Sequence[Literal]) -> bool:
    """Return whether one view is wanted and another that it lies within is not."""
    for one in views:
        for other in views:
            weaker = one.mode == other.mode or other.mode == POSSIBLE
            if one.wanted and not other.wanted and weaker and within(one.leaf, other.leaf):
                return True
    return False


def _cases(formula: Formula) -> Iterator[tuple[tuple[Literal, ...], Formula]]:
    """Yield every way to fulfil a formula: views that must hold or must not, and a formula without views.

    Raises:
        TooComplex: There are more ways than the bounds allow.
    """
    for views, plain in _ways(formula, count()):
        yield views, All(plain)


_Way = tuple[tuple[Literal, ...], tuple[Formula, ...]]


def _ways(formula: Formula, steps: Iterator[int]) -> Iterator[_Way]:
    if next(steps) > MAX_CASES:
        raise TooComplex
    if not any(leaf.is_view for leaf in leaves(formula)):
        yield (), (formula,)
    elif isinstance(formula, Literal):
        yield (formula,), ()
    elif isinstance(formula, Any):
        for part in formula.parts:
            yield from _ways(part, steps)
    else:
        yield from _joined(formula.parts, steps)


def _joined(parts: Sequence[Formula], steps: Iterator[int]) -> Iterator[_Way]:
    if not parts:
        yield (), ()
        return
    for views, plain in _ways(parts[0], steps):
        for more_views, more_plain in _joined(parts[1:], steps):
            joined = (*views, *more_views)
            if not _at_odds(joined):
                yield joined, (*plain, *more_plain)


# The plain part of a case: texts and numbers


def _plain_texts(formula: Formula, shape: str) -> Iterator[JSON]:
    """Yield values for which a formula without views holds; none only if there are none.

    Conditions on numbers split the line at their bounds. A text that is no number is unknown to all of them.

    Raises:
        TooComplex: It could not be told whether there is one.
    """
    ranges = list(dict.fromkeys(leaf for leaf in leaves(formula) if leaf.operator == "range"))
    unread = _settled(formula, None)
    is_number = language((NUMBER,))
    if not ranges or shape != "text":
        yield from _texts_of(unread, [])
        return
    yield from _texts_of(unread, [(is_number, False)])
    for number in sample_numbers(leaf.operand for leaf in ranges):
        rest = _settled(formula, number)
        if _constant(rest) is True:
            yield _written(number)
        elif _constant(rest) is None and next(_texts_of(rest, [(is_number, True)]), None) is not None:
            raise TooComplex  # some text of the right form is a number; whether one is within the bounds is not known


def _settled(formula: Formula, number: float | None) -> Formula:
    """Return the formula with its conditions on numbers answered, for a number or for a text that is none."""
    if isinstance(formula, Literal):
        if formula.leaf.operator != "range":
            return formula
        holds = formula.leaf.holds({} if number is None else number, formula.mode)
        return All() if holds is formula.wanted else Any()
    return type(formula)(tuple(_settled(part, number) for part in formula.parts))


def _constant(formula: Formula) -> Truth:
    """Return whether a formula holds for every text, or for none, by its form alone."""
    if isinstance(formula, Literal):
        return None
    truths = [_constant(part) for part in formula.parts]
    return _all(truths) if isinstance(formula, All) else _any(truths)


def _all(truths: Sequence[Truth]) -> Truth:
    return False if False in truths else (None if None in truths else True)


def _any(truths: Sequence[Truth]) -> Truth:
    return True if True in truths else (None if None in truths else False)


def _texts_of(formula: Formula, more: Sequence[tuple[Language, bool]]) -> Iterator[str]:
    """Yield a shortest text that a formula of text conditions holds for, and that lies in or outside of ``more``."""
    if _constant(formula) is False:
        return
    known = list(dict.fromkeys(leaves(formula)))
    places = {leaf: index for index, leaf in enumerate(known)}
    plain, nested = _conjuncts(formula)
    signs = [(places[one.leaf], one.wanted) for one in plain]
    signs += [(len(known) + index, wanted) for index, (_, wanted) in enumerate(more)]

    def accepts(truths: Sequence[Truth]) -> Truth:
        settled = [truth if (truth := truths[place]) is None else truth is wanted for place, wanted in signs]
        return _all(settled + [_value(part, truths, places) for part in nested])

    found = find_text([*(leaf.language for leaf in known), *(one for one, _ in more)], accepts)
    if found is not None:
        yield found


def _conjuncts(formula: Formula) -> tuple[list[Literal], list[Formula]]:
    """Return the literals that must all hold, and what else must hold beside them."""
    if isinstance(formula, Literal):
        return [formula], []
    if isinstance(formula, Any):
        return [], [formula]
    found = [_conjuncts(part) for part in formula.parts]
    return [one for plain, _ in found for one in plain], [one for _, nested in found for one in nested]


def _value(formula: Formula, truths: Sequence[Truth], places: dict[Leaf, int]) -> Truth:
    if isinstance(formula, Literal):
        truth = truths[places[formula.leaf]]
        return None if truth is None else truth is formula.wanted
    values = [_value(part, truths, places) for part in formula.parts]
    return _all(values) if isinstance(formula, All) else _any(values)


# Objects and lists


def _objects(parts: Sequence[Part], formula: Formula) -> Answer:
    """Look at values with names in them: no text condition holds there, and no number or command can be read."""
    for value in (
        {},
        *({"sql": text} for leaf in leaves(formula) if leaf.operator == "sql" for text in guesses([leaf])),
    ):
        if all(part.holds(value) for part in parts):
            return Found(value)
    ruled_out = all(_constant(plain) is False for _, plain in _cases(_unreadable(formula)))
    return Nothing() if ruled_out else Unknown("an object may be as wanted")


def _unreadable(formula: Formula) -> Formula:
    """Return the formula as it stands for an object; only SQL in it stays open."""
    if isinstance(formula, Literal):
        if formula.leaf.operator == "sql":
            return formula
        holds = not formula.leaf.is_text and formula.mode == POSSIBLE
        return All() if holds is formula.wanted else Any()
    return type(formula)(tuple(_unreadable(part) for part in formula.parts))


def _lists(parts: Sequence[Part], formula: Formula) -> Answer:
    """Look at lists.

    A condition without views holds for a list when it holds for one element, so where none has views a list adds
    nothing. A view reads the list as the words of one command; then it is one more way to spell a text.
    """
    if not any(part.condition.whole for part in parts):
        return Nothing()
    for value in _likely_lists(parts, formula):
        if all(part.holds(value) for part in parts):
            return Found(value)
    read = [part for part in parts if part.condition.whole]
    alone = _looked_through(read, All(tuple(part.formula for part in read)), "list")
    return alone if isinstance(alone, Nothing) else Unknown("a list may be as wanted")


def _likely_lists(parts: Sequence[Part], formula: Formula) -> Iterator[list[JSON]]:
    yield []
    for value in islice(_likely(parts, formula), 4 * _FEW):
        yield [value]
        if isinstance(value, str) and " " in value:
            try:
                yield list(shlex.split(value))
            except ValueError:
                continue
