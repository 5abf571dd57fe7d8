"""Effects beyond plain facts: changes of numbers, and effects that depend on the state or touch many objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from .conditions import ALWAYS, Condition, Every, Literal, condition_variables
from .errors import DomainError, HtnError, located
from .expressions import read_expression
from .forms import ordered, parse_condition, parse_conditions
from .numbers import Number, is_numeral, number_text, number_variables, parse_fluent, parse_number
from .terms import Parameter, Term, parse_parameters, parse_term, variables_of

T = TypeVar("T")

CHANGES = ("assign", "increase", "decrease", "scale_up", "scale_down")


@dataclass(frozen=True)
class Change:
    """A new value of a fluent, or what is done with the one it has."""

    operator: str
    """``assign``, ``increase``, ``decrease``, ``scale_up`` or ``scale_down``"""
    fluent: Term
    value: Number

    def __str__(self) -> str:
        return f"{self.operator} {number_text(self.fluent)} {number_text(self.value)}"


@dataclass(frozen=True)
class When:
    """Effects that happen where a condition holds before the step, for every object its parameters stand for."""

    parameters: tuple[Parameter, ...] = ()
    condition: Condition = ALWAYS
    add: tuple[Term, ...] = ()
    remove: tuple[Term, ...] = ()
    changes: tuple[Change, ...] = ()


Effect = When | Change


def parse_effect(value: object) -> Literal | Effect:
    """Return the effect of ``"at ?to"``, ``"not at ?from"``, ``"increase (fuel ?t) 5"`` or ``{when: […], add: […]}``.

    >>> str(parse_effect("increase (fuel ?t) 5"))
    'increase (fuel ?t) 5'
    >>> parse_effect({"when": ["in ?p ?t"], "add": ["wet ?p"]}).add
    (('wet', '?p'),)
    """
    if isinstance(value, When | Change):
        return value
    if isinstance(value, Mapping) and "name" not in value:
        return _when(value)
    if (change := _change(value)) is not None:
        return change
    condition = parse_condition(value)
    if not isinstance(condition, Literal):
        raise DomainError(
            f"'{condition}' is not an effect. Write 'at ?to', 'not at ?from', 'increase (fuel ?t) 5' or a map."
        )
    return condition


def _change(value: object) -> Change | None:
    """Return the change that a list stands for if it names one and its parts are a fluent and a number."""
    parts: Any = read_expression(value) if isinstance(value, str) and "(" not in value.split(" ")[0][1:] else value
    if not isinstance(parts, tuple | list) or not parts or not isinstance(parts[0], str):
        return None
    word = parts[0].replace("-", "_")
    nested = [isinstance(part, tuple | list) for part in parts[1:]]
    if word not in CHANGES or not (any(nested) or is_numeral(parts[-1])):
        return None
    if len(parts) != 3:
        raise DomainError(f"'{word}' takes a fluent and a number: '{word} (fuel ?t) 5'.")
    return Change(word, parse_fluent(parts[1]), parse_number(parts[2]))


_WHEN_KEYS = ("forall", "when", "add", "remove", "change")


def _when(value: Mapping[Any, Any]) -> When:
    for key in value:
        if key not in _WHEN_KEYS:
            raise DomainError(f"An effect has no key {key}. Known keys: {', '.join(_WHEN_KEYS)}.", (str(key),))
    with located("when"):
        conditions = parse_conditions(value.get("when"))
    with located("forall"):
        parameters = parse_parameters(value.get("forall") or "")
    found = When(
        parameters,
        conditions[0] if len(conditions) == 1 else Every(conditions),
        _read(value, "add", parse_fact),
        _read(value, "remove", parse_fact),
        _read(value, "change", _only_change),
    )
    if not (found.add or found.remove or found.changes):
        raise DomainError("An effect adds, removes or changes something: {when: ['in ?p ?t'], add: ['wet ?p']}.")
    return found


def _list(value: Mapping[Any, Any], key: str) -> list[Any]:
    given = value.get(key)
    return [given] if isinstance(given, str) else ordered(given or ())


def _read(value: Mapping[Any, Any], key: str, read: Callable[[object], T]) -> tuple[T, ...]:
    found: list[T] = []
    for number, item in enumerate(_list(value, key)):
        with located(key, number):
            found.append(read(item))
    return tuple(found)


def parse_fact(item: object) -> Term:
    """Return the fact that an entry under ``add`` or ``remove`` names."""
    try:
        fact = parse_term(item)
    except HtnError as error:
        raise DomainError(error.message) from None
    if _change(item) is not None:
        raise DomainError(f"'{item}' changes a number. List it under change, or in effects.")
    if fact[0] in ("not", "="):
        raise DomainError(f"{item!r} is not a fact. List the facts themselves under add and remove.")
    return fact


def _only_change(item: object) -> Change:
    if isinstance(item, Change):
        return item
    change = _change(item)
    if change is None:
        raise DomainError(f"{item!r} does not change a number. Write 'increase (fuel ?t) 5'.")
    return change


def effect_variables(effect: Effect) -> list[str]:
    """Return the variables of an effect that the parameters of its operator must bind."""
    if isinstance(effect, Change):
        return list(dict.fromkeys([*variables_of(effect.fluent), *number_variables(effect.value)]))
    found = condition_variables(effect.condition)
    found += [name for fact in (*effect.add, *effect.remove) for name in variables_of(fact)]
    found += [name for change in effect.changes for name in effect_variables(change)]
    own = {parameter.name for parameter in effect.parameters}
    return [name for name in dict.fromkeys(found) if name not in own]
