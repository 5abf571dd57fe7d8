"""Parts that no plan can ever contain: impossible steps, methods that can never be used, tasks that never end."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from memkit.runtime.htn.core import (
    Arithmetic,
    Compare,
    Condition,
    Domain,
    Equal,
    Exists,
    ForAll,
    Literal,
    Method,
    Operator,
    Some,
    Term,
    When,
    term_text,
)
from memkit.runtime.htn.language.conditions import bound, conjuncts, walk
from memkit.runtime.htn.language.terms import Path, is_variable, number_text
from memkit.runtime.htn.verification.evaluation import compared


@dataclass(frozen=True)
class Fault:
    """One fault, with the path of its key in the YAML form."""

    code: str
    message: str
    path: Path
    at_key: bool = False
    """Whether the key at the end of the path is meant, and not its value."""
    slip: tuple[str, str] | None = None
    """The wrong name, and the one that was probably meant."""


def ending_faults(domain: Domain) -> Iterator[Fault]:
    """Yield what no plan can ever contain.

    A task that is only declared may be accomplished by a method learned later, so it is not reported.
    """
    operators = {operator.name: operator for operator in domain.operators}
    never: dict[str, str] = {}
    """What can never be done, by name, and why."""
    for number, operator in enumerate(domain.operators):
        if why := contradiction(operator.preconditions):
            never[operator.name] = why
            message = f"The step {operator.name} can never be taken: {why}."
            yield Fault("MKD011", message, ("operators", number, "preconditions"), at_key=True)
    dead = {number: why for number, method in enumerate(domain.methods) if (why := _obstacle(method, operators))}
    _spread(domain, dead, never)
    for number, why in dead.items():
        name = domain.methods[number].name
        message = f"The method {name} can never be used: {why}."
        yield Fault("MKD010", message, ("methods", number, "name"))
    yield from _endless(domain, dead, set(never))


def _spread(domain: Domain, dead: dict[int, str], never: dict[str, str]) -> None:
    """Add the methods with an impossible step, and the tasks whose methods are all impossible."""
    callers = _callers(domain.methods)
    left = Counter(method.task for method in domain.methods)
    waiting = deque(never)

    def drop(number: int) -> None:
        task = domain.methods[number].task
        left[task] -= 1
        if not left[task]:
            never[task] = "none of its methods can be used"
            waiting.append(task)

    for number in dead:
        drop(number)
    while waiting:
        name = waiting.popleft()
        for number in callers.get(name, ()):
            if number not in dead:
                dead[number] = f"its step {name} can never be done"
                drop(number)


def _callers(methods: Sequence[Method]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, method in enumerate(methods):
        for name in dict.fromkeys(_names(method)):
            found.setdefault(name, []).append(number)
    return found


def _endless(domain: Domain, dead: Mapping[int, str], never: set[str]) -> Iterator[Fault]:
    """Yield each task that leads back to itself whichever methods are chosen."""
    methods: dict[str, list[Method]] = {}
    for number, method in enumerate(domain.methods):
        if number not in dead:
            methods.setdefault(method.task, []).append(method)
    inside = set(methods) - never
    inside -= _ending([each for found in methods.values() for each in found], inside)
    told: set[str] = set()
    for number, method in enumerate(domain.methods):
        circle = _circle(method.task, methods, inside) if method.task in inside - told else None
        if circle:
            told.update(circle)
            message = f"The task {method.task} never ends: every way to do it leads to {' → '.join(circle)} again."
            yield Fault("MKD013", message, ("methods", number, "task"))


def _ending(methods: Sequence[Method], tasks: set[str]) -> set[str]:
    """Return those of the tasks that some choice of methods completes."""
    callers = _callers(methods)
    missing = [len(tasks.intersection(_names(method))) for method in methods]
    waiting = deque(method.task for method, count in zip(methods, missing, strict=True) if not count)
    ended: set[str] = set()
    while waiting:
        task = waiting.popleft()
        if task in ended:
            continue
        ended.add(task)
        for number in callers.get(task, ()):
            missing[number] -= 1
            if not missing[number]:
                waiting.append(methods[number].task)
    return ended


def _circle(task: str, methods: Mapping[str, list[Method]], inside: set[str]) -> list[str] | None:
    """Return a shortest way from a task through its subtasks back to itself, or None."""
    ways: list[list[str]] = [[task]]
    met: set[str] = set()
    for way in ways:
        for name in dict.fromkeys(name for each in methods[way[-1]] for name in _names(each)):
            if name == task:
                return [*way, task]
            if name in inside and name not in met:
                met.add(name)
                ways.append([*way, name])
    return None


def _names(method: Method) -> list[str]:
    return [str(step[0]) for step in method.steps]


def _obstacle(method: Method, operators: Mapping[str, Operator]) -> str | None:
    """Return why a method's conditions or its first steps exclude each other."""
    if why := contradiction(method.preconditions):
        return why
    if method.ordering is not None:
        return None
    known = _Known(method)
    for step in method.steps:
        operator = operators.get(str(step[0]))
        if operator is None:
            return None  # what other methods do there is unknown
        if why := known.take(operator, step):
            return f"when '{term_text(step)}' comes, {why}"
    return None


class _Known:
    """The facts that are certain while the steps of a method are taken one after another."""

    def __init__(self, method: Method) -> None:
        parts = list(conjuncts(method.preconditions))
        self.equalities = [each for each in parts if isinstance(each, Equal)]
        self.facts = {each.atom: each.positive for each in parts if isinstance(each, Literal)}

    def take(self, operator: Operator, step: Term) -> str | None:
        names = {each.name: part for each, part in zip(operator.parameters, step[1:], strict=False)}
        parts = [each for each in conjuncts(operator.preconditions) if not is_quantified(each)]
        needed = [bound(each, names) for each in parts]
        known = [Literal(atom, positive) for atom, positive in self.facts.items()]
        if why := contradiction([*self.equalities, *known, *needed]):
            return why
        self.equalities += [each for each in needed if isinstance(each, Equal)]
        self.facts |= {each.atom: each.positive for each in needed if isinstance(each, Literal)}
        for effect in operator.effects_more:
            if isinstance(effect, When):
                own = {each.name: "?" for each in effect.parameters}
                for atom in (*effect.add, *effect.remove):
                    self._forget(_ground(atom, {**names, **own}))
        for atoms, holds in ((operator.effects_remove, False), (operator.effects_add, True)):
            for atom in atoms:
                self._forget(_ground(atom, names))
                self.facts[_ground(atom, names)] = holds
        return None

    def _forget(self, changed: Term) -> None:
        """Drop what a change may have affected: every fact that could be the same one."""
        self.facts = {atom: holds for atom, holds in self.facts.items() if not _may_be(atom, changed)}


def _ground(atom: Term, names: Mapping[str, Any]) -> Term:
    return tuple(names.get(part, part) if is_variable(part) else part for part in atom)


def _may_be(one: Term, other: Term) -> bool:
    return len(one) == len(other) and all(
        is_variable(left) or is_variable(right) or left == right for left, right in zip(one, other, strict=True)
    )


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def contradiction(conditions: Iterable[Condition]) -> str | None:
    """Return in words why no state satisfies all of the conditions, or None if that cannot be shown."""
    found = list(conjuncts(conditions))
    classes = _classes(found)
    if isinstance(classes, str):
        return classes
    parts = [condition if is_quantified(condition) else bound(condition, classes) for condition in found]
    return _of_equalities(parts) or _of_facts(parts) or _of_numbers(parts) or _of_parts(parts)


def is_quantified(condition: Condition) -> bool:
    """Return whether a condition has variables of its own, which a renaming of its variables could hide."""
    return any(isinstance(each, ForAll | Exists) for each in walk([condition]))


def _classes(conditions: Iterable[Condition]) -> Mapping[str, Any] | str:
    """Return the required equal of each variable; a sentence if two different objects would have to be equal."""
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
    """Return why comparisons with literals leave no value for a fluent; either form of one is false without a value."""
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
    """Return whether some number satisfies all bounds: one of them, or one between the narrowest."""
    values = sorted({value for _, value in bounds})
    between = [(one + other) / 2 for one, other in pairwise(values)]
    tries = [*values, *between, values[0] - 1, values[-1] + 1]
    return any(all(compared(operator, each, value) for operator, value in bounds) for each in tries)


def _of_parts(conditions: Sequence[Condition]) -> str | None:
    """Return why no part of a disjunction, or no object for an "exists", could satisfy the other conditions."""
    plain = [condition for condition in conditions if not isinstance(condition, Some | Exists)]
    for condition in conditions:
        if isinstance(condition, Exists) and (why := contradiction([condition.condition])):
            return f"no object satisfies '{condition}': {why}"
        if isinstance(condition, Some):
            reasons = [contradiction([*plain, each]) for each in condition.conditions]
            if all(reasons):
                return f"no part of '{condition}' can hold"
    return None
