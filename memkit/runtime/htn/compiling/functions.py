"""The functions that a search calls for steps and tasks, generated when they are first needed; and what steps cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Any

from ..language.terms import DomainError, Term, term_text
from .codegen import Own, cost_program
from .compiled import CompiledDomain, CompiledMethod, CompiledOperator
from .state import World

Apply = Callable[[Term], Term | None]
"""Applies a step and returns the values of its parameters, or None if it is impossible."""
Charging = Callable[[str, Apply, World], Apply]
"""Extends an operator's function to pay for the step."""
Expansion = tuple[CompiledMethod | None, Term, Sequence[Term], int]
"""The method (or an accepted proposal; None if no method was chosen), the values of its variables, the subtasks that
come first now, and how many subtasks the method has."""
Expand = Callable[[Term], Iterator[Expansion]]


class Functions:
    """The functions that a search calls for a step or a task."""

    def __init__(
        self, compiled: CompiledDomain, world: World, goal: CompiledMethod | None, charging: Charging | None = None
    ) -> None:
        self.steps: dict[Any, tuple[Apply, CompiledOperator] | None] = _Lazy(self._step)
        self.expanders: dict[Any, list[Expand]] = _Lazy(self._expanders)
        self._compiled = compiled
        self._world = world
        self._charging = charging
        self.expanders[Own.UNORDERED] = [next_of_unordered]
        if goal is not None:
            for_goal = self.expanders[Own.GOAL] = list[Expand]()
            for_goal.append(self._when_tried(for_goal, 0, goal, None))

    def _step(self, name: str) -> tuple[Apply, CompiledOperator] | None:
        operator = self._compiled.operators.get(name)
        if operator is None:
            return None
        apply = operator.program.link(self._world, operator)
        return (apply if self._charging is None else self._charging(name, apply, self._world)), operator

    def _expanders(self, task: str) -> list[Expand]:
        found: list[Expand] = []
        for at, method in enumerate(self._compiled.methods.get(task, ())):
            found.append(self._when_tried(found, at, method, method))
        return found

    def _when_tried(
        self, expanders: list[Expand], at: int, method: CompiledMethod, source: CompiledMethod | None
    ) -> Expand:
        """Return a function that builds a method's function on first use, and replaces itself by it."""

        def expand(task: Term) -> Iterator[Expansion]:
            if expanders[at] is expand:
                moves = method.moves(self._size)
                expanders[at] = method.program(moves).link(self._world, source)
            yield from expanders[at](task)

        return expand

    def _size(self, atom: Term, given: Any) -> float:
        return self._world.facts.estimate((atom[0], len(atom)), given)


def next_of_unordered(task: Term) -> Iterator[Expansion]:
    """Yield each task that may come next, followed by the others; repetitions are recognised by what is left."""
    _, steps, before, done = task
    for at, step in enumerate(steps):
        if not done >> at & 1 and before[at] & ~done == 0:
            now = done | 1 << at
            rest = ((Own.UNORDERED, steps, before, now),) if now + 1 < 1 << len(steps) else ()
            yield None, (), (step, *rest), 0


class _Lazy(dict[Any, Any]):
    """Computes the value of a key on first access."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Any) -> Any:
        value = self[key] = self._make(key)
        return value


class Costs:
    """Adds up costs, and knows a lower bound on the cost of each task."""

    def __init__(self, compiled: CompiledDomain) -> None:
        self.paid = 0.0
        self.most = inf
        """The upper bound that a plan's cost must stay below to be of interest."""
        self._compiled = compiled
        self._least = _least_costs(compiled)

    def charging(self, name: str, apply: Apply, world: World) -> Apply:
        """Return an operator's function that also pays for the step; a cost may depend on the state before it."""
        cost = self._cost_function(name, world)

        def charge(task: Term) -> Term | None:
            # An operator that does not fit its arguments has no cost either; the step itself detects that.
            due = cost(task)
            values = apply(task)
            if values is not None:
                if due is None or not due >= 0:
                    raise DomainError(
                        f"The step '{term_text(task)}' costs {due}; the cheapest plan can be found only if no step "
                        "has a negative cost."
                    )
                self.paid += due
            return values

        return charge

    def least(self, task: Term) -> float:
        """Return a lower bound on the cost of a task, however it is done."""
        if task[0] is Own.UNORDERED:
            _, steps, _, done = task
            return sum(self.least(step) for at, step in enumerate(steps) if not done >> at & 1)
        return self._least.get(task[0], 0.0)

    def _cost_function(self, name: str, world: World) -> Callable[[Term], Any]:
        operator = self._compiled.operators[name].source
        if isinstance(operator.cost, int | float):
            fixed = operator.cost
            return lambda task: fixed
        return cost_program(operator).link(world, None)


def _least_costs(compiled: CompiledDomain) -> dict[Any, float]:
    """Return the lowest cost of each task: its cheapest method, with the cheapest subtasks."""
    found: dict[Any, float] = dict.fromkeys(compiled.methods, inf)
    for name, operator in compiled.operators.items():
        cost = operator.source.cost
        found[name] = max(float(cost), 0.0) if isinstance(cost, int | float) else 0.0
    changed = True
    while changed:
        changed = False
        for task, methods in compiled.methods.items():
            sources = [method.source.subtasks for method in methods]
            sums = [0.0 if callable(steps) else sum(found.get(step[0], 0.0) for step in steps) for steps in sources]
            if min(sums, default=inf) < found[task]:
                found[task] = min(sums)
                changed = True
    return found
