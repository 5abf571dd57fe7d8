"""``memkit policy test``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from memkit.cli.output import Diagnostic, Front, MemkitCommand, diagnostic
from memkit.guard.proof import Proof, Reach, TestResult
from memkit.policies.files import PolicyFile
from memkit.store.layout import find_store
from memkit.terminal import one_line
from memkit.use_cases.prove_policies import prove_policies


@click.command("test", cls=MemkitCommand)
@click.argument("names", nargs=-1)
@click.option("--require-coverage", is_flag=True, help="Fail also when a clause, exception or effect is not reached.")
@click.pass_obj
def test(front: Front, names: tuple[str, ...], require_coverage: bool) -> None:
    """Run the tests that the policies (or those NAMED) carry, and say what they do not reach."""
    proofs = prove_policies(find_store(front.store), names)
    failed = [finding for found, proof in proofs for finding in _failures(found, proof)]
    gaps = [finding for found, proof in proofs for finding in _gaps(found, proof, strict=require_coverage)]
    ok = not failed and not (require_coverage and gaps)
    front.answer(_proofs_data(proofs), _proof_lines(proofs), ok=ok, diagnostics=[*failed, *gaps])


def _proofs_data(proofs: Sequence[tuple[PolicyFile, Proof]]) -> dict[str, Any]:
    results = [result for _, proof in proofs for result in proof.results]
    return {
        "passed": sum(result.passed for result in results),
        "failed": sum(not result.passed for result in results),
        "policies": [_proof_data(found, proof) for found, proof in proofs],
    }


def _proof_data(found: PolicyFile, proof: Proof) -> dict[str, Any]:
    return {
        "name": found.name,
        "tests": [_result_data(found, result) for result in proof.results],
        "coverage": {kind: _coverage_data(proof, kind) for kind in ("clause", "exception", "effect")},
    }


def _result_data(found: PolicyFile, result: TestResult) -> dict[str, Any]:
    return {
        "name": result.name,
        "ok": result.passed,
        "expected": result.expected,
        "decision": result.verdict.decision,
        "reason": _reason(result),
        "line": found.document.position(result.path)[0],
    }


def _reason(result: TestResult) -> str:
    findings = (*result.verdict.policies, *result.verdict.exempted)
    return findings[0].reason if findings else "the policy does not match"


def _coverage_data(proof: Proof, kind: str) -> dict[str, Any]:
    reaches = [reach for reach in proof.coverage if reach.kind == kind]
    missing = [{"path": reach.place, "text": reach.text} for reach in reaches if not reach.reached]
    return {"total": len(reaches), "reached": len(reaches) - len(missing), "missing": missing}


def _proof_lines(proofs: Sequence[tuple[PolicyFile, Proof]]) -> Iterator[str]:
    for found, proof in proofs:
        passed = sum(result.passed for result in proof.results)
        reached = sum(reach.reached for reach in proof.coverage)
        tests, parts = len(proof.results), len(proof.coverage)
        yield f"{found.name}: {passed} of {tests} tests pass, {reached} of {parts} parts reached"
        for result in proof.results:
            if not result.passed:
                yield f"  FAIL {_failure_text(result)}"
        yield from (f"  not reached: {_gap_text(reach)}" for reach in proof.unreached)


def _failure_text(result: TestResult) -> str:
    name, reason = one_line(result.name), one_line(_reason(result))
    return f"{name}: expected {result.expected}, decided {result.verdict.decision} ({reason})"


def _gap_text(reach: Reach) -> str:
    return f"{reach.kind} {reach.place} ({one_line(reach.text, 60)})"


def _failures(found: PolicyFile, proof: Proof) -> Iterator[Diagnostic]:
    for result in proof.results:
        if not result.passed:
            line = found.document.position(result.path)[0]
            yield diagnostic("policy-test", _failure_text(result), path=found.document.path, line=line)


def _gaps(found: PolicyFile, proof: Proof, *, strict: bool) -> Iterator[Diagnostic]:
    for reach in proof.unreached:
        line = found.document.position(reach.path)[0]
        message = f"No test reaches the {_gap_text(reach)}."
        severity = "error" if strict else "note"
        yield diagnostic("policy-coverage", message, severity=severity, path=found.document.path, line=line)
