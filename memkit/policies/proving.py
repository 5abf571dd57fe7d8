"""Prove policies by their own tests and by the tables of the store."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from memkit.errors import UsageError
from memkit.policies.files import PolicyFile
from memkit.policies.tables import TableCase
from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.proof import Proof, TestResult, guard_of_one, prove

_MISSPELT = 0.8
"""How much of a name has to be that of a policy to be a slip."""


@dataclass(frozen=True)
class TableResult:
    """A row of a table with what was decided."""

    row: TableCase
    result: TestResult


@dataclass(frozen=True)
class SetProof:
    """What the tests of a set of policies show."""

    policies: tuple[tuple[PolicyFile, Proof], ...]
    rows: tuple[TableResult, ...]
    orphans: tuple[TableCase, ...] = ()
    """Rows about policies that do not exist, which say nothing."""

    @property
    def results(self) -> list[TestResult]:
        """Return every test's result: those that stand in policies, then the rows of tables."""
        inline = [result for _, proof in self.policies for result in proof.results]
        return [*inline, *(row.result for row in self.rows)]


def prove_set(
    policies: Sequence[PolicyFile], rows: Sequence[TableCase], chosen: Sequence[PolicyFile] | None = None
) -> SetProof:
    """Return what the tests show about the ``chosen`` policies of a set; without a choice, about all and the set.

    Raises:
        UsageError: A row names no policy, and one nearly.
    """
    orphans = find_orphans(policies, rows)
    proven = policies if chosen is None else chosen
    names = {policy.name for policy in proven}
    calls = {policy.name: [row.case.call for row in rows if row.policy in (None, policy.name)] for policy in proven}
    wanted = [row for row in rows if row.policy in names or (row.policy is None and chosen is None)]
    guards = _guards(policies, {row.policy for row in wanted})
    return SetProof(
        tuple((policy, prove(policy.data, calls[policy.name])) for policy in proven),
        tuple(TableResult(row, row.case.decided_by(guards[row.policy])) for row in wanted),
        orphans,
    )


def _guards(policies: Sequence[PolicyFile], names: set[str | None]) -> dict[str | None, Guard]:
    """Return who decides: for a name its policy alone, for none the whole set."""
    guards: dict[str | None, Guard] = {
        policy.name: guard_of_one(policy.data) for policy in policies if policy.name in names
    }
    return guards | ({None: Guard([policy.data for policy in policies])} if None in names else {})


def find_orphans(policies: Sequence[PolicyFile], rows: Sequence[TableCase]) -> tuple[TableCase, ...]:
    """Return the rows about policies that do not exist: somebody deleted the policy and kept its table.

    Raises:
        UsageError: The name is nearly that of a policy, so that it is misspelt; its test would never fail.
    """
    known = {policy.name for policy in policies}
    orphans = tuple(row for row in rows if row.policy is not None and row.policy not in known)
    for row in orphans:
        if near := difflib.get_close_matches(str(row.policy), sorted(known), n=1, cutoff=_MISSPELT):
            message = f"There is no policy {row.policy!r}. Did you mean {near[0]!r}?"
            raise UsageError(f"{row.path}:{row.line}:1: {message}", path=row.path, line=row.line)
    return orphans
