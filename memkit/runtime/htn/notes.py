"""Notes of what stood in the way of a search, and the reasons made of them afterwards.

While the search runs only the furthest failure of each method is kept, unworded; words cost time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .codegen import MISFIT, Explanation, Own
from .compiled import CompiledMethod, CompiledOperator
from .conditions import Check, Condition, Literal, bound
from .interface import Reason
from .joins import Compute, Happen, Move, Test
from .terms import Term, term_text
from .world import World

Owner = CompiledOperator | CompiledMethod


class Notes:
    """Keeps, for each method and operator, the condition that failed after all others had held."""

    def __init__(self) -> None:
        self._deepest: dict[tuple[str, str], tuple[int, Owner, Term, Any, Term]] = {}
        self._reasons: dict[tuple[str, str], Reason] = {}

    def unmet(
        self, owner: Owner, explanations: Sequence[Explanation], world: World, number: int, task: Term, values: Term
    ) -> None:
        """Note that the move of this number failed, or that the arguments did not fit."""
        key = (type(owner).__name__, owner.source.name)
        known = self._deepest.get(key)
        if known is not None and number <= known[0]:
            return
        why = owner.head.misfit(task[1:], world) if number == MISFIT else explanations[number]
        self._deepest[key] = (number, owner, task, why, values)

    def unknown(self, task: Term) -> None:
        """Note that nobody defined a task."""
        words = f"{term_text(task)}: no operator and no method is called {task[0]}"
        self._reasons.setdefault(("unknown", str(task[0])), Reason("unknown", words, term_text(task)))

    def loop(self, task: Term) -> None:
        """Note that a task led back to itself without anything having changed."""
        words = f"{term_text(task)}: leads back to itself while nothing has changed"
        self._reasons.setdefault(("loop", term_text(task)), Reason("loop", words, term_text(task)))

    def add(self, reason: Reason) -> None:
        """Note a reason that is already worded; the same words count once."""
        self._reasons.setdefault((reason.code, reason.message), reason)

    def reasons(self) -> tuple[Reason, ...]:
        """Return everything that stood in the way, in words, in the order in which it was met."""
        worded = [_reason(*entry[1:]) for entry in self._deepest.values()]
        return (*worded, *self._reasons.values())


def _reason(owner: Owner, task: Term, why: Any, values: Term) -> Reason:
    name = owner.source.name if isinstance(owner, CompiledMethod) else None
    if isinstance(why[0], str):
        return Reason(why[0], f"{_about(owner, task)}: {why[1]}", term_text(task), name)
    move, variables = why
    if isinstance(move, Compute):
        words = f"{_about(owner, task)}: its function gave no subtasks in this state"
        return Reason("condition", words, term_text(task), name)
    if isinstance(move, Happen):
        words = f"{_about(owner, task)}: a number it changes has no value, or would get two"
        return Reason("condition", words, term_text(task), name)
    condition = bound(move.condition, dict(zip(variables, values, strict=True)))
    if task[0] is Own.GOAL:
        return Reason("goal", f"the goal is not reached: {_words(move, condition)}", condition=str(condition))
    words = f"{_about(owner, task)}: {_words(move, condition)}"
    return Reason("condition", words, term_text(task), name, str(condition))


def _about(owner: Owner, task: Term) -> str:
    if isinstance(owner, CompiledMethod):
        return f"{term_text(task)}, method {owner.source.name}"
    return f"step {term_text(task)}"


def _words(move: Move, condition: Condition) -> str:
    if isinstance(condition, Check):
        return f"{condition} is not true"
    if not isinstance(move, Test):
        return f"nothing fits '{condition}'"
    if isinstance(condition, Literal) and not condition.positive:
        return f"'{Literal(condition.atom)}' holds and must not"
    return f"'{condition}' does not hold"
