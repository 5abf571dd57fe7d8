"""Choose how a task is solved: known methods, methods with a model's help, evolutionary search, or plain tool use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .interface import JSON


class Proposals:
    """Subtasks that a model proposed in a tool call.

    Hand the same object to the planner, as its ``llm_decompose``, and to the toolbox: what the model proposes in one
    is what the planner asks for and validates in the other.
    """

    def __init__(self) -> None:
        self._by_task: dict[str, list[str]] = {}

    def add(self, task: str, subtasks: Sequence[str]) -> None:
        """Keep ``subtasks`` as the model's decomposition of ``task``."""
        self._by_task[" ".join(task.split())] = [" ".join(subtask.split()) for subtask in subtasks]

    def __call__(self, task: Any, state: Any = None) -> list[str] | None:
        """Return what was proposed for ``task``, or None."""
        return self._by_task.get(term_text(task))


@dataclass(frozen=True)
class Approach:
    """How a task will be solved, and why so."""

    kind: str
    """methods | chat-htn | evolutionary | tools"""
    reason: str


class HybridPlanner:
    """Known methods first, then a model's proposals, evolution where a task names an evaluator, tools otherwise."""

    def __init__(self, htn: Any = None, evolutionary: Any = None, *, proposals: Proposals | None = None) -> None:
        self.htn = htn
        """One planner, or a mapping with one planner per domain."""
        self.evolutionary = evolutionary
        self.proposals = proposals

    @property
    def planners(self) -> dict[str, Any]:
        """Return the planners by the name of their domain."""
        if isinstance(self.htn, Mapping):
            return dict(self.htn)
        return {} if self.htn is None else {str(self.htn.domain.name): self.htn}

    def planner_for(self, task: Any, domain: str | None = None) -> Any:
        """Return the planner of ``domain``, else the first that knows the task, else any; None without planners."""
        planners = self.planners
        if domain is not None:
            return planners.get(domain)
        fitting = (planner for planner in planners.values() if head_of(task) in heads(planner))
        return next(fitting, next(iter(planners.values()), None))

    def choose(self, task: Any, *, evaluator: Callable[..., float] | str | None = None) -> Approach:
        """Return the approach to ``task`` and the reason for it."""
        if evaluator is not None:
            if self.evolutionary is None:
                return Approach("tools", "The task names an evaluator, but no evolutionary searcher was handed in.")
            return Approach("evolutionary", "The task names an evaluator, so candidates can be scored.")
        planner, head = self.planner_for(task), head_of(task)
        if planner is None:
            return Approach("tools", "No planner was handed in.")
        if head in heads(planner):
            return Approach("methods", f"The domain {planner.domain.name} knows {head!r}.")
        if self.proposals is not None:
            return Approach("chat-htn", f"No method fits {head!r}; a model may propose subtasks, which are validated.")
        return Approach("tools", f"No method fits {head!r} and no model may propose subtasks.")

    def generate(self, task: Any, state: Any = None) -> Any:
        """Return a plan, or None when there is none."""
        result = self.solve(task, state)
        return None if result is None else result.plan

    def solve(self, task: Any, state: Any = None, objects: Any = None) -> Any:
        """Return the planner's result, or None without a planner."""
        planner = self.planner_for(task)
        return None if planner is None else solve(planner, task, state, objects)

    def evolve(self, generations: int = 50) -> str:
        """Return the best program of the evolutionary searcher."""
        return str(self.evolutionary.run(generations=generations))


def as_hybrid(planner: Any, proposals: Proposals | None = None) -> HybridPlanner:
    """Return a planner, a mapping of planners, or nothing, as a hybrid planner."""
    return planner if isinstance(planner, HybridPlanner) else HybridPlanner(htn=planner, proposals=proposals)


def head_of(task: Any) -> str:
    """Return the name of a task without what it is about."""
    return (term_text(task).split() or [""])[0]


def solve(planner: Any, task: str, state: JSON = None, objects: JSON = None) -> Any:
    """Return the planner's result for a task; state and objects replace the domain's own when they are given."""
    given = {name: value for name, value in (("state", state), ("objects", objects)) if value is not None}
    return planner.solve(task, **given)


def term_text(term: Any) -> str:
    """Return a task as text, whether it came as text, as a sequence, or as a step with name and args.

    >>> term_text("deliver  book shop"), term_text(("deliver", "book", "shop"))
    ('deliver book shop', 'deliver book shop')
    """
    if isinstance(term, str):
        return " ".join(term.split())
    if hasattr(term, "name") and hasattr(term, "args"):
        return " ".join([str(term.name), *map(str, term.args)])
    return " ".join(map(str, term))


def result_data(result: Any) -> dict[str, JSON]:
    """Return a planner's result as plain data: outcome, plan, tree and reasons."""
    return dict(result.to_data())


def known_tasks(planner: Any) -> list[str]:
    """Return the tasks that a planner has methods for, written as terms."""
    return sorted({term_text((method.head.name, *method.head.args)) for method in planner.domain.methods})


def heads(planner: Any) -> set[str]:
    """Return the first words of every task and operator of a planner."""
    methods = {str(method.head.name) for method in planner.domain.methods}
    return methods | {str(operator.name) for operator in planner.domain.operators}
