"""Conditions as formulas: the engine's three-valued answers made two-valued, so that they can be combined and negated.

A leaf is one operator of the ``match`` language with its operand. A view that cannot parse its text answers "unknown",
which a hard policy counts as a match and a soft one does not; so a leaf is asked either whether it *surely* holds or
whether it *possibly* does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from memkit.policies.analysis.languages import Language, escaped, glob_pattern, language
from memkit.runtime.guard.checks import Predicate, has_wildcards, literal_head, text_of
from memkit.runtime.guard.interface import JSON, as_list
from memkit.runtime.guard.match import compile_condition
from memkit.runtime.guard.regex import Anchor, Chars, Node, Sequence, parse_regex

SURE, POSSIBLE = "sure", "possible"

_TEXT = frozenset({"equals", "in", "glob", "prefix", "regex"})
_VIEWS = frozenset({"shell", "sql"})
_WILD = re.compile(r"[*?\[\]]")


@dataclass(frozen=True)
class Leaf:
    """One operator with its operand."""

    key: str
    """Both, in canonical spelling."""
    operator: str
    operand: JSON = field(compare=False, hash=False)
    check: Predicate = field(compare=False, hash=False)
    """The engine's compiled form."""

    @property
    def is_text(self) -> bool:
        """Return whether only the text of a value counts."""
        return self.operator in _TEXT

    @property
    def is_view(self) -> bool:
        """Return whether it parses its text as a language of its own."""
        return self.operator in _VIEWS

    def holds(self, value: JSON, mode: str) -> bool:
        """Return the engine's answer for one value that is not a list."""
        state = self.check.test(value).state if value is not None else False
        return state is True or (state is None and mode == POSSIBLE)

    @cached_property
    def members(self) -> Mapping[str, JSON] | None:
        """Return the texts that it holds for, each with its original value; ``None`` if it is more than a list."""
        if self.operator == "equals":
            return {text_of(self.operand) or "": self.operand}
        if self.operator == "in":
            return {text_of(item) or "": item for item in self.operand}
        if self.operator == "glob" and not any(map(has_wildcards, as_list(self.operand))):
            return {item: item for item in as_list(self.operand)}
        return None

    @cached_property
    def language(self) -> Language:
        """Return its texts as an automaton; raise ``TooComplex`` if that is too large."""
        if self.members is not None:
            return language(tuple(rf"\A{escaped(text)}\Z" for text in self.members))
        if self.operator == "glob":
            return language(tuple(map(glob_pattern, as_list(self.operand))))
        if self.operator == "prefix":
            return language(tuple(rf"\A{escaped(text)}" for text in as_list(self.operand)))
        return language((self.operand,))


@dataclass(frozen=True)
class FormulaLiteral:
    """A leaf that is required, or denied."""

    leaf: Leaf
    mode: str
    wanted: bool = True

    def holds(self, value: JSON) -> bool:
        """Return whether one value, not a list, is as required."""
        return self.leaf.holds(value, self.mode) is self.wanted


@dataclass(frozen=True)
class All:
    """Conjunction; without parts it always holds."""

    parts: tuple[Formula, ...] = ()

    def holds(self, value: JSON) -> bool:
        """Return whether every part holds."""
        return all(part.holds(value) for part in self.parts)


@dataclass(frozen=True)
class Any:
    """Disjunction; without parts it never holds."""

    parts: tuple[Formula, ...] = ()

    def holds(self, value: JSON) -> bool:
        """Return whether one part holds."""
        return any(part.holds(value) for part in self.parts)


Formula = FormulaLiteral | All | Any


def denied(formula: Formula) -> Formula:
    """Return the negation of a formula."""
    if isinstance(formula, FormulaLiteral):
        return FormulaLiteral(formula.leaf, formula.mode, not formula.wanted)
    parts = tuple(denied(part) for part in formula.parts)
    return Any(parts) if isinstance(formula, All) else All(parts)


def leaves(formula: Formula) -> Iterator[Leaf]:
    """Yield every leaf, from left to right."""
    if isinstance(formula, FormulaLiteral):
        yield formula.leaf
    else:
        for part in formula.parts:
            yield from leaves(part)


class Ends(NamedTuple):
    """How a text begins and ends."""

    head: str
    tail: str

    def fits(self, other: Ends) -> bool:
        """Return whether one text can begin and end both ways, by a quick test."""
        heads = self.head.startswith(other.head) or other.head.startswith(self.head)
        return heads and (self.tail.endswith(other.tail) or other.tail.endswith(self.tail))


class Condition:
    """A condition of a policy: its compiled form in the engine, and its formulas."""

    def __init__(self, key: str, data: JSON) -> None:
        self.key = key
        self.check = compile_condition(data, ())
        self.says = self.check.says
        self.sure = _formula(data, SURE)
        self.possible = _formula(data, POSSIBLE)
        self.leaves = tuple(dict.fromkeys(leaves(self.sure)))

    @property
    def whole(self) -> bool:
        """Return whether a list is tested as a whole and not one element at a time."""
        return self.check.whole

    def formula(self, mode: str) -> Formula:
        """Return when it surely, or possibly, holds for one value that is not a list."""
        return self.sure if mode == SURE else self.possible

    def holds(self, value: JSON, mode: str) -> bool:
        """Return the engine's answer for a value, which may be a list."""
        if isinstance(value, str):
            state = _state(self, value)
        elif isinstance(value, list) and all(isinstance(word, str) for word in value):
            state = _state(self, tuple(value))
        else:
            state = self.check.on(value).state
        return state is True or (state is None and mode == POSSIBLE)

    @cached_property
    def members(self) -> frozenset[str] | None:
        """Return every text that can make it surely hold, if they can be enumerated."""
        return _members(self.sure)

    @cached_property
    def ends(self) -> tuple[Ends, ...] | None:
        """Return the alternative ends of texts that make it surely hold; ``None`` for any."""
        return _ends(self.sure)

    def excludes(self, other: Condition) -> bool:
        """Return whether no text makes both surely hold, by a quick test."""
        if self.members is not None and other.members is not None:
            return self.members.isdisjoint(other.members)
        if self.ends is None or other.ends is None:
            return False
        return not any(one.fits(beside) for one in self.ends for beside in other.ends)


def condition(data: JSON) -> Condition:
    """Return the condition for its data; equal data gives the same condition."""
    return _condition(json.dumps(data, ensure_ascii=False, sort_keys=True))


@lru_cache(maxsize=8192)
def _condition(key: str) -> Condition:
    return Condition(key, json.loads(key))


@lru_cache(maxsize=65536)
def _state(asked: Condition, value: str | tuple[str, ...]) -> bool | None:
    """Return the engine's answer for a text or for words; a search repeats the same few."""
    return asked.check.on(value if isinstance(value, str) else list(value)).state


def _formula(data: JSON, mode: str) -> Formula:
    """Return the formula of a condition as written in a file: a bare string is a glob, a list means any of."""
    if isinstance(data, Mapping):
        parts = tuple(_operator(name, operand, mode) for name, operand in data.items())
        return parts[0] if len(parts) == 1 else All(parts)
    if isinstance(data, list):
        if all(isinstance(item, str) for item in data):
            return _leaf("glob", data, mode)
        return Any(tuple(_formula(item, mode) for item in data))
    return _leaf("glob" if isinstance(data, str) else "equals", data, mode)


def _operator(name: str, operand: JSON, mode: str) -> Formula:
    if name == "any":
        return Any(tuple(_formula(item, mode) for item in operand))
    if name == "all":
        return All(tuple(_formula(item, mode) for item in operand))
    if name == "not":
        return denied(_formula(operand, POSSIBLE if mode == SURE else SURE))
    if name == "surely":
        return _formula(operand, SURE)
    return _leaf(name, operand, mode)


def _leaf(operator: str, operand: JSON, mode: str) -> FormulaLiteral:
    leaf = _known_leaf(operator, json.dumps(operand, ensure_ascii=False, sort_keys=True))
    return FormulaLiteral(leaf, SURE if leaf.is_text else mode)


@lru_cache(maxsize=16384)
def _known_leaf(operator: str, operand: str) -> Leaf:
    data = json.loads(operand)
    return Leaf(f"{operator} {operand}", operator, data, compile_condition({operator: data}, ()))


def _ends(formula: Formula) -> tuple[Ends, ...] | None:
    if isinstance(formula, FormulaLiteral):
        return _leaf_ends(formula.leaf) if formula.wanted else None
    found = [_ends(part) for part in formula.parts]
    known = [ends for ends in found if ends is not None]
    if isinstance(formula, All):
        return max(known, key=lambda ends: min((len("".join(one)) for one in ends), default=0)) if known else None
    return tuple(one for ends in known for one in ends) if len(known) == len(found) else None


def _leaf_ends(leaf: Leaf) -> tuple[Ends, ...] | None:
    if leaf.members is not None:
        return tuple(Ends(text, text) for text in leaf.members)
    if leaf.operator == "glob":
        return tuple(Ends(literal_head(glob), _WILD.split(glob)[-1]) for glob in as_list(leaf.operand))
    if leaf.operator == "prefix":
        return tuple(Ends(head, "") for head in as_list(leaf.operand))
    return (Ends(_regex_head(parse_regex(leaf.operand)), ""),) if leaf.operator == "regex" else None


def _regex_head(node: Node) -> str:
    """Return the characters that a pattern requires at the start of the text."""
    parts = node.parts if isinstance(node, Sequence) else ()
    if not parts or parts[0] != Anchor("start"):
        return ""
    head = ""
    for part in parts[1:]:
        low, high = part.ranges[0] if isinstance(part, Chars) and len(part.ranges) == 1 else ("", "x")
        if not isinstance(part, Chars) or low != high or part.classes or part.negated or part.fold:
            break
        head += low
    return head


def _members(formula: Formula) -> frozenset[str] | None:
    if isinstance(formula, FormulaLiteral):
        known = formula.leaf.members if formula.wanted else None
        return None if known is None else frozenset(known)
    found = [_members(part) for part in formula.parts]
    listable = [members for members in found if members is not None]
    if isinstance(formula, All):
        return frozenset.intersection(*listable) if listable else None
    return frozenset[str]().union(*listable) if len(listable) == len(found) else None
