"""The generated functions of a domain, bound to one world when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from .codegen import Own, Program
from .compiled import CompiledDomain, CompiledMethod, CompiledOperator
from .notes import Notes
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
            self.expanders[Own.GOAL] = [self._linked(goal.program(self._size, noted=self._noted), goal, None)]

    def _step(self, name: str) -> tuple[Apply, CompiledOperator] | None:
        operator = self._compiled.operators.get(name)
        if operator is None:
            return None
        apply: Apply = self._linked(operator.program(noted=self._noted), operator, operator)
        return (apply if self._charging is None else self._charging(name, apply, self._world)), operator

    def _expanders(self, task: str) -> list[Expand]:
        found: list[Expand] = []
        for at, method in enumerate(self._compiled.methods.get(task, ())):
            found.append(self._when_tried(found, at, method))
        return found

    def _when_tried(self, expanders: list[Expand], at: int, method: CompiledMethod) -> Expand:
        """Return what makes a method's function once it is tried, and puts that in its own place."""

        def expand(task: Term) -> Iterator[Expansion]:
            if expanders[at] is expand:
                expanders[at] = self._linked(method.program(self._size, noted=self._noted), method, method)
            yield from expanders[at](task)

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
