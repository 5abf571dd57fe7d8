"""Conditions: facts that must hold or must not, equality, and Python functions of the state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from .errors import DomainError, HtnError
from .terms import Term, parse_term, term_text, variables_of


@dataclass(frozen=True)
class Literal:
    """A fact that must hold, or with ``positive=False`` must not."""

    atom: Term
    positive: bool = True

    def __str__(self) -> str:
        return ("" if self.positive else "not ") + term_text(self.atom)


@dataclass(frozen=True)
class Equal:
    """Two arguments that must be the same object, or with ``positive=False`` two different ones."""

    left: Any
    right: Any
    positive: bool = True

    def __str__(self) -> str:
        return ("" if self.positive else "not ") + term_text(("=", self.left, self.right))


@dataclass(frozen=True)
class Check:
    """A Python function that is given the state, and the arguments when it takes more than one."""

    function: Callable[..., Any]

    def __str__(self) -> str:
        return f"{getattr(self.function, '__name__', 'function')}(state)"


Condition = Literal | Equal | Check


def parse_conditions(value: object) -> tuple[Condition, ...]:
    """Return the conditions of a list of texts, tuples and functions, or of a single one of them."""
    if value is None:
        return ()
    if isinstance(value, str | Literal | Equal | Check) or callable(value):
        return (parse_condition(value),)
    if isinstance(value, Mapping):
        value = [_told(name, held) for name, held in value.items()]
    return tuple(parse_condition(item) for item in ordered(value))


def _told(name: object, held: object) -> object:
    """Return the condition of an entry such as ``has_smtp: True``, ``tired: False`` or ``at: home``."""
    if isinstance(held, bool):
        return name if held else ("not", name)
    return (name, held)


def ordered(value: object) -> list[Any]:
    """Return the items of a collection in an order that is the same in every process."""
    if isinstance(value, AbstractSet):
        return sorted(value, key=order_key)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return list(value)
    raise DomainError(f"{value!r} is not a list.")


def order_key(value: object) -> tuple[str, str]:
    """Return a sorting key for values of mixed types."""
    if isinstance(value, str | tuple | list):
        value = parse_term(value)
    return (type(value).__name__, term_text(value) if isinstance(value, tuple) else str(value))


def parse_condition(value: object) -> Condition:
    """Return the condition that ``"not at ?x"``, ``"= ?a ?b"``, a tuple or a function stands for."""
    if isinstance(value, Literal | Equal | Check):
        return value
    if callable(value):
        return Check(value)
    term, positive = _strip_not(value)
    if term[0] == "=":
        if len(term) != 3:
            raise DomainError(f"'{term_text(term)}' compares {len(term) - 1} things; it takes two: '= ?a ?b'.")
        return Equal(term[1], term[2], positive)
    return Literal(term, positive)


def _strip_not(value: object) -> tuple[Term, bool]:
    if isinstance(value, tuple | list) and len(value) == 2 and value[0] == "not":
        return parse_term(value[1]), False
    term = _condition_term(value)
    if term[0] != "not":
        return term, True
    if len(term) < 2:
        raise DomainError("'not' needs a fact behind it: 'not at ?x'.")
    return parse_term(" ".join(str(part) for part in term[1:]) if "(" in str(term[1]) else term[1:]), False


def _condition_term(value: object) -> Term:
    try:
        return parse_term(value)
    except HtnError as error:
        raise DomainError(error.message) from None


def condition_variables(condition: Condition) -> list[str]:
    """Return the variables that occur in a condition."""
    if isinstance(condition, Literal):
        return variables_of(condition.atom)
    if isinstance(condition, Equal):
        return variables_of((condition.left, condition.right))
    return []
