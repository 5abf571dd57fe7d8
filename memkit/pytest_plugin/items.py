"""Policy tests as pytest items: one for each inline test and each row of a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memkit.errors import MemkitError, UsageError
from memkit.policies.files import load_policies, load_policy
from memkit.policies.proving import find_orphans, load_table
from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.interface import MatchedPolicy
from memkit.runtime.guard.proof import Case, TestResult, cases_of, guard_of_one


class WrongDecision(Exception):
    """A policy test whose call was decided differently."""

    def __init__(self, result: TestResult, place: str, decided_by: str) -> None:
        self.result = result
        self.place = place
        self.decided_by = decided_by
        super().__init__(f"expected {result.expected}, decided {result.verdict.decision}")


class PolicyTests(pytest.File):
    """A policy file: its inline tests, each decided by this policy alone."""

    def collect(self) -> Iterator[PolicyItem]:
        """Yield one item per test."""
        try:
            policy = load_policy(self.path, name=f"policies/{self.path.name}")
        except UsageError as error:
            raise self.CollectError(str(error)) from error
        guard = guard_of_one(policy.data)
        for case in cases_of(policy.data):
            line = policy.document.position(case.path)[0]
            yield _item(self, case, guard, line, f"policy {policy.name} alone")


class TableTests(pytest.File):
    """A table: its rows, each decided by the policy it names or by the whole set."""

    def collect(self) -> Iterator[PolicyItem]:
        """Yield one item per row."""
        try:
            policies = load_policies(self.path.parent.parent)
            rows = load_table(self.path)
            orphans = find_orphans(policies, rows)
        except MemkitError as error:
            raise self.CollectError(str(error)) from error
        guards: dict[str | None, Guard] = {policy.name: guard_of_one(policy.data) for policy in policies}
        guards[None] = Guard([policy.data for policy in policies])
        for row in rows:
            decided_by = f"policy {row.policy} alone" if row.policy else "all policies"
            item = _item(self, row.case, guards.get(row.policy, guards[None]), row.line, decided_by)
            if row in orphans:
                item.add_marker(pytest.mark.skip(reason=f"there is no policy {row.policy}"))
            yield item


class PolicyItem(pytest.Item):
    """One call with its expected decision."""

    def __init__(self, *, case: Case, guard: Guard, line: int, decided_by: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        self.guard = guard
        self.line = line
        self.decided_by = decided_by

    def runtest(self) -> None:
        """Fail if the decision is not the expected one."""
        result = self.case.decided_by(self.guard)
        if not result.passed:
            raise WrongDecision(result, f"{self.path}:{self.line}", self.decided_by)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the explanation for a person: the call, the decision, and every policy that matched."""
        error = excinfo.value
        if not isinstance(error, WrongDecision):
            return super().repr_failure(excinfo, style)
        verdict, call = error.result.verdict, self.case.call
        lines = [
            f"{error.place}: {self.case.name}",
            f"expected {error.result.expected}, decided {verdict.decision} by {error.decided_by}",
            f"  tool     {call.tool}",
            f"  args     {dict(call.args)}",
            f"  context  {dict(call.context)}",
        ]
        lines += [f"  matched  {_told(finding)}" for finding in verdict.policies]
        lines += [f"  lifted   {_told(finding)}" for finding in verdict.exempted]
        if not verdict.policies and not verdict.exempted:
            lines.append("  no policy matches")
        return "\n".join(lines)

    def reportinfo(self) -> tuple[Any, int, str]:
        """Return the location of the test."""
        return self.path, self.line - 1, f"policy: {self.case.name}"


def _item(parent: pytest.File, case: Case, guard: Guard, line: int, decided_by: str) -> PolicyItem:
    item: PolicyItem = PolicyItem.from_parent(
        parent, name=case.name, case=case, guard=guard, line=line, decided_by=decided_by
    )
    return item


def _told(finding: MatchedPolicy) -> str:
    return f"{finding.name} ({finding.enforcement} {finding.effect}): {finding.reason}"
