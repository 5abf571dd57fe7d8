"""Judge a method before it is promoted: what the domain's recorded problems say with it and without it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from memkit.runtime.htn.core import FOUND, GAVE_UP, Budget, Domain, HTNPlanner, Method, Problem, Result, verify
from memkit.runtime.htn.language.objects import typed_objects
from memkit.runtime.htn.learning.gaps import missed_effects
from memkit.runtime.htn.verification.evaluation import StepState

BUDGET = Budget(nodes=500_000, seconds=15.0)
"""Of one problem."""


@dataclass(frozen=True)
class Recorded:
    """A problem that the domain was used for."""

    name: str
    """The file, or the learned method that it was recorded with."""
    problem: Problem
    own: bool = False
    """Whether it is the one that the method in question was learned from."""
    from_lesson: bool = False
    """Whether it was recorded when something was learned."""


@dataclass(frozen=True)
class Judgement:
    """What one problem says."""

    name: str
    before: str
    after: str
    steps_before: int | None
    steps_after: int | None
    fault: str | None
    """Why the method must not be promoted, as far as this problem goes."""

    def to_data(self) -> dict[str, Any]:
        """Return the judgement as plain data."""
        return dict(vars(self))


def judge(
    before: Domain, after: Domain, method: str, problems: Iterable[Recorded], others: Sequence[Method]
) -> Iterator[Judgement]:
    """Yield what each problem says of a domain before and after it got ``method``.

    The ``others`` that were learned take part in the problems that were recorded when something was learned, which may
    have had several gaps; every other problem is solved by the domain alone.
    """
    for recorded in problems:
        learned = others if recorded.from_lesson else ()
        old, new = (
            HTNPlanner(domain=each, learned=learned, budget=BUDGET).solve_problem(recorded.problem)
            for each in (before, after)
        )
        fault = _fault(after, method, recorded, old, new, learned)
        yield Judgement(recorded.name, old.outcome, new.outcome, _steps(old), _steps(new), fault)


def _fault(
    after: Domain, method: str, recorded: Recorded, old: Result, new: Result, learned: Sequence[Method]
) -> str | None:
    if new.outcome != FOUND:
        if recorded.own:
            return f"the problem it was learned from is not solved with it ({_first(new)})"
        if old.outcome == FOUND or (new.outcome == GAVE_UP and old.outcome != GAVE_UP):
            return f"it was {_said(old)} without the method, and is {_said(new)} with it"
        return None
    wrong = verify(after, recorded.problem, new.plan or [], extra=learned)
    if wrong:
        return f"its plan does not stand: {wrong[0]}"
    state = StepState(recorded.problem, typed_objects(after, recorded.problem))
    missed = missed_effects(new.tree, method, after, state)
    if missed:
        return f"its plan does not bring about '{missed[0]}'"
    if recorded.own and old.outcome != FOUND and method not in {node.get("method") for node in new.tree}:
        return "the problem it was learned from is solved without it"
    return None


def _said(result: Result) -> str:
    return {FOUND: "solved", GAVE_UP: "given up"}.get(result.outcome, "not solved")


def _first(result: Result) -> str:
    return str(result.reasons[0]) if result.reasons else result.outcome


def _steps(result: Result) -> int | None:
    return None if result.plan is None else len(result.plan)


def faults(judgements: Sequence[Judgement]) -> list[str]:
    """Return in words everything that keeps a method from being promoted."""
    return [f"{each.name}: {each.fault}" for each in judgements if each.fault is not None]
