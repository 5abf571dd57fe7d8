"""Run the tests a policy carries, and say which of its clauses and exceptions they reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .core import Guard
from .errors import Path, spell_path
from .interface import JSON, Call, Outcome, Verdict, contribution
from .match import make_clause
from .policy import Policy, compile_policy


@dataclass(frozen=True)
class TestResult:
    """One inline test with what the policy decided."""

    __test__ = False  # a value, though pytest would collect it by its name

    name: str
    expected: str
    verdict: Verdict
    path: Path

    @property
    def passed(self) -> bool:
        """Return whether the decision is the expected one."""
        return self.verdict.decision == self.expected


@dataclass(frozen=True)
class Reach:
    """One clause, exception or effect, and whether a test reached it."""

    kind: str
    """``clause``, ``exception`` or ``effect``."""
    text: str
    path: Path
    reached: bool

    @property
    def place(self) -> str:
        """Return where it stands in the policy."""
        return spell_path(self.path)


@dataclass(frozen=True)
class Proof:
    """What the tests of one policy show."""

    name: str
    results: tuple[TestResult, ...]
    coverage: tuple[Reach, ...]

    @property
    def passed(self) -> bool:
        """Return whether every test gave the expected decision."""
        return all(result.passed for result in self.results)

    @property
    def unreached(self) -> tuple[Reach, ...]:
        """Return what no test reaches."""
        return tuple(reach for reach in self.coverage if not reach.reached)


def prove(data: Mapping[str, JSON]) -> Proof:
    """Return the results of a policy's own tests, each decided by this policy alone, with their coverage."""
    guard = Guard([{**data, "active": True}])
    tests: Sequence[Mapping[str, JSON]] = data.get("tests", ())
    calls = [Call(t["call"]["tool"], t["call"].get("args", {}), t["call"].get("context", {})) for t in tests]
    verdicts = [guard.decide(call.tool, call.args, call.context) for call in calls]
    results = tuple(
        TestResult(test["name"], test["expect"], verdict, ("tests", index))
        for index, (test, verdict) in enumerate(zip(tests, verdicts, strict=True))
    )
    policy = compile_policy(data)
    return Proof(
        policy.name, results, (*_clauses(policy, calls), *_exceptions(policy, calls), *_effect(policy, results))
    )


def _clauses(policy: Policy, calls: Sequence[Call]) -> Iterator[Reach]:
    for clause in policy.clauses():
        for leaf in clause.check.leaves():
            alone = make_clause(clause.key, leaf, leaf.path)
            reached = any(alone.test(call).state for call in calls)
            yield Reach("clause", f"{clause.key}: {leaf.says}", leaf.path, reached)


def _exceptions(policy: Policy, calls: Sequence[Call]) -> Iterator[Reach]:
    for exception in policy.exceptions:
        reached = any(_matches(policy, call) and exception.applies(call).state for call in calls)
        if exception.alternatives:
            yield Reach("exception", exception.text, exception.path, reached)


def _matches(policy: Policy, call: Call) -> bool:
    outcomes: list[Outcome] = [alternative.test(call) for alternative in policy.alternatives]
    return any(outcome.state for outcome in outcomes)


def _effect(policy: Policy, results: Sequence[TestResult]) -> Iterator[Reach]:
    if policy.alternatives:
        effect = contribution(policy.effect or "allow", policy.enforcement)
        reached = any(result.verdict.policies and result.verdict.decision == effect for result in results)
        yield Reach("effect", effect, ("effect",), reached)
