"""What steps cost, and the least that is left to pay: what the search for the cheapest plan needs to know."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from .codegen import Own, cost_program
from .compiled import CompiledDomain
from .errors import DomainError
from .functions import Apply
from .terms import Term, term_text
from .world import World


class Costs:
    """Adds up what has been paid, and knows for each task a bound below its cost."""

    def __init__(self, compiled: CompiledDomain) -> None:
        self.paid = 0.0
        self.most = inf
        """What a plan must cost less than to be of interest."""
        self._compiled = compiled
        self._least = _least_costs(compiled)

    def charging(self, name: str, apply: Apply, world: World) -> Apply:
        """Return an operator's function that also pays for the step; a cost may depend on the state before it."""
        cost = self._cost_function(name, world)

        def charge(task: Term) -> Term | None:
            # An operator that does not fit its arguments has no cost either; the step itself finds that out.
            due = cost(task)
            values = apply(task)
            if values is not None:
                if due is None or not due >= 0:
                    raise DomainError(
                        f"The step '{term_text(task)}' costs {due}; the cheapest plan can be looked for only where "
                        "every step costs nothing or more."
                    )
                self.paid += due
            return values

        return charge

    def least(self, task: Term) -> float:
        """Return what a task costs at least, however it is done."""
        if task[0] is Own.UNORDERED:
            _, steps, _, done = task
            return sum(self.least(step) for at, step in enumerate(steps) if not done >> at & 1)
        return self._least.get(task[0], 0.0)

    def _cost_function(self, name: str, world: World) -> Callable[[Term], Any]:
        operator = self._compiled.operators[name].source
        if isinstance(operator.cost, int | float):
            fixed = operator.cost
            return lambda task: fixed
        cost: Callable[[Term], Any] = cost_program(operator).link(world, None, None)
        return cost


def _least_costs(compiled: CompiledDomain) -> dict[Any, float]:
    """Return the least that each task can cost: the cheapest method, each by its cheapest subtasks."""
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
