"""Evaluate conditions one by one, plainly: the verifier's own reading of what holds, apart from the search's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .conditions import Check, Condition, Equal, Literal
from .domain import Operator
from .interface import Step
from .state import StateView
from .terms import Term, is_variable

Binding = Mapping[str, Any]
Members = Mapping[str, Mapping[Any, None]]


class StepState:
    """The facts at one position of a plan, which only ever moves forward."""

    def __init__(self, facts: Iterable[Term], spelled: str) -> None:
        self.facts: dict[Term, None] = {}
        self._spelled = spelled
        self._with: dict[tuple[str, int, Any], dict[Term, None]] = {}
        for fact in facts:
            self._put(fact)

    def advance(self, operator: Operator, step: Step) -> None:
        """Move past a step."""
        binding = arguments(operator, step)
        for fact in operator.effects_remove:
            self._take(ground(fact, binding))
        for fact in operator.effects_add:
            self._put(ground(fact, binding))

    def matches(self, atom: Term, row: Binding) -> Iterator[Binding]:
        """Yield every extension of ``row`` under which ``atom`` is a fact."""
        pattern = ground(atom, row)
        keys = [(pattern[0], at, part) for at, part in enumerate(pattern) if not is_variable(part)]
        for fact in min((self._with.get(key, {}) for key in keys), key=len):
            wider = dict(row)
            if len(fact) == len(pattern) and all(
                (wider.setdefault(part, value) if is_variable(part) else part) == value
                for part, value in zip(pattern, fact, strict=True)
            ):
                yield wider

    def ask(self, function: Callable[..., Any], args: Term) -> Any:
        """Return what a function of the caller says about the state."""
        view = StateView(self.facts, self._spelled)
        code = getattr(function, "__code__", None)
        takes_all = code is None or bool(code.co_flags & 0x04) or code.co_argcount > 1
        return function(view, *args) if takes_all else function(view)

    def _put(self, fact: Term) -> None:
        self.facts[fact] = None
        for at, part in enumerate(fact):
            self._with.setdefault((fact[0], at, part), {})[fact] = None

    def _take(self, fact: Term) -> None:
        if fact in self.facts:
            del self.facts[fact]
            for at, part in enumerate(fact):
                del self._with[(fact[0], at, part)][fact]


def arguments(operator: Operator, step: Step) -> dict[str, Any]:
    """Return the values of an operator's parameters in a step."""
    return dict(zip((p.name for p in operator.parameters), step.args, strict=False))


def ground(term: Term, binding: Binding) -> Term:
    """Return a term with its variables replaced as far as they are bound."""
    return tuple(binding.get(part, part) if is_variable(part) else part for part in term)


def ground_text(condition: Condition, binding: Binding) -> str:
    """Return a condition as text, with its variables replaced."""
    if isinstance(condition, Literal):
        return str(Literal(ground(condition.atom, binding), condition.positive))
    if isinstance(condition, Equal):
        left, right = ground((condition.left, condition.right), binding)
        return str(Equal(left, right, condition.positive))
    return str(condition)


def holds(condition: Condition, binding: Binding, state: StepState, args: Term) -> bool:
    """Return whether a condition holds; all of its variables are bound."""
    if isinstance(condition, Check):
        return bool(state.ask(condition.function, args))
    if isinstance(condition, Equal):
        left, right = ground((condition.left, condition.right), binding)
        return (left == right) is condition.positive
    return (ground(condition.atom, binding) in state.facts) is condition.positive
