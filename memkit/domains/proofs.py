"""Prove a domain by the problems recorded for it, and judge a learned method by them before its promotion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memkit.domains.files import EXPECT, PROBLEMS, misplaced, problem_files, problem_in_domain
from memkit.errors import UsageError
from memkit.runtime.htn.core import (
    FOUND,
    GAVE_UP,
    NO_PLAN,
    Budget,
    Condition,
    Domain,
    HtnError,
    HTNPlanner,
    Method,
    Problem,
    Result,
    Step,
    verify,
)
from memkit.runtime.htn.core import read_plan as read_steps
from memkit.runtime.htn.language.objects import typed_objects
from memkit.runtime.htn.language.terms import term_text
from memkit.runtime.htn.learning.gaps import missed_effects
from memkit.runtime.htn.verification.evaluation import StepState, shortfall
from memkit.store.yaml import Document, load_yaml

INVALID = "invalid"
"""The outcome of an unreadable problem file."""
_SAID = {FOUND: "a plan", NO_PLAN: "no plan"}


@dataclass(frozen=True)
class Expectation:
    """The content of a problem file under ``expect``."""

    outcome: str = FOUND
    plan: tuple[Step, ...] | None = None
    steps: int | None = None
    at_most: int | None = None
    holds: tuple[Condition, ...] = ()
    """Conditions that must hold after the plan."""


@dataclass(frozen=True)
class ProblemProof:
    """The result of one problem."""

    name: str
    path: str
    expected: str
    outcome: str
    plan: tuple[Step, ...] | None = None
    faults: tuple[str, ...] = ()
    """How the outcome differs from the expected one; empty if the test passes."""
    line: int = 1
    used: frozenset[str] = frozenset()
    """The methods and operators in the plan."""

    @property
    def passed(self) -> bool:
        """Return whether everything is as expected."""
        return not self.faults


@dataclass(frozen=True)
class DomainProof:
    """The results of all problems of a domain."""

    domain: Domain
    path: str
    problems: tuple[ProblemProof, ...] = field(default=())

    def coverage(self) -> dict[str, dict[str, bool]]:
        """Return the methods and the operators by name, each with whether the plan of some problem uses it."""
        used = frozenset[str]().union(*(each.used for each in self.problems))
        methods = {each.name: f"method {each.name}" in used for each in self.domain.methods}
        return {"methods": methods, "operators": {each.name: each.name in used for each in self.domain.operators}}


def prove_domain(root: Path, name: str, domain: Domain, path: str, budget: Budget) -> DomainProof:
    """Return the results of the problems recorded for a domain of the store at ``root``, without learned methods.

    Every plan is verified by code that shares nothing with the search.
    """
    found = [_proof(file, f"{PROBLEMS}/{name}/{file.name}", domain, budget) for file in problem_files(root, name)]
    return DomainProof(domain, path, tuple(found))


def expectation_of(document: Document, domain: Domain) -> Expectation:
    """Return what a problem file expects; raise ``UsageError`` with the place of an error."""
    said: Mapping[str, Any] = document.data.get(EXPECT) or {}
    outcome = str(said.get("outcome", FOUND))
    if outcome == NO_PLAN:
        for key in ("plan", "steps", "at_most", "holds"):
            if key in said:
                raise misplaced(document, (EXPECT, key), "If no plan is expected, nothing else can be expected of it.")
    try:
        plan = tuple(read_steps(said["plan"])) if "plan" in said else None
    except HtnError as error:
        raise misplaced(document, (EXPECT, "plan"), str(error)) from None
    return Expectation(outcome, plan, said.get("steps"), said.get("at_most"), _conditions(document, said, domain))


def require_domain(document: Document, *names: str) -> None:
    """Raise ``UsageError`` if a problem names another domain as its own."""
    named = document.data.get("domain", names[0])
    if named not in names:
        raise misplaced(document, ("domain",), f"This is a problem of {named!r} in the folder of {names[0]!r}.")


def _conditions(document: Document, said: Mapping[str, Any], domain: Domain) -> tuple[Condition, ...]:
    """Return the conditions under ``holds``, read and checked as a problem's goal is."""
    if "holds" not in said:
        return ()
    data = {key: value for key, value in document.data.items() if key != EXPECT}
    try:
        return Problem.from_data({**data, "goal": said["holds"]}, domain).goal
    except HtnError as error:
        raise misplaced(document, (EXPECT, "holds", *error.path[1:]), error.message) from None


def _proof(file: Path, shown: str, domain: Domain, budget: Budget) -> ProblemProof:
    try:
        problem, domain = problem_in_domain(file, domain, name=shown)
        expected, line = Expectation(), 1
        if file.suffix == ".yaml":
            document = load_yaml(file, name=shown)
            require_domain(document, file.parent.name, domain.name)
            expected, line = expectation_of(document, domain), document.key_position((EXPECT,))[0]
        if not problem.tasks and not problem.goal:
            raise UsageError(f"{shown}:1:1: The problem names no tasks. Add 'tasks: [...]'.", path=shown, line=1)
    except UsageError as error:
        return ProblemProof(file.stem, shown, FOUND, INVALID, faults=(str(error),), line=error.line or 1)
    result = HTNPlanner(domain=domain, budget=budget).solve_problem(problem)
    plan = None if result.plan is None else tuple(result.plan)
    if result.outcome != expected.outcome:
        faults = [_otherwise(expected.outcome, result.outcome, plan, [str(each) for each in result.reasons])]
    else:
        faults = [] if plan is None else list(_faults(domain, problem, plan, expected))
    methods = {f"method {node['method']}" for node in result.tree if "method" in node}
    used = frozenset(methods | {step.name for step in plan or ()})
    return ProblemProof(file.stem, shown, expected.outcome, result.outcome, plan, tuple(faults), line, used)


def _otherwise(expected: str, outcome: str, plan: Sequence[Step] | None, reasons: Sequence[str]) -> str:
    if outcome == GAVE_UP:
        return f"expected {_SAID[expected]}, but the search gave up: {reasons[0]}"
    if plan is not None:
        return f"expected no plan, but found one: {', '.join(map(str, plan)) or 'of no steps'}"
    return f"expected a plan, but found none: {reasons[0] if reasons else 'no reason is known'}"


def _faults(domain: Domain, problem: Problem, plan: tuple[Step, ...], expected: Expectation) -> Iterator[str]:
    yield from (f"the plan is not valid: {reason}" for reason in verify(domain, problem, plan))
    if expected.plan is not None and expected.plan != plan:
        yield f"expected the plan {_listed(expected.plan)}, found {_listed(plan)}"
    if expected.steps is not None and len(plan) != expected.steps:
        yield f"expected {expected.steps} steps, found {len(plan)}"
    if expected.at_most is not None and len(plan) > expected.at_most:
        yield f"expected {expected.at_most} steps at most, found {len(plan)}"
    if expected.holds:
        state = StepState(problem, typed_objects(domain, problem))
        state.follow(plan, domain.steps)
        unmet = (shortfall(condition, {}, state, ()) for condition in expected.holds)
        yield from (f"after the plan: {each}" for each in unmet if each is not None)


def _listed(plan: Sequence[Step]) -> str:
    return "; ".join(term_text((step.name, *step.args)) for step in plan) or "of no steps"


BUDGET = Budget(nodes=500_000, seconds=15.0)
"""The limits for one problem."""


@dataclass(frozen=True)
class RecordedProblem:
    """A problem that the domain was used for."""

    name: str
    """The file, or the learned method that it was recorded with."""
    problem: Problem
    own: bool = False
    """Whether the method in question was learned from it."""
    from_lesson: bool = False
    """Whether it was recorded together with a learned method."""


@dataclass(frozen=True)
class MethodJudgement:
    """The result of one problem."""

    name: str
    before: str
    after: str
    steps_before: int | None
    steps_after: int | None
    fault: str | None
    """Why the method must not be promoted, according to this problem."""

    def to_data(self) -> dict[str, Any]:
        """Return the judgement as plain data."""
        return dict(vars(self))


def judge(
    before: Domain, after: Domain, method: str, problems: Iterable[RecordedProblem], others: Sequence[Method]
) -> Iterator[MethodJudgement]:
    """Yield each problem's result for a domain before and after adding ``method``.

    The ``others`` that were learned are used for the problems recorded with learned methods, which may
    have had several gaps; every other problem is solved by the domain alone.
    """
    for recorded in problems:
        learned = others if recorded.from_lesson else ()
        old, new = (
            HTNPlanner(domain=each, learned=learned, budget=BUDGET).solve_problem(recorded.problem)
            for each in (before, after)
        )
        fault = _fault(after, method, recorded, old, new, learned)
        yield MethodJudgement(recorded.name, old.outcome, new.outcome, _steps(old), _steps(new), fault)


def _fault(
    after: Domain, method: str, recorded: RecordedProblem, old: Result, new: Result, learned: Sequence[Method]
) -> str | None:
    if new.outcome != FOUND:
        if recorded.own:
            return f"the problem it was learned from is not solved with it ({_first(new)})"
        if old.outcome == FOUND or (new.outcome == GAVE_UP and old.outcome != GAVE_UP):
            return f"it was {_said(old)} without the method, and is {_said(new)} with it"
        return None
    wrong = verify(after, recorded.problem, new.plan or [], extra=learned)
    if wrong:
        return f"its plan is not valid: {wrong[0]}"
    state = StepState(recorded.problem, typed_objects(after, recorded.problem))
    missed = missed_effects(new.tree, method, after, state)
    if missed:
        return f"its plan does not achieve '{missed[0]}'"
    if recorded.own and old.outcome != FOUND and method not in {node.get("method") for node in new.tree}:
        return "the problem it was learned from is solved without it"
    return None


def _said(result: Result) -> str:
    return {FOUND: "solved", GAVE_UP: "given up"}.get(result.outcome, "not solved")


def _first(result: Result) -> str:
    return str(result.reasons[0]) if result.reasons else result.outcome


def _steps(result: Result) -> int | None:
    return None if result.plan is None else len(result.plan)


def faults(judgements: Sequence[MethodJudgement]) -> list[str]:
    """Return in words everything that prevents a method's promotion."""
    return [f"{each.name}: {each.fault}" for each in judgements if each.fault is not None]
