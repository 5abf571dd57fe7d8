"""Joins: the order in which conditions are tested and variables bound, so that few candidates are looked at."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .conditions import Condition, Equal, Every, Literal, condition_variables
from .terms import ROOT_TYPE, Term, is_variable, variables_of


@dataclass(frozen=True, slots=True)
class Test:
    """Goes on if a condition, all of whose variables are bound, holds."""

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
    """The type as a condition, for words about it."""
    variable: str


Move = Test | Copy | Match | Each


@dataclass(frozen=True, slots=True)
class Compute:
    """Goes on if a function of the caller gives subtasks."""


@dataclass(frozen=True, slots=True)
class Happen:
    """Goes on if every number that a step changes has a value, and one only."""


Sizes = Callable[[Term, Sequence[int]], float]
"""About how many facts look like a term, when its parts at some positions are given."""


def arrange(
    conditions: Sequence[Condition],
    head: Iterable[str],
    wanted: Iterable[str],
    types: Mapping[str, Sequence[str]],
    sizes: Sizes,
) -> tuple[Move, ...]:
    """Return the moves that find every way in which conditions hold, the cheapest first.

    ``head`` are the variables that are bound at the start, ``wanted`` those that must be bound at the end though
    perhaps no condition binds them.
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


def conjuncts(conditions: Iterable[Condition]) -> Iterator[Condition]:
    """Yield the conditions that must all hold, those inside an "all" one by one."""
    for condition in conditions:
        if isinstance(condition, Every):
            yield from conjuncts(condition.conditions)
        else:
            yield condition


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
