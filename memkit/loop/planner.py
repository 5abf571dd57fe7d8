"""Choose how a task is solved: known methods, methods with a model's help, evolutionary search, or plain tool use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .planning_tools import Proposals, heads, solve, term_text


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
        self.evolutionary = evolutionary
        self.proposals = proposals

    def choose(self, task: Any, *, evaluator: Callable[..., float] | str | None = None) -> Approach:
        """Return the approach to ``task`` and the reason for it."""
        if evaluator is not None:
            if self.evolutionary is None:
                return Approach("tools", "The task names an evaluator, but no evolutionary searcher was handed in.")
            return Approach("evolutionary", "The task names an evaluator, so candidates can be scored.")
        text = term_text(task)
        head = text.split()[0] if text else ""
        if self.htn is None:
            return Approach("tools", "No planner was handed in.")
        if head in heads(self.htn):
            return Approach("methods", f"The domain knows {head!r}.")
        if self.proposals is not None or getattr(self.htn, "llm_decompose", None) is not None:
            return Approach("chat-htn", f"No method fits {head!r}; a model may propose subtasks, which are validated.")
        return Approach("tools", f"No method fits {head!r} and no model may propose subtasks.")

    def generate(self, task: Any, state: Any = None) -> Any:
        """Return a plan, or None when there is none."""
        result = self.solve(task, state)
        return None if result is None else result.plan

    def solve(self, task: Any, state: Any = None, objects: Any = None) -> Any:
        """Return the planner's result, or None without a planner."""
        return None if self.htn is None else solve(self.htn, task, state, objects)

    def evolve(self, generations: int = 50) -> str:
        """Return the best program of the evolutionary searcher."""
        return str(self.evolutionary.run(generations=generations))
