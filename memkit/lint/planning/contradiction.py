"""Conditions that cannot all hold, whatever the state and the objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from memkit.runtime.htn.core import Arithmetic, Compare, Condition, Equal, Exists, ForAll, Literal, Some, Term
from memkit.runtime.htn.language.conditions import bound, conjuncts, walk
from memkit.runtime.htn.language.terms import is_variable, number_text
from memkit.runtime.htn.verification.evaluation import compared

_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def contradiction(conditions: Iterable[Condition]) -> str | None:
    """Return in words why no state makes all of the conditions hold, or None where that cannot be shown."""
    found = list(conjuncts(conditions))
    classes = _classes(found)
    if isinstance(classes, str):
        return classes
    parts = [condition if is_quantified(condition) else bound(condition, classes) for condition in found]
    return _of_equalities(parts) or _of_facts(parts) or _of_numbers(parts) or _of_parts(parts)


def is_quantified(condition: Condition) -> bool:
    """Return whether a condition has variables of its own, which other names for its variables could hide."""
    return any(isinstance(each, ForAll | Exists) for each in walk([condition]))


def _classes(conditions: Iterable[Condition]) -> Mapping[str, Any] | str:
    """Return what each variable must be the same as; a sentence where two different objects must be one."""
    same: dict[str, Any] = {}

    def end(part: Any) -> Any:
        while is_variable(part) and part in same:
            part = same[part]
        return part

    for condition in conditions:
        if isinstance(condition, Equal) and condition.positive:
            left, right = end(condition.left), end(condition.right)
            if left == right:
                continue
            if not is_variable(left):
                left, right = right, left
            if not is_variable(left):
                return f"{left} and {right} are different objects"
            same[left] = right
    return {name: end(name) for name in same}


def _of_equalities(conditions: Iterable[Condition]) -> str | None:
    for condition in conditions:
        if isinstance(condition, Equal) and not condition.positive and condition.left == condition.right:
            return f"{condition.left} is the same as itself"
    return None


def _of_facts(conditions: Iterable[Condition]) -> str | None:
    signs: dict[Term, bool] = {}
    for condition in conditions:
        if (
            isinstance(condition, Literal)
            and signs.setdefault(condition.atom, condition.positive) != condition.positive
        ):
            return f"both '{Literal(condition.atom)}' and '{Literal(condition.atom, False)}' must hold"
    return None


def _of_numbers(conditions: Iterable[Condition]) -> str | None:
    """Return why comparisons with literals leave no value for a fluent; neither form of one holds without a value."""
    bounds: dict[Term, list[tuple[str, int | float]]] = {}
    for condition in conditions:
        if not isinstance(condition, Compare):
            continue
        operator, left, right = condition.operator, condition.left, condition.right
        if isinstance(left, int | float) and isinstance(right, int | float):
            if compared(operator, left, right) is not condition.positive:
                return f"'{condition}' never holds"
            continue
        if isinstance(left, int | float):
            operator, left, right = _MIRRORED[operator], right, left
        if not condition.positive:
            if operator == "=":
                continue
            operator = _OPPOSITE[operator]
        if isinstance(left, tuple) and isinstance(right, int | float):
            bounds.setdefault(left, []).append((operator, right))
        elif left == right and operator in "<>" and not isinstance(left, Arithmetic):
            return f"'{condition}' compares a number with itself"
    for fluent, found in bounds.items():
        if not _leaves_a_value(found):
            wanted = " and ".join(f"{operator} {value}" for operator, value in found)
            return f"{number_text(fluent)} cannot be {wanted}"
    return None


def _leaves_a_value(bounds: Sequence[tuple[str, int | float]]) -> bool:
    """Return whether some number keeps to all bounds: one of them, or one between the narrowest."""
    values = sorted({value for _, value in bounds})
    between = [(one + other) / 2 for one, other in pairwise(values)]
    tries = [*values, *between, values[0] - 1, values[-1] + 1]
    return any(all(compared(operator, each, value) for operator, value in bounds) for each in tries)


def _of_parts(conditions: Sequence[Condition]) -> str | None:
    """Return why a disjunction has no part, or an "exists" nothing, that could hold beside the other conditions."""
    plain = [condition for condition in conditions if not isinstance(condition, Some | Exists)]
    for condition in conditions:
        if isinstance(condition, Exists) and (why := contradiction([condition.condition])):
            return f"no object will do for '{condition}': {why}"
        if isinstance(condition, Some):
            reasons = [contradiction([*plain, each]) for each in condition.conditions]
            if all(reasons):
                return f"no part of '{condition}' can hold"
    return None
