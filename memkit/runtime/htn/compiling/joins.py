"""Conditions as moves and as Python: an order that examines few candidates, and the expressions of generated code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..language.conditions import (
    Compare,
    Condition,
    Equal,
    Every,
    Exists,
    ForAll,
    Literal,
    Some,
    condition_variables,
    conjuncts,
    negated,
)
from ..language.terms import ROOT_TYPE, Arithmetic, Number, Parameter, Term, is_variable, variables_of
from .state import StateView


@dataclass(frozen=True, slots=True)
class Test:
    """Continues if a condition, all of whose variables are bound, holds."""

    __test__ = False

    condition: Condition


@dataclass(frozen=True, slots=True)
class Copy:
    """Binds the variable of an equality to its other side."""

    condition: Equal
    variable: str
    source: object


@dataclass(frozen=True, slots=True)
class Match:
    """Binds the unbound variables of a fact in each way in which it holds."""

    condition: Literal
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Each:
    """Binds a variable to every object of a type."""

    condition: Literal
    """The type as a condition, for use in messages."""
    variable: str


Move = Test | Copy | Match | Each


Sizes = Callable[[Term, Sequence[int]], float]
"""The approximate number of facts matching a term whose elements at some positions are given."""


def arrange(
    conditions: Sequence[Condition],
    head: Iterable[str],
    wanted: Iterable[str],
    types: Mapping[str, Sequence[str]],
    sizes: Sizes,
) -> tuple[Move, ...]:
    """Return the moves that find every way to satisfy conditions, cheapest first.

    ``head`` are the variables bound at the start, ``wanted`` those that must be bound at the end even if no
    condition binds them.
    """
    left = [(each, condition_variables(each)) for each in conjuncts(conditions)]
    bound, moves = set(head), list[Move]()
    free = list(dict.fromkeys([*(name for _, names in left for name in names), *wanted]))
    while True:
        moves += [Test(each) for each, names in left if bound.issuperset(names)]
        left = [(each, names) for each, names in left if not bound.issuperset(names)]
        move = _binding_move([each for each, _ in left], bound, sizes) or _enumeration(free, bound, types)
        if move is None:
            return tuple(moves)
        moves.append(move)
        bound.update(new_variables(move))
        left = [(each, names) for each, names in left if each is not move.condition]


def new_variables(move: Move) -> tuple[str, ...]:
    """Return the variables that a move binds."""
    if isinstance(move, Match):
        return move.new
    return () if isinstance(move, Test) else (move.variable,)


def _binding_move(left: Sequence[Condition], bound: Container[str], sizes: Sizes) -> Copy | Match | None:
    for each in left:
        if isinstance(each, Equal) and each.positive:
            for variable, source in ((each.left, each.right), (each.right, each.left)):
                if is_variable(variable) and variable not in bound and (not is_variable(source) or source in bound):
                    return Copy(each, variable, source)
    literals = [each for each in left if isinstance(each, Literal) and each.positive]
    if not literals:
        return None
    cheapest = min(literals, key=lambda each: _cost(each.atom, bound, sizes))
    return Match(cheapest, tuple(name for name in variables_of(cheapest.atom) if name not in bound))


def _cost(atom: Term, bound: Container[str], sizes: Sizes) -> tuple[float, int]:
    given = [at for at, part in enumerate(atom) if at > 0 and (not is_variable(part) or part in bound)]
    return sizes(atom, given), len(atom) - len(given)


def _enumeration(free: Iterable[str], bound: Container[str], types: Mapping[str, Sequence[str]]) -> Each | None:
    name = next((name for name in free if name not in bound), None)
    if name is None:
        return None
    kinds = types.get(name, ())
    return Each(Literal((kinds[0] if kinds else ROOT_TYPE, name)), name)


Types = Mapping[str, Sequence[str]]
_INVERSE = {"<": ">=", "<=": ">", ">=": "<", ">": "<="}


class LoopNames:
    """Assigns names to everything that a generated function refers to.

    Text of a domain enters the code only through ``repr``, and other values only by reference.
    """

    def __init__(self, outer: LoopNames | None = None, own: Iterable[str] = ()) -> None:
        self.setup: list[str] = outer.setup if outer else []
        """Lines that fetch indexes and types once, before the function is used."""
        self.constants: dict[str, Any] = outer.constants if outer else {}
        self._fetched: dict[str, str] = outer._fetched if outer else {}
        self._counts: dict[str, int] = outer._counts if outer else {}
        self._variables: dict[str, str] = dict(outer._variables) if outer else {}
        for name in own:
            self._variables[name] = self._take("v")

    def inner(self, parameters: Sequence[Parameter]) -> LoopNames:
        """Return the names inside a quantifier, whose variables shadow those of the same name outside."""
        return LoopNames(self, [parameter.name for parameter in parameters])

    def variable(self, name: str) -> str:
        """Return the Python name of a variable."""
        if name not in self._variables:
            self._variables[name] = self._take("v")
        return self._variables[name]

    def fetched(self, expression: str, stem: str) -> str:
        """Return a name for the constant value of an expression."""
        if expression not in self._fetched:
            name = self._fetched[expression] = self._take(stem)
            self.setup.append(f"{name} = {expression}")
        return self._fetched[expression]

    def constant(self, value: object) -> str:
        """Return an expression for a value known in advance."""
        if isinstance(value, str):
            return repr(str.__str__(value))  # the plain text, whatever a subclass does in repr
        name = self._take("k")
        self.constants[name] = value
        return name

    def value(self, part: Any) -> str:
        """Return an expression for a variable or a constant."""
        return self.variable(part) if is_variable(part) else self.constant(part)

    def values(self, parts: Iterable[Any]) -> str:
        """Return an expression for a tuple of several values."""
        return tuple_of(map(self.value, parts))

    def fact(self, atom: Term) -> str:
        """Return an expression for a fact; its arguments may be variable, its predicate is not."""
        return tuple_of([self.constant(atom[0]), *map(self.value, atom[1:])])

    def members(self, kind: str) -> str:
        """Return a name for the objects of a type."""
        return self.fetched(f"members({self.constant(kind)})", "objects")

    def _take(self, stem: str) -> str:
        self._counts[stem] = self._counts.get(stem, -1) + 1
        return f"{stem}{self._counts[stem]}"


def tuple_of(written: Iterable[str]) -> str:
    """Return an expression for the tuple of the values of several expressions."""
    parts = list(written)
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def failing(condition: Condition, names: LoopNames) -> str:
    """Return an expression that is true if a condition does not hold."""
    if isinstance(condition, Literal | Equal):
        return formula(negated(condition), names)
    return f"not ({formula(condition, names)})"


def formula(condition: Condition, names: LoopNames) -> str:
    """Return an expression that is true if a condition holds.

    >>> formula(Literal(("at", "?x", "home"), positive=False), LoopNames())
    "('at', v0, 'home') not in held"
    """
    if isinstance(condition, Literal):
        return f"{names.fact(condition.atom)} {'in' if condition.positive else 'not in'} held"
    if isinstance(condition, Equal):
        left, right = names.value(condition.left), names.value(condition.right)
        return f"{left} {'==' if condition.positive else '!='} {right}"
    if isinstance(condition, Compare):
        return _comparison(condition, names)
    if isinstance(condition, Every):
        return " and ".join(f"({formula(each, names)})" for each in condition.conditions) or "True"
    if isinstance(condition, Some):
        return " or ".join(f"({formula(each, names)})" for each in condition.conditions) or "False"
    if isinstance(condition, Exists):
        inner = names.inner(condition.parameters)
        return f"any(True {every_way(condition.parameters, condition.condition, inner)})"
    if isinstance(condition, ForAll):
        return _for_all(condition, names.inner(condition.parameters))
    return f"{names.constant(state_function(condition.function))}(view, task[1:])"


def _comparison(condition: Compare, names: LoopNames) -> str:
    left, right = number(condition.left, names), number(condition.right, names)
    if condition.operator == "=":
        return f"{left} == {right}" if condition.positive else f"differ({left}, {right})"
    return f"{left} {condition.operator if condition.positive else _INVERSE[condition.operator]} {right}"


def number(value: Number, names: LoopNames) -> str:
    """Return an expression for a number, which is NaN if it has no value."""
    if isinstance(value, Arithmetic):
        return f"reckon({value.operator!r}, {number(value.left, names)}, {number(value.right, names)})"
    if isinstance(value, tuple):
        return f"numbers.get({names.fact(value)}, NO_VALUE)"
    return repr(value) if type(value) is int else names.constant(value)


def every_way(parameters: Sequence[Parameter], condition: Condition, names: LoopNames) -> str:
    """Return the comprehension clauses that iterate over the objects satisfying a condition."""
    own = [parameter.name for parameter in parameters]
    types = {parameter.name: (parameter.type,) for parameter in parameters}
    conditions = list(conjuncts([condition]))
    known = {name for each in conditions for name in condition_variables(each)} - set(own)
    clauses = ["for _ in ONCE"]
    for move in arrange(conditions, known, own, types, _unknown_size):
        if isinstance(move, Test):
            clauses.append(f"if {formula(move.condition, names)}")
        else:
            loop = loop_of(move, types, names)
            clauses.append(f"for {loop.targets} in counted({loop.candidates})")
            clauses += [f"if {' '.join(test)}" for test in loop.tests]
    return " ".join(clauses)


def _for_all(condition: ForAll, names: LoopNames) -> str:
    """Iterate only over objects for which the facts hold that the inner condition negates."""
    inner = condition.condition
    parts = inner.conditions if isinstance(inner, Some) else (inner,)
    guards = tuple(Literal(each.atom) for each in parts if isinstance(each, Literal) and not each.positive)
    return f"all(({formula(inner, names)}) {every_way(condition.parameters, Every(guards), names)})"


def _unknown_size(atom: Term, given: Sequence[int]) -> float:
    return len(atom) - len(given)


Sides = tuple[str, str, str]
"""A test: its left side, ``in`` or ``==``, and its right side."""


@dataclass(frozen=True)
class Loop:
    """A loop that binds variables: ``for targets in candidates``, then tests that a candidate must pass."""

    targets: str
    candidates: str
    tests: tuple[Sides, ...]


def loop_of(move: Copy | Match | Each, types: Types, names: LoopNames) -> Loop:
    """Return the loop over what a move finds."""
    tests = [
        test for name in new_variables(move) for test in type_tests(names.variable(name), types.get(name, ()), names)
    ]
    if isinstance(move, Copy):
        return Loop(names.variable(move.variable), f"({names.value(move.source)},)", tuple(tests))
    if isinstance(move, Each):
        return Loop(names.variable(move.variable), names.members(move.condition.atom[0]), tuple(tests))
    atom, targets, same = move.condition.atom, ["_"] * len(move.condition.atom), list[Sides]()
    for at, part in enumerate(atom):
        if at > 0 and part in move.new:
            repeated = atom.index(part, 1) < at
            targets[at] = f"r{at}" if repeated else names.variable(part)
            same += [(f"r{at}", "==", names.variable(part))] * repeated
    return Loop(", ".join(targets) + "," * (len(targets) == 1), _facts_like(atom, move.new, names), (*same, *tests))


def type_tests(value: str, kinds: Sequence[str], names: LoopNames) -> list[Sides]:
    """Return the tests of whether a value has all of the types."""
    return [(value, "in", names.members(kind)) for kind in kinds if kind != ROOT_TYPE]


def misses(test: Sides) -> str:
    """Return an expression that is true if a test fails."""
    left, how, right = test
    return f"{left} {'!=' if how == '==' else 'not in'} {right}"


def _facts_like(atom: Term, new: Sequence[str], names: LoopNames) -> str:
    """Return an expression for the facts that agree with the elements of an atom that are already bound."""
    shape = f"({names.constant(atom[0])}, {len(atom)})"
    given = [at for at, part in enumerate(atom) if at > 0 and part not in new]
    if not given:
        return names.fetched(f"facts.all({shape})", "all")
    index = names.fetched(f"facts.index({shape}, {tuple(given)})", "index")
    key = names.value(atom[given[0]]) if len(given) == 1 else names.values(atom[at] for at in given)
    return f"{index}.get({key}, NONE)"


def state_function(function: Callable[..., Any]) -> Callable[[StateView, Term], Any]:
    """Return a caller of a user's function with the state and, only if it takes them, the arguments."""
    if _takes_arguments(function):
        return lambda view, args: function(view, *args)
    return lambda view, args: function(view)


def _takes_arguments(function: Callable[..., Any]) -> bool:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) > 1 or any(p.kind is p.VAR_POSITIONAL for p in parameters)
