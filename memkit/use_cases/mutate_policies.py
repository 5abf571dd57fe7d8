"""Change policies a little and see whether their tests notice."""

from __future__ import annotations

from memkit.policies.files import PolicyFile
from memkit.policies.mutation import MutationReport, mutate
from memkit.policies.proving import SetProof, TableCase, TableResult
from memkit.runtime.guard.interface import contribution, strength


def mutate_policies(proof: SetProof) -> list[MutationReport]:
    """Return for each policy of a proof which small changes of it no test notices."""
    return [_of_one(policy, proof.rows) for policy, _ in proof.policies]


def _of_one(policy: PolicyFile, results: tuple[TableResult, ...]) -> MutationReport:
    about = [result for result in results if result.row.policy in (None, policy.name)]
    rows: list[TableCase] = [result.row for result in about]
    return mutate(policy, rows, [_others(policy.name, result) for result in about])


def _others(name: str, result: TableResult) -> str:
    """Return what the rest of the set decides about the call of a row."""
    findings = [finding for finding in result.result.verdict.policies if finding.name != name]
    effects = [contribution(finding.effect, finding.enforcement) for finding in findings]
    return max(effects, key=strength, default="allow")
