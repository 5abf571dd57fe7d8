"""What ``memkit policy test --json`` prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memkit.policies.files import PolicyFile
from memkit.policies.mutation import MutationReport
from memkit.policies.proving import SetProof
from memkit.runtime.guard.proof import REACH_KINDS, CoveredPart, Proof, TestResult


def proof_data(proof: SetProof) -> dict[str, Any]:
    """Return the results and the coverage, of each policy and in all."""
    passed = [result.passed for result in proof.results]
    reaches = [reach for _, shown in proof.policies for reach in shown.coverage]
    return {
        "passed": sum(passed),
        "failed": len(passed) - sum(passed),
        "policies": [_policy_data(found, shown) for found, shown in proof.policies],
        "tables": [_table_data(proof, path) for path in dict.fromkeys(row.row.path for row in proof.rows)],
        "coverage": {kind: _counts(reach for reach in reaches if reach.kind == kind) for kind in REACH_KINDS},
    }


def mutation_data(reports: Sequence[MutationReport]) -> dict[str, Any]:
    """Return how many small changes the tests noticed, and where they noticed none."""
    survivors = [survivor for report in reports for survivor in _survivors_data(report)]
    tried = sum(report.tried for report in reports)
    return {"mutants": tried, "killed": tried - len(survivors), "survivors": survivors}


def _policy_data(found: PolicyFile, proof: Proof) -> dict[str, Any]:
    return {
        "name": found.name,
        "tests": [_result_data(result, found.document.position(result.path)[0]) for result in proof.results],
        "coverage": {kind: _coverage_data(proof, kind) for kind in REACH_KINDS},
    }


def _table_data(proof: SetProof, path: str) -> dict[str, Any]:
    rows = [row for row in proof.rows if row.row.path == path]
    return {
        "path": path,
        "tests": [_result_data(row.result, row.row.line) | {"policy": row.row.policy} for row in rows],
    }


def _result_data(result: TestResult, line: int) -> dict[str, Any]:
    return {
        "name": result.name,
        "ok": result.passed,
        "expected": result.expected,
        "decision": result.verdict.decision,
        "reason": result.reason,
        "line": line,
    }


def _coverage_data(proof: Proof, kind: str) -> dict[str, Any]:
    reaches = [reach for reach in proof.coverage if reach.kind == kind]
    missing = [{"path": reach.place, "text": reach.text} for reach in reaches if not reach.reached]
    return _counts(reaches) | {"missing": missing}


def _counts(reaches: Iterable[CoveredPart]) -> dict[str, int]:
    reached = [reach.reached for reach in reaches]
    return {"total": len(reached), "reached": sum(reached)}


def _survivors_data(report: MutationReport) -> list[dict[str, Any]]:
    document = report.policy.document
    places = [(mutant, document.position(mutant.path)) for mutant in report.survivors]
    return [
        {
            "policy": report.policy.name,
            "kind": mutant.kind,
            "place": mutant.place,
            "text": mutant.says,
            "path": document.path,
            "line": line,
            "column": column,
        }
        for mutant, (line, column) in places
    ]
