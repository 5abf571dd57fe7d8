"""The state that a problem starts with: facts and values of numeric functions, in every form callers write."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from ..errors import DomainError, located
from .conditions import Literal
from .forms import ordered, parse_condition
from .terms import (
    Term,
    finite,
    is_numeral,
    is_variable,
    number_text,
    parse_fluent,
    parse_number,
    parse_term,
    read_expression,
    term_text,
)


@dataclass(frozen=True)
class Start:
    """Facts and numbers that hold at the start."""

    facts: tuple[Term, ...]
    numbers: Mapping[Term, int | float]
    spelled: str
    """How the caller wrote it (``text``, ``tuple`` or ``mapping``), so that functions see it the same way."""


def parse_state(value: object, functions: Collection[str] = ()) -> Start:
    """Return the facts of a state in a fixed order, its numbers, and how the caller wrote them.

    In a mapping, the names in ``functions`` have numbers behind them.

    >>> parse_state({"at": "home", "has_smtp": True, "tired": False}).facts
    (('at', 'home'), ('has_smtp',))
    >>> parse_state(["at home", "= (fuel t1) 10"]).numbers
    {('fuel', 't1'): 10}
    """
    if isinstance(value, Mapping):
        told = [fact for name, held in value.items() if name not in functions for fact in _facts_of((str(name),), held)]
        facts, spelled = [_of_objects(parse_term(fact)) for fact in told], "mapping"
        named = [name for name in value if name in functions]
        numbers = dict(each for name in named for each in _numbers_of((str(name),), value[name]))
    else:
        # The facts are sorted below, so a set need not be put in order here.
        given = [value] if isinstance(value, str) else (value or ())
        items = list(given) if isinstance(given, Set) else ordered(given)
        facts, numbers = read_items(items)
        spelled = "tuple" if any(isinstance(item, tuple | list) for item in items) else "text"
    return Start(tuple(sorted(set(facts), key=_fact_key)), numbers, spelled)


def read_items(items: Iterable[object]) -> tuple[list[Term], dict[Term, int | float]]:
    """Return the facts and the values of a list; the path of an error is the number of the entry.

    ``not at home`` adds nothing, because what is not said does not hold.
    """
    facts: list[Term] = []
    numbers: dict[Term, int | float] = {}
    denied: dict[Term, int] = {}
    for number, item in enumerate(items):
        with located(number):
            if (valued := parse_value(item)) is not None:
                _put_value(numbers, _of_objects(valued[0]), valued[1])
            elif (fact := _denied(item)) is not None:
                denied[fact] = number
            else:
                facts.append(_of_objects(parse_term(item)))
    if denied:
        for fact in denied.keys() & set(facts):
            raise DomainError(f"The state says that '{term_text(fact)}' holds and that it does not.", (denied[fact],))
    return facts, numbers


def _of_objects(fact: Term) -> Term:
    if any(is_variable(part) for part in fact):
        raise DomainError(f"'{term_text(fact)}' has a variable. Name an object.")
    return fact


def _denied(item: object) -> Term | None:
    """Return the fact that an entry says does not hold, or None."""
    listed = isinstance(item, tuple | list) and bool(item) and item[0] == "not"
    if not listed and not (isinstance(item, str) and item.lstrip(" (").startswith("not")):
        return None
    condition = parse_condition(item)
    return condition.atom if isinstance(condition, Literal) and not condition.positive else None


def _fact_key(fact: Term) -> list[tuple[str, str]]:
    return [(type(part).__name__, str(part)) for part in fact]


def _facts_of(prefix: Term, held: Any) -> list[Term]:
    if held is True:
        return [prefix]
    if held is False or held is None:
        return []
    if isinstance(held, Mapping):
        return [fact for name, inner in held.items() for fact in _facts_of((*prefix, name), inner)]
    if isinstance(held, list | set | frozenset):
        return [(*prefix, *(item if isinstance(item, tuple | list) else (item,))) for item in ordered(held)]
    return [(*prefix, *held)] if isinstance(held, tuple) else [(*prefix, held)]


def _numbers_of(prefix: Term, held: Any) -> Iterator[tuple[Term, int | float]]:
    if isinstance(held, Mapping):
        for name, inner in held.items():
            yield from _numbers_of((*prefix, name), inner)
        return
    if not is_numeral(held) or isinstance(held, str):
        raise DomainError(f"The value of {term_text(prefix)} is {held!r}, which is not a number.")
    yield prefix, finite(held)


def parse_value(item: object) -> tuple[Term, int | float] | None:
    """Return the fluent and the number of ``"= (fuel t1) 10"`` or ``("=", ("fuel", "t1"), 10)``; None for a fact."""
    parts: Any = read_expression(item) if isinstance(item, str) and item.strip().startswith(("=", "(")) else item
    if not isinstance(parts, tuple | list) or not parts or parts[0] != "=":
        return None
    if len(parts) != 3:
        raise DomainError(f"{item!r} is not a value. Write '= (fuel t1) 10'.")
    value = parse_number(parts[2])
    if not isinstance(value, int | float):
        raise DomainError(f"{item!r}: a state gives numbers; {number_text(value)} is none.")
    return parse_fluent(parts[1]), value


def _put_value(numbers: dict[Term, int | float], fluent: Term, value: int | float) -> None:
    """Add a value; raise DomainError where the fluent has another one already."""
    if numbers.setdefault(fluent, value) != value:
        raise DomainError(f"({term_text(fluent)}) is both {numbers[fluent]} and {value}.")


def value_text(fluent: Term, value: int | float) -> str:
    """Return a value as text that :func:`parse_value` reads back."""
    return f"= ({term_text(fluent)}) {value}"
