"""Needs of tasks, derived from everything they may consist of: preconditions pulled up to the methods.

A condition of a step is needed before a task already if no earlier step of the task can make it true. So a method can
be rejected, and its variables bound, because of its steps alone. A task with several methods needs what all of them
need; recursion is solved as the greatest fixpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..language.conditions import Equal, Literal, bound, conjuncts
from ..language.domain import Domain
from ..language.methods import Method, all_predecessors
from ..language.operators import Operator, When
from ..language.terms import Term, is_variable
from .joins import Types

Call = tuple[Any, int]
"""The name of a task and its number of arguments."""
Needs = frozenset[Literal | Equal]
"""Conditions on the arguments of a call, written ``?0``, ``?1``, …"""
_MOST_NEEDS = 200
"""A task with more needs than this has passed its arguments around in many orders; it is skipped."""
_MOST_SUBTASKS = 500
"""A method with more subtasks than this is skipped too: each of them would be compared with all before it."""


@dataclass(frozen=True)
class PossibleChange:
    """A kind of fact that a task may change: constants if certain, otherwise types."""

    positive: bool
    name: Any
    args: tuple[tuple[str, Any], ...]
    """Each ``("is", value)`` or ``("type", name)``."""


Kinds = Mapping[tuple[bool, Any, int], Sequence[PossibleChange]]
"""Effects by whether they make a fact true, its name, and its number of arguments."""


class PulledUp:
    """The two fixpoints: what tasks may change, and what they need."""

    def __init__(self, domain: Domain, methods: Sequence[Method], types: Mapping[int, Types], typed: bool) -> None:
        """Compute the needs of all tasks; methods are identified by position, here and in ``types``.

        If every object has one declared type (``typed``), types without a common object distinguish facts.
        """
        self.domain = domain
        self.methods = methods
        self.types = types
        self.typed = typed
        self.operators = domain.steps
        self.opaque = {method.task for method in methods if callable(method.subtasks) or method.any_arguments}
        """Tasks that a user's function decomposes: they may need nothing and change anything."""
        self.crowded: set[Call] = set()
        self.earlier = [may_precede(method) for method in methods]
        self.effects = {name: _by_fact(effects) for name, effects in self._all_effects().items()}
        self.own = [
            [each for each in conjuncts(method.preconditions) if isinstance(each, Literal | Equal)]
            for method in methods
        ]
        self._positions = [_positions(method.head.args) for method in methods]
        # The fixpoint repeats the same queries.
        self._over_head = cache(self._find_over_head)
        self._at_beginning = cache(self._find_at_beginning)
        self._before = cache(self._find_before)
        self.needs: dict[Call, Needs] = {}
        self._found: dict[int, Needs] = {}
        """The needs of each method, as far as its subtasks are known."""
        self._users: dict[Call, list[int]] = {}
        """The methods that have a call as subtask."""
        for number in range(len(methods)):
            for call in dict.fromkeys(self._steps([number])):
                self._users.setdefault(call, []).append(number)
        for operator in domain.operators:
            call = (operator.name, len(operator.parameters))
            self.needs[call] = frozenset() if operator.any_arguments else _over_arguments(operator)
        calls = [(method.task, len(method.head.args)) for method in self.methods]
        # Starts from all that any method might need, and descends to what all methods need.
        self._repeat(calls, lambda found: frozenset().union(*found))
        self._repeat(calls, lambda found: frozenset.intersection(*found))

    def of_subtasks(self, number: int, start: int = 0) -> Needs:
        """Return the needs of a method's subtasks from ``start`` on when these begin, over the method's variables."""
        subtasks = self.methods[number].subtasks
        if callable(subtasks) or not self.earlier[number]:
            return frozenset()
        found = (
            self._at_beginning(number, start, at, each)
            for at, step in enumerate(subtasks)
            if at >= start
            for each in self.needs.get((step[0], len(step) - 1), ())
        )
        return frozenset(each for each in found if each is not None)

    def _repeat(self, calls: Sequence[Call], join: Callable[[list[Needs]], Needs]) -> None:
        """Combine the needs of each task's methods, subtasks first, until nothing changes; then all are known."""
        methods_of: dict[Call, list[int]] = {}
        for number, call in enumerate(calls):
            methods_of.setdefault(call, []).append(number)
        order = _inner_first({call: self._steps(numbers) for call, numbers in methods_of.items()})
        waiting = set(order)
        while waiting:
            for call in order:
                if call not in waiting:
                    continue
                waiting.remove(call)
                found = [self._of_method(number) for number in methods_of[call]]
                joined = frozenset() if call[0] in self.opaque or call in self.crowded else join(found)
                if len(joined) > _MOST_NEEDS:
                    self.crowded.add(call)
                    waiting.add(call)
                if joined != self.needs.get(call, frozenset()):
                    self.needs[call] = joined
                    for number in self._users.get(call, ()):
                        self._found.pop(number, None)
                        waiting.add(calls[number])

    def _steps(self, numbers: Iterable[int]) -> list[Call]:
        return [(step[0], len(step) - 1) for number in numbers for step in self.methods[number].steps]

    def _of_method(self, number: int) -> Needs:
        if number not in self._found:
            found = (self._over_head(number, each) for each in (*self.own[number], *self.of_subtasks(number)))
            self._found[number] = frozenset(each for each in found if each is not None)
        return self._found[number]

    def _find_over_head(self, number: int, need: Literal | Equal) -> Literal | Equal | None:
        """Return a method's need over its task's arguments, None if it mentions other variables."""
        names = self._positions[number]
        parts = need.atom[1:] if isinstance(need, Literal) else (need.left, need.right)
        return _over(need, names) if all(part in names for part in parts if is_variable(part)) else None

    def _find_at_beginning(self, number: int, start: int, at: int, need: Literal | Equal) -> Literal | Equal | None:
        """Return a subtask's need over the method's variables, None if earlier steps may satisfy it."""
        names, before = self._before(number, start, at)
        if before is None:
            return None
        own = _over(need, names)
        if isinstance(own, Equal):
            return own
        kind = (own.positive, own.atom[0], len(own.atom) - 1)
        effects = (effect for known in before for effect in known.get(kind, ()))
        return None if any(self._may_meet(each, own, number) for each in effects) else own

    def _find_before(self, number: int, start: int, at: int) -> tuple[Mapping[str, Any], Sequence[Kinds] | None]:
        """Return the arguments of a subtask, and the effects of what may precede it, None if those are unknown.

        What comes before ``start`` has been done already.
        """
        subtasks = self.methods[number].subtasks
        assert not callable(subtasks)
        names = {f"?{position}": arg for position, arg in enumerate(subtasks[at][1:])}
        earlier = dict.fromkeys(subtasks[other][0] for other in self.earlier[number][at] if other >= start)
        if any(name in self.opaque for name in earlier):
            return names, None
        return names, [self.effects[name] for name in earlier if name in self.effects]

    def _may_meet(self, effect: PossibleChange, need: Literal, number: int) -> bool:
        """Return whether an effect on the same kind of fact can make a needed condition true."""
        return all(self._meets(arg, part, number) for arg, part in zip(effect.args, need.atom[1:], strict=True))

    def _meets(self, arg: tuple[str, Any], part: Any, number: int) -> bool:
        how, what = arg
        if how == "is" and not is_variable(part):
            return bool(what == part)
        if how == "is" or not self.typed:
            return True
        kinds = self.types[number].get(part, ()) if is_variable(part) else [self.domain.objects.get(part, what)]
        return all(what in self.domain.types_above(kind) or kind in self.domain.types_above(what) for kind in kinds)

    def _all_effects(self) -> dict[Any, frozenset[PossibleChange]]:
        """Return what each task may change, however it is done."""
        found = {operator.name: frozenset(_effects(operator)) for operator in self.domain.operators}
        changed = True
        while changed:
            changed = False
            for method in self.methods:
                known = found.get(method.task, frozenset())
                wider = known.union(*(found.get(step[0], frozenset()) for step in method.steps))
                changed = changed or len(wider) > len(known)
                found[method.task] = wider
                if method.task not in self.opaque and any(step[0] in self.opaque for step in method.steps):
                    self.opaque.add(method.task)
                    changed = True
        return found


def _positions(args: Sequence[Any]) -> dict[Any, str]:
    """Map each variable among arguments to the name of its first position."""
    return {arg: f"?{at}" for at, arg in reversed(list(enumerate(args))) if is_variable(arg)}


def _inner_first(steps: Mapping[Call, Sequence[Call]]) -> list[Call]:
    """Return calls sorted so that callees come first, as far as they are not recursive."""
    found: dict[Call, None] = {}
    met: set[Call] = set()
    for start in steps:
        path = [(start, iter(steps[start]))] if start not in met else []
        met.add(start)
        while path:
            call, rest = path[-1]
            inner = next((each for each in rest if each in steps and each not in met), None)
            if inner is None:
                found[call] = None
                path.pop()
            else:
                met.add(inner)
                path.append((inner, iter(steps[inner])))
    return list(found)


def _by_fact(effects: Iterable[PossibleChange]) -> Kinds:
    found: dict[tuple[bool, Any, int], list[PossibleChange]] = {}
    for effect in effects:
        found.setdefault((effect.positive, effect.name, len(effect.args)), []).append(effect)
    return found


def _effects(operator: Operator) -> Iterable[PossibleChange]:
    for positive, fact, types in facts_changed(operator):
        args = (("type", types[part]) if is_variable(part) else ("is", part) for part in fact[1:])
        yield PossibleChange(positive, fact[0], tuple(args))


def facts_changed(operator: Operator) -> Iterator[tuple[bool, Term, Mapping[str, str]]]:
    """Yield every fact that an operator may make true or false, with the types of its variables."""
    types = {parameter.name: parameter.type for parameter in operator.parameters}
    whole = When(add=operator.effects_add, remove=operator.effects_remove)
    for effect in (whole, *operator.effects_more):
        if isinstance(effect, When):
            known = {**types, **{parameter.name: parameter.type for parameter in effect.parameters}}
            yield from ((True, fact, known) for fact in effect.add)
            yield from ((False, fact, known) for fact in effect.remove)


def may_precede(method: Method) -> list[list[int]]:
    """Return for each subtask the positions of those that may be done before it; empty if they are too many."""
    if callable(method.subtasks) or len(method.subtasks) > _MOST_SUBTASKS:
        return []
    count = len(method.subtasks)
    if method.ordering is None:
        return [list(range(at)) for at in range(count)]
    before = all_predecessors(method.ordering, count)
    return [[other for other in range(count) if other != at and at not in before[other]] for at in range(count)]


def _over_arguments(operator: Operator) -> Needs:
    names = {parameter.name: f"?{at}" for at, parameter in enumerate(operator.parameters)}
    return frozenset(
        _over(each, names) for each in conjuncts(operator.preconditions) if isinstance(each, Literal | Equal)
    )


def _over(need: Literal | Equal, names: Mapping[Any, Any]) -> Literal | Equal:
    """Return a need over other names."""
    found = bound(need, names)
    assert isinstance(found, Literal | Equal)
    return found
