"""Conditions: facts that must or must not hold, equality, comparison of numbers, and combinations of these.

Only facts, equalities and comparisons are negated: the parser rewrites "not any of" as "none of".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..language.terms import DomainError
from .terms import (
    Arithmetic,
    Number,
    Parameter,
    Term,
    ground,
    number_text,
    number_variables,
    parameters_text,
    term_text,
    variables_of,
    with_values,
)

COMPARISONS = ("<", "<=", "=", ">=", ">")


@dataclass(frozen=True)
class Literal:
    """A fact that must hold, or with ``positive=False`` must not.

    >>> parse_condition("at ?place"), str(Literal(("at", "home"), positive=False))
    (Literal(atom=('at', '?place'), positive=True), 'not at home')
    """

    atom: Term
    positive: bool = True

    def __str__(self) -> str:
        return ("" if self.positive else "not ") + term_text(self.atom)


@dataclass(frozen=True)
class Equal:
    """Two arguments that must be the same object, or with ``positive=False`` two different ones.

    >>> parse_condition("not = ?from ?to")
    Equal(left='?from', right='?to', positive=False)
    """

    left: Any
    right: Any
    positive: bool = True

    def __str__(self) -> str:
        return ("" if self.positive else "not ") + term_text(("=", self.left, self.right))


@dataclass(frozen=True)
class Compare:
    """A comparison of two numbers that must hold, or with ``positive=False`` must not.

    If either has no value (a fluent that was never set, a division by zero) neither form holds.

    >>> parse_condition("<= (fuel ?truck) 5")
    Compare(operator='<=', left=('fuel', '?truck'), right=5, positive=True)
    >>> planner = HTNPlanner(operators=[Operator("refuel ?truck", ["<= (fuel ?truck) 5"])])
    >>> planner.generate("refuel van", ["= (fuel van) 3"]), planner.generate("refuel van", ["= (fuel van) 9"])
    ([Step(name='refuel', args=('van',))], None)
    """

    operator: str
    """``<``, ``<=``, ``=``, ``>=`` or ``>``"""
    left: Number
    right: Number
    positive: bool = True

    def __str__(self) -> str:
        left, right = number_text(self.left), number_text(self.right)
        if self.operator == "=" and not isinstance(self.left, tuple | Arithmetic):
            left = f"({left})"  # '= 5 5' compares objects with these names
        return f"{'' if self.positive else 'not '}{self.operator} {left} {right}"


@dataclass(frozen=True)
class Check:
    """A Python function that is passed the state, and the arguments if it takes more than one.

    >>> def is_evening(state: StateView) -> bool:
    ...     return state["hour"] >= 18
    >>> planner = HTNPlanner(operators=[Operator("dine", [Check(is_evening)])])
    >>> planner.generate("dine", {"hour": 20}), planner.generate("dine", {"hour": 9})
    ([Step(name='dine', args=())], None)
    """

    function: Callable[..., Any]

    def __str__(self) -> str:
        return f"{getattr(self.function, '__name__', 'function')}(state)"


@dataclass(frozen=True)
class Every:
    """Conditions that must all hold; true if empty.

    >>> str(parse_condition({"all": ["at home", "not tired"]}))
    'and (at home) (not tired)'
    """

    conditions: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        return _group_text("and", self.conditions)


ALWAYS = Every()


@dataclass(frozen=True)
class Some:
    """Conditions one of which must hold; false if empty.

    >>> planner = HTNPlanner(operators=[Operator("enter", [{"any": ["have key", "open door"]}])])
    >>> planner.generate("enter", ["open door"]), planner.generate("enter", [])
    ([Step(name='enter', args=())], None)
    """

    conditions: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        return _group_text("or", self.conditions)


@dataclass(frozen=True)
class ForAll:
    """A condition that must hold for all objects of its parameters' types.

    >>> ready = Operator("leave", ["forall (?p - parcel) (loaded ?p)"])
    >>> planner = HTNPlanner(operators=[ready], domain={"name": "depot", "types": {"parcel": "object"}})
    >>> objects = {"p1": "parcel", "p2": "parcel"}
    >>> planner.generate("leave", ["loaded p1", "loaded p2"], objects=objects)
    [Step(name='leave', args=())]
    >>> planner.generate("leave", ["loaded p1"], objects=objects)
    >>> planner.reasons
    ["leave: 'forall (?p - parcel) (loaded ?p)' does not hold: with ?p = p2, 'loaded p2' does not hold"]
    """

    parameters: tuple[Parameter, ...]
    condition: Condition

    def __str__(self) -> str:
        return f"forall ({parameters_text(self.parameters)}) ({self.condition})"


@dataclass(frozen=True)
class Exists:
    """A condition that must hold for some objects of its parameters' types.

    >>> alarm = Operator("search", ["exists (?p - parcel) (lost ?p)"])
    >>> planner = HTNPlanner(operators=[alarm], domain={"name": "depot", "types": {"parcel": "object"}})
    >>> planner.generate("search", ["lost p1"], objects={"p1": "parcel"})
    [Step(name='search', args=())]
    >>> planner.generate("search", [], objects={"p1": "parcel"})
    >>> planner.reasons
    ["search: 'exists (?p - parcel) (lost ?p)' does not hold"]
    """

    parameters: tuple[Parameter, ...]
    condition: Condition

    def __str__(self) -> str:
        return f"exists ({parameters_text(self.parameters)}) ({self.condition})"


Condition = Literal | Equal | Compare | Check | Every | Some | ForAll | Exists
"""A precondition of a step, a condition of a method, or a goal.

>>> told = ("at home", "= ?a ?b", "< (fuel ?t) 5", "exists (?p) (lost ?p)")
>>> [type(parse_condition(text)).__name__ for text in told]
['Literal', 'Equal', 'Compare', 'Exists']
"""


def _group_text(word: str, conditions: Iterable[Condition]) -> str:
    text = " ".join([word, *(f"({each})" for each in conditions)])
    return text if conditions else f"({text})"


def negated(condition: Condition) -> Condition:
    """Return the condition that holds if ``condition`` does not, with negation on facts and comparisons only."""
    if isinstance(condition, Literal | Equal | Compare):
        return replace(condition, positive=not condition.positive)
    if isinstance(condition, Every):
        return Some(tuple(negated(each) for each in condition.conditions))
    if isinstance(condition, Some):
        return Every(tuple(negated(each) for each in condition.conditions))
    if isinstance(condition, ForAll):
        return Exists(condition.parameters, negated(condition.condition))
    if isinstance(condition, Exists):
        return ForAll(condition.parameters, negated(condition.condition))
    raise DomainError(f"{condition} is a Python function; let the function itself say 'not'.")


def parts_of(condition: Condition) -> tuple[Condition, ...]:
    """Return the conditions that a condition is built of, () for an atomic one."""
    if isinstance(condition, Every | Some):
        return condition.conditions
    return (condition.condition,) if isinstance(condition, ForAll | Exists) else ()


def walk(conditions: Iterable[Condition]) -> Iterator[Condition]:
    """Yield conditions and everything inside them, each before its parts."""
    for condition in conditions:
        yield condition
        yield from walk(parts_of(condition))


def condition_variables(condition: Condition) -> list[str]:
    """Return the free variables of a condition, each once."""
    if isinstance(condition, Literal):
        return variables_of(condition.atom)
    if isinstance(condition, Equal):
        return variables_of((condition.left, condition.right))
    if isinstance(condition, Compare):
        return list(dict.fromkeys([*number_variables(condition.left), *number_variables(condition.right)]))
    own = [p.name for p in condition.parameters] if isinstance(condition, ForAll | Exists) else []
    found = [name for part in parts_of(condition) for name in condition_variables(part)]
    return [name for name in dict.fromkeys(found) if name not in own]


def bound(condition: Condition, binding: Mapping[Any, Any]) -> Condition:
    """Return a condition with variables replaced by their values; a quantifier's own variables stay."""
    if isinstance(condition, Literal):
        return Literal((condition.atom[0], *ground(condition.atom[1:], binding)), condition.positive)
    if isinstance(condition, Equal):
        left, right = ground((condition.left, condition.right), binding)
        return Equal(left, right, condition.positive)
    if isinstance(condition, Compare):
        left, right = with_values(condition.left, binding), with_values(condition.right, binding)
        return Compare(condition.operator, left, right, condition.positive)
    if isinstance(condition, Every | Some):
        return type(condition)(tuple(bound(each, binding) for each in condition.conditions))
    if isinstance(condition, ForAll | Exists):
        own = {parameter.name for parameter in condition.parameters}
        outer = {name: value for name, value in binding.items() if name not in own}
        return type(condition)(condition.parameters, bound(condition.condition, outer))
    return condition


def conjuncts(conditions: Iterable[Condition]) -> Iterator[Condition]:
    """Yield the conditions that must all hold, splitting each "all" into its parts."""
    for condition in conditions:
        if isinstance(condition, Every):
            yield from conjuncts(condition.conditions)
        else:
            yield condition
