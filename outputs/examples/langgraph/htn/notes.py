"""Notes of what stood in the way of a search, and the reasons made of them afterwards.

While the search runs only the furthest failure of each method is kept, unworded; words cost time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .compiled import CompiledMethod, CompiledOperator
from .conditions import Check, Condition, Equal, Literal
from .interface import Reason
from .joins import Binder, Slots, Test
from .terms import Term, is_variable, term_text

Owner = CompiledOperator | CompiledMethod


class Notes:
    """Keeps, for each method and operator, the condition that failed after all others had held."""

    def __init__(self) -> None:
        self._deepest: dict[tuple[str, str], tuple[int, Owner, Term, Any, tuple[Any, ...]]] = {}
        self._reasons: dict[tuple[str, str], Reason] = {}

    def unmet(self, owner: Owner, task: Term, test: Test | Binder, slots: Slots) -> None:
        """Note that a condition did not hold."""
        key = (type(owner).__name__, owner.source.name)
        known = self._deepest.get(key)
        if known is None or test.rank > known[0]:
            self._deepest[key] = (test.rank, owner, task, test, tuple(slots))

    def misfit(self, owner: Owner, task: Term, code: str, words: str) -> None:
        """Note that an operator or a method is not made for these arguments."""
        key = (type(owner).__name__, owner.source.name)
        if key not in self._deepest:
            self._deepest[key] = (-1, owner, task, (code, words), ())

    def declined(self, method: CompiledMethod, task: Term) -> None:
        """Note that the function of a method gave no subtasks."""
        name = method.source.name
        words = f"{_about(method, task)}: its function gave no subtasks in this state"
        self._reasons.setdefault(("declined", name), Reason("condition", words, term_text(task), name))

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


def _reason(owner: Owner, task: Term, why: Any, slots: tuple[Any, ...]) -> Reason:
    name = owner.source.name if isinstance(owner, CompiledMethod) else None
    if isinstance(why, tuple):
        return Reason(why[0], f"{_about(owner, task)}: {why[1]}", term_text(task), name)
    condition = _bound(why.condition, why.known, slots)
    words = f"{_about(owner, task)}: {_words(why, condition)}"
    return Reason("condition", words, term_text(task), name, str(condition))


def _about(owner: Owner, task: Term) -> str:
    if isinstance(owner, CompiledMethod):
        return f"{term_text(task)}, method {owner.source.name}"
    return f"step {term_text(task)}"


def _bound(condition: Condition, known: Mapping[str, int], slots: tuple[Any, ...]) -> Condition:
    """Return the condition with the values that its variables had when it failed."""

    def value(part: Any) -> Any:
        return slots[known[part]] if is_variable(part) and part in known else part

    if isinstance(condition, Literal):
        return Literal(tuple(value(part) for part in condition.atom), condition.positive)
    if isinstance(condition, Equal):
        return Equal(value(condition.left), value(condition.right), condition.positive)
    return condition


def _words(test: Test | Binder, condition: Condition) -> str:
    if isinstance(condition, Check):
        return f"{condition} is not true"
    if isinstance(condition, Equal):
        return f"'{condition}' does not hold"
    if isinstance(test, Binder):
        return f"nothing fits '{condition}'"
    if isinstance(condition, Literal) and not condition.positive:
        return f"'{Literal(condition.atom)}' holds and must not"
    return f"'{condition}' does not hold"
