"""Whether one value can satisfy several conditions: a value that shows it, the proof of none, or neither.

A value is a text (numbers and truth values count by their spelling), an object, or a list. Every returned value
was checked by the engine. That there is none is claimed only if texts, numbers and shapes were searched
completely.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from memkit.policies.analysis.formulas import (
    POSSIBLE,
    SURE,
    All,
    Any,
    Condition,
    Formula,
    FormulaLiteral,
    Leaf,
    denied,
    leaves,
)
from memkit.policies.analysis.languages import TooComplex, find_text
from memkit.policies.analysis.plain import cases, constant, plain_values, sample_numbers, written
from memkit.policies.analysis.views import glob_sample, guesses
from memkit.runtime.guard.checks import has_wildcards, text_of
from memkit.runtime.guard.interface import JSON, as_list
from memkit.runtime.guard.kinds import SAMPLE_NAMES

TOO_LARGE = "the conditions are too large to search"
_ORDINARY = ("x", "a b", "0", "1", "/tmp/x", "ls", "")
_TOOLS = tuple(name for names in SAMPLE_NAMES.values() for name in names if not has_wildcards(name))
"""Names of tools that mean what their kind says; a program's name would precede its arguments."""
_FEW = 12


class ValuePart(NamedTuple):
    """One condition that a value must satisfy, or must not."""

    condition: Condition
    mode: str
    """Whether surely or possibly."""
    wanted: bool = True

    def holds(self, value: JSON) -> bool:
        """Return the engine's answer for a value."""
        return self.condition.holds(value, self.mode) is self.wanted

    def is_denied_by(self, other: ValuePart) -> bool:
        """Return whether the same condition is wanted here and refused there; what surely holds possibly does."""
        same = self.condition is other.condition and self.mode in (other.mode, SURE)
        return same and self.wanted and not other.wanted

    @property
    def formula(self) -> Formula:
        """Return when a value that is not a list is as wanted."""
        formula = self.condition.formula(self.mode)
        return formula if self.wanted else denied(formula)


@dataclass(frozen=True)
class ValuesFound:
    """A value that is as wanted."""

    value: JSON


@dataclass(frozen=True)
class Nothing:
    """There is no such value."""


@dataclass(frozen=True)
class Unknown:
    """The answer is unknown, and the reason."""

    reason: str


Answer = ValuesFound | Nothing | Unknown


@lru_cache(maxsize=65536)
def solve(
    parts: tuple[ValuePart, ...], *, text_only: bool = False, glance: bool = False, listed: bool = False
) -> Answer:
    """Return a value that satisfies every part.

    Args:
        parts: What is wanted of the value.
        text_only: Whether the value is always a text, as the name of a tool is.
        glance: Whether only a value is needed and no proof, so that slow searches are skipped.
        listed: Whether a list may satisfy one condition by one element and another by another.
    """
    if any(part.is_denied_by(other) for part in parts for other in parts):
        return Nothing()
    formula = All(tuple(part.formula for part in parts))
    for value in chain(_TOOLS if text_only else (), _likely(parts, formula)):
        if all(part.holds(value) for part in parts):
            return ValuesFound(value)
    try:
        if glance and any(leaf.is_view for leaf in leaves(formula)):
            return _guessed(parts, formula)
        answers = [_texts(parts, formula)]
        if not (text_only or glance) and not isinstance(answers[0], ValuesFound):
            answers += [_objects(parts, formula), _lists(parts, formula)]
    except TooComplex:
        return Unknown(TOO_LARGE)
    if listed and not text_only and not any(isinstance(answer, ValuesFound) for answer in answers):
        answers.append(_element_each(parts, glance))
    return min(answers, key=lambda answer: (ValuesFound, Unknown, Nothing).index(type(answer)))


# Guesses


def _likely(parts: Sequence[ValuePart], formula: Formula) -> Iterator[JSON]:
    """Yield values that are probably as wanted: those that the conditions name, and ordinary ones."""
    wanted = [leaf for part in parts if part.wanted for leaf in part.condition.leaves]
    for leaf in dict.fromkeys(wanted):
        yield from islice(samples(leaf), _FEW)
    yield from _ordinary_numbers(formula)
    yield from _ORDINARY


def samples(leaf: Leaf) -> Iterable[JSON]:
    """Yield values that probably satisfy a leaf, the most readable first."""
    if leaf.members is not None:
        return leaf.members.values()
    if leaf.operator == "glob":
        return map(glob_sample, as_list(leaf.operand))
    if leaf.operator == "prefix":
        return as_list(leaf.operand)
    if leaf.operator == "range":
        return _whole([leaf])
    if leaf.operator == "regex":
        return _regex_samples(leaf)
    return guesses([leaf])


@lru_cache(maxsize=4096)
def _regex_samples(leaf: Leaf) -> tuple[str, ...]:
    try:
        found = find_text([leaf.language], lambda known: known[0])
    except TooComplex:
        return ()
    return () if found is None else (found,)


def _whole(ranges: Iterable[Leaf]) -> Iterator[JSON]:
    yield from map(written, sample_numbers(leaf.operand for leaf in ranges))


def _ordinary_numbers(formula: Formula) -> Iterator[JSON]:
    ranges = [leaf for leaf in leaves(formula) if leaf.operator == "range"]
    if ranges:
        yield from _whole(ranges)


def _guessed(parts: Sequence[ValuePart], formula: Formula) -> Answer:
    """Try to fulfil several views at once."""
    for views, _ in islice(cases(formula), _FEW):
        for value in guesses([one.leaf for one in views if one.wanted]):
            if all(part.holds(value) for part in parts):
                return ValuesFound(value)
    return Unknown("no text was found, and none was ruled out")


# Texts, numbers and truth values


def _texts(parts: Sequence[ValuePart], formula: Formula) -> Answer:
    listable = [members for members in map(_members, parts) if members is not None]
    if listable:
        values = (value for text in sorted(frozenset.intersection(*listable)) for value in _spelled(text))
        return next((ValuesFound(value) for value in values if all(part.holds(value) for part in parts)), Nothing())
    return _looked_through(parts, formula, "text")


def _members(part: ValuePart) -> frozenset[str] | None:
    """Return every text that can satisfy a part, if they can be enumerated."""
    may_not_tell = part.mode == POSSIBLE and any(not leaf.is_text for leaf in part.condition.leaves)
    return part.condition.members if part.wanted and not may_not_tell else None


def _spelled(text: str) -> Iterator[JSON]:
    """Yield a text, and the number or truth value with this spelling: a view reads texts only."""
    yield text
    try:
        value = json.loads(text)
    except ValueError:
        return
    if isinstance(value, (bool, int, float)) and text_of(value) == text:
        yield value


def _looked_through(parts: Sequence[ValuePart], formula: Formula, shape: str) -> Answer:
    """Return the result of examining every way to fulfil the views, each with its remaining plain conditions."""
    unsure = False
    for views, plain in cases(formula):
        texts = plain_values(plain, only_texts=shape != "text")
        first = next(texts, None)
        if first is None:
            continue
        if shape == "text":
            for value in chain([first], guesses([one.leaf for one in views if one.wanted]), texts):
                if all(part.holds(value) for part in parts):
                    return ValuesFound(value)
        unsure = True
    return Unknown("no text was found, and none was ruled out") if unsure else Nothing()


# Objects and lists


def _objects(parts: Sequence[ValuePart], formula: Formula) -> Answer:
    """Examine objects: no text condition holds there, and no number or command can be parsed."""
    for value in (
        {},
        *({"sql": text} for leaf in leaves(formula) if leaf.operator == "sql" for text in guesses([leaf])),
    ):
        if all(part.holds(value) for part in parts):
            return ValuesFound(value)
    ruled_out = all(constant(plain) is False for _, plain in cases(_unreadable(formula)))
    return Nothing() if ruled_out else Unknown("an object may be as wanted")


def _unreadable(formula: Formula) -> Formula:
    """Return the formula as it applies to an object; only its SQL conditions stay open."""
    if isinstance(formula, FormulaLiteral):
        if formula.leaf.operator == "sql":
            return formula
        holds = not formula.leaf.is_text and formula.mode == POSSIBLE
        return All() if holds is formula.wanted else Any()
    return type(formula)(tuple(_unreadable(part) for part in formula.parts))


def _lists(parts: Sequence[ValuePart], formula: Formula) -> Answer:
    """Examine lists.

    A condition without views holds for a list if it holds for one element, so if none has views a list adds
    nothing. A view reads the list as the words of one command; then it is another way to spell a text.
    """
    if not any(part.condition.whole for part in parts):
        return Nothing()
    for value in _likely_lists(parts, formula):
        if all(part.holds(value) for part in parts):
            return ValuesFound(value)
    read = [part for part in parts if part.condition.whole]
    alone = _looked_through(read, All(tuple(part.formula for part in read)), "list")
    return alone if isinstance(alone, Nothing) else Unknown("a list may be as wanted")


def _element_each(parts: tuple[ValuePart, ...], glance: bool) -> Answer:
    """Examine lists that satisfy each condition by a separate element; refused conditions hold for no element."""
    wanted = [part for part in parts if part.wanted]
    refused = tuple(part for part in parts if not part.wanted)
    if len(wanted) < 2 or any(part.condition.whole for part in wanted):
        return Nothing()
    elements: list[JSON] = []
    for part in wanted:
        answer = solve((part, *refused), glance=glance)
        if not isinstance(answer, ValuesFound):
            return answer
        elements += answer.value if isinstance(answer.value, list) else [answer.value]
    if all(part.holds(elements) for part in parts):
        return ValuesFound(elements)
    return Unknown("a list may be as wanted")


def _likely_lists(parts: Sequence[ValuePart], formula: Formula) -> Iterator[list[JSON]]:
    yield []
    for value in islice(_likely(parts, formula), 4 * _FEW):
        yield [value]
        if isinstance(value, str) and " " in value:
            try:
                yield list(shlex.split(value))
            except ValueError:
                continue
