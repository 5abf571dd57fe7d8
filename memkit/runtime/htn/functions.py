"""The generated functions of a domain, bound to one world when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from .codegen import Own, Program
from .compiled import CompiledDomain, CompiledMethod, CompiledOperator
from .notes import Notes
from .rows import applied_by_rows, expanded_by_rows, expected_rows
from .terms import Term
from .world import World

Apply = Callable[[Term], Term | None]
"""Carries a step out and returns the values of its parameters, or None where it cannot be done."""
Charging = Callable[[str, Apply, World], Apply]
"""Makes an operator's function into one that also pays for the step."""
Expansion = tuple[CompiledMethod | None, Term, Sequence[Term], int]
"""The method (or an accepted proposal; None where no choice of a method was made), the values of its variables, what
comes first now, and how many subtasks the method has."""
Expand = Callable[[Term], Iterator[Expansion]]

USES = 60
"""How often a method or an operator is used before code is generated for it."""
_LINKED = 15
"""As how many uses it counts to get ready for one more search without generated code."""
ROWS = 1_000
"""How many candidates a method may look at without generated code."""


class Functions:
    """What a search calls for a step or a task."""

    def __init__(
        self,
        compiled: CompiledDomain,
        world: World,
        notes: Notes | None,
        goal: CompiledMethod | None,
        charging: Charging | None,
    ) -> None:
        self.steps: dict[Any, tuple[Apply, CompiledOperator] | None] = _Lazy(self._step)
        self.expanders: dict[Any, list[Expand]] = _Lazy(self._expanders)
        self._compiled = compiled
        self._world = world
        self._notes = notes
        self._charging = charging
        self.expanders[Own.UNORDERED] = [next_of_unordered]
        if goal is not None:
            for_goal = self.expanders[Own.GOAL] = list[Expand]()
            for_goal.append(self._when_tried(for_goal, 0, goal, None))

    def _step(self, name: str) -> tuple[Apply, CompiledOperator] | None:
        operator = self._compiled.operators.get(name)
        if operator is None:
            return None
        apply = self._applied(name, operator)
        return (apply if self._charging is None else self._charging(name, apply, self._world)), operator

    def _applied(self, name: str, operator: CompiledOperator) -> Apply:
        """Return an operator's function; one that goes by rows has the generated one take its place in time."""
        slow = None if self._noted or operator.uses >= USES else applied_by_rows(operator.source, self._world)
        if slow is None:
            generated: Apply = self._linked(operator.program(noted=self._noted), operator, operator)
            return generated
        by_rows = slow
        operator.uses += _LINKED

        def apply(task: Term) -> Term | None:
            operator.uses += 1
            if operator.uses >= USES:
                self.steps[name] = self._step(name)
            return by_rows(task)

        return apply

    def _expanders(self, task: str) -> list[Expand]:
        found: list[Expand] = []
        for at, method in enumerate(self._compiled.methods.get(task, ())):
            found.append(self._when_tried(found, at, method, method))
        return found

    def _when_tried(
        self, expanders: list[Expand], at: int, method: CompiledMethod, source: CompiledMethod | None
    ) -> Expand:
        """Return what makes a method's function once it is tried, and puts that in its own place."""

        def expand(task: Term) -> Iterator[Expansion]:
            if expanders[at] is expand:
                expanders[at] = self._expander(expanders, at, method, source)
            yield from expanders[at](task)

        return expand

    def _expander(
        self, expanders: list[Expand], at: int, method: CompiledMethod, source: CompiledMethod | None
    ) -> Expand:
        """Return a method's function; one that goes by rows puts the generated one in its place in time."""
        moves, world = method.moves(self._size, noted=self._noted), self._world

        def generated() -> Expand:
            expand: Expand = self._linked(method.program(moves, noted=self._noted), method, source)
            return expand

        if self._noted or method.uses >= USES or expected_rows(moves, world) > ROWS:
            return generated()
        slow = expanded_by_rows(method.source, moves, method.types, method.changing, world, source)
        if slow is None:
            return generated()
        by_rows = slow
        method.uses += _LINKED

        def expand(task: Term) -> Iterator[Expansion]:
            method.uses += 1
            if method.uses >= USES:
                expanders[at] = generated()
            yield from by_rows(task)

        return expand

    @property
    def _noted(self) -> bool:
        return self._notes is not None

    def _size(self, atom: Term, given: Any) -> float:
        return self._world.facts.estimate((atom[0], len(atom)), given)

    def _linked(self, program: Program, owner: CompiledOperator | CompiledMethod, source: object) -> Any:
        note = None
        if self._notes is not None:
            note = partial(self._notes.unmet, owner, program.explanations, self._world)
        return program.link(self._world, source, note)


def next_of_unordered(task: Term) -> Iterator[Expansion]:
    """Yield each task that may come next, followed by the others; what is met again is recognised by what is left."""
    _, steps, before, done = task
    for at, step in enumerate(steps):
        if not done >> at & 1 and before[at] & ~done == 0:
            now = done | 1 << at
            rest = ((Own.UNORDERED, steps, before, now),) if now + 1 < 1 << len(steps) else ()
            yield None, (), (step, *rest), 0


class _Lazy(dict[Any, Any]):
    """Makes the value of a key when it is first asked for."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Any) -> Any:
        value = self[key] = self._make(key)
        return value
