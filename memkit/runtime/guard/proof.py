"""The grounds of a finding, and the results of a policy's tests with the clauses and exceptions they cover."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .checks import Predicate
from .core import FAULTS, CompiledException, Guard, Policy, compile_policy, why_failed
from .interface import JSON, Call, Path, Ternary, Verdict, contribution, spell_path
from .match import TOOL_KEYS, Alternative, Clause, make_clause
from .selection import PolicySelection


@dataclass(frozen=True)
class Ground:
    """One condition, and its answer for a call."""

    path: Path
    holds: bool | None
    """``None`` if the answer is unknown, which a hard policy treats as a match."""
    text: str

    @property
    def place(self) -> str:
        """Return the place of the condition in its policy."""
        return spell_path(self.path)


def find_grounds(policy: Policy, call: Call) -> list[Ground]:
    """Return the conditions that make a policy match a call, followed by the answers of its exceptions."""
    try:
        met = [ground for alternative in policy.alternatives for ground in _of_alternative(alternative, call)]
        return [*met, *(_of_exception(exception, call) for exception in policy.exceptions if exception.alternatives)]
    except FAULTS as error:  # the guard has met it, too
        return [Ground(("match",), None, why_failed(error))]


def _of_alternative(alternative: Alternative, call: Call) -> Iterator[Ground]:
    if alternative.test(call).state is False:
        return
    for clause in (*alternative.tools, *alternative.clauses):
        yield from _of_check(clause, clause.check, call)


def _of_check(clause: Clause, check: Predicate, call: Call) -> Iterator[Ground]:
    """Yield the conditions below a condition that determine its answer: for ``any`` the first that holds."""
    outcome = make_clause(clause.key, check, check.path, of_kind=clause.of_kind).test(call)
    if check.joint in ("any", "all"):
        carriers = [part for part in check.children if _state(clause, part, call) == outcome.state]
        for part in carriers[:1] if check.joint == "any" else check.children:
            yield from _of_check(clause, part, call)
    elif outcome.state is not False:
        yield Ground(check.path, outcome.state, outcome.reason)


def _state(clause: Clause, check: Predicate, call: Call) -> bool | None:
    return make_clause(clause.key, check, check.path, of_kind=clause.of_kind).test(call).state


def _of_exception(exception: CompiledException, call: Call) -> Ground:
    outcome = exception.applies(call)
    if outcome.state:
        return Ground(exception.path, True, outcome.reason)
    missed = [
        f"{clause.key} is not {clause.check.says}"
        for alternative in exception.alternatives
        for clause in alternative.clauses
        if not clause.test(call).state
    ]
    return Ground(exception.path, False, f"{exception.text or 'exception'} ({'; '.join(missed)})")


REACH_KINDS = ("clause", "exception", "effect")


@dataclass(frozen=True)
class Case:
    """A call with the expected decision."""

    name: str
    call: Call
    expected: str
    path: Path
    """Its place in its document."""

    def decided_by(self, guard: Guard) -> TestResult:
        """Return a guard's decision on the call."""
        verdict = guard.decide(self.call.tool, self.call.args, self.call.context)
        return TestResult(self.name, self.expected, verdict, self.path)


@dataclass(frozen=True)
class TestResult:
    """One test with its actual decision."""

    __test__ = False  # a value, but pytest would collect it by its name

    name: str
    expected: str
    verdict: Verdict
    path: Path

    @property
    def passed(self) -> bool:
        """Return whether the decision is the expected one."""
        return self.verdict.decision == self.expected

    @property
    def reason(self) -> str:
        """Return the reason for the decision."""
        finding = self.verdict.deciding or next(iter(self.verdict.exempted), None)
        return finding.reason if finding else "no policy matches"


@dataclass(frozen=True)
class CoveredPart:
    """One clause, exception or effect, and whether a test reached it."""

    kind: str
    """One of ``REACH_KINDS``."""
    text: str
    path: Path
    reached: bool

    @property
    def place(self) -> str:
        """Return its place in the policy."""
        return spell_path(self.path)


@dataclass(frozen=True)
class Proof:
    """The results of one policy's tests."""

    name: str
    results: tuple[TestResult, ...]
    coverage: tuple[CoveredPart, ...]

    @property
    def passed(self) -> bool:
        """Return whether every test gave the expected decision."""
        return all(result.passed for result in self.results)

    @property
    def unreached(self) -> tuple[CoveredPart, ...]:
        """Return the parts that no test reaches."""
        return tuple(reach for reach in self.coverage if not reach.reached)


def guard_of_one(data: Mapping[str, JSON]) -> Guard:
    """Return a guard with only this policy, switched on: its tests say what it would do."""
    return Guard([{**data, "active": True}])


def cases_of(data: Mapping[str, JSON]) -> list[Case]:
    """Return the tests that a policy carries."""
    return [read_case(test, ("tests", index)) for index, test in enumerate(data.get("tests", ()))]


def read_case(test: Mapping[str, JSON], path: Path) -> Case:
    """Return a test from data of the shape ``{name, call: {tool, args, context}, expect}``."""
    call = test["call"]
    return Case(test["name"], Call(call["tool"], call.get("args", {}), call.get("context", {})), test["expect"], path)


def prove(data: Mapping[str, JSON], more: Sequence[Call] = ()) -> Proof:
    """Return the results of a policy's own tests, each decided by this policy alone, with their coverage.

    ``more`` are calls of tests defined elsewhere; they count towards the coverage.
    """
    guard = guard_of_one(data)
    cases = cases_of(data)
    calls = [*(case.call for case in cases), *more]
    policy = compile_policy(data)
    coverage = (*_clauses(policy, calls), *_exceptions(policy, calls), *_effect(policy, guard, calls))
    return Proof(policy.name, tuple(case.decided_by(guard) for case in cases), coverage)


def _clauses(policy: Policy, calls: Sequence[Call]) -> Iterator[CoveredPart]:
    parts = [(clause, leaf) for clause in policy.clauses() for leaf in clause.check.leaves()]
    pending = {
        number: make_clause(clause.key, leaf, leaf.path, of_kind=clause.of_kind)
        for number, (clause, leaf) in enumerate(parts)
    }
    asked = [() if alone.key in TOOL_KEYS else (alone,) for alone in pending.values()]
    selection = PolicySelection([[Alternative(clauses)] for clauses in asked])
    for call in calls:  # each is read as shell once, and asked only about what it may meet
        met = selection.meeting(call)
        for number in list(pending) if met is None else pending.keys() & met:
            if pending[number].test(call).state:
                del pending[number]
    for number, (clause, leaf) in enumerate(parts):
        yield CoveredPart("clause", f"{clause.key}: {leaf.says}", leaf.path, number not in pending)


def _exceptions(policy: Policy, calls: Sequence[Call]) -> Iterator[CoveredPart]:
    for exception in policy.exceptions:
        reached = any(_matches(policy, call) and exception.applies(call).state for call in calls)
        if exception.alternatives:
            yield CoveredPart("exception", exception.text, exception.path, reached)


def _matches(policy: Policy, call: Call) -> bool:
    outcomes: list[Ternary] = [alternative.test(call) for alternative in policy.alternatives]
    return any(outcome.state for outcome in outcomes)


def _effect(policy: Policy, guard: Guard, calls: Sequence[Call]) -> Iterator[CoveredPart]:
    if policy.alternatives:
        effect = contribution(policy.effect or "allow", policy.enforcement)
        reached = any(guard.decide(call.tool, call.args, call.context).policies for call in calls)
        yield CoveredPart("effect", effect, ("effect",), reached)
