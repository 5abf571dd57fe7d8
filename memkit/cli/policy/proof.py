"""``memkit policy test``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from memkit.cli.output import Diagnostic, Front, MemkitCommand, diagnostic
from memkit.cli.policy.proof_data import mutation_data, proof_data
from memkit.policies.files import PolicyFile
from memkit.policies.mutation import Mutant, MutationReport
from memkit.policies.proving import SetProof, TableResult
from memkit.runtime.guard.proof import REACH_KINDS, CoveredPart, Proof, TestResult
from memkit.terminal import one_line
from memkit.use_cases.prove_policies import prove_policies

_PLURALS = {"clause": "clauses", "exception": "exceptions", "effect": "effects"}


@click.command("test", cls=MemkitCommand)
@click.argument("names", nargs=-1)
@click.option("--require-coverage", is_flag=True, help="Fail also when a clause, exception or effect is not reached.")
@click.option("--mutate", is_flag=True, help="Change each policy a little, and fail when no test notices.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write JUnit XML to this file too.")
@click.pass_obj
def test(front: Front, names: tuple[str, ...], require_coverage: bool, mutate: bool, junit: Path | None) -> None:
    """Run the tests that the policies (or those NAMED) carry and those of tables, and say what they do not reach."""
    proof = prove_policies(front.root, names)
    mutations = _mutations(proof) if mutate else []
    if junit is not None:
        _write_junit(junit, proof, mutations)
    failed = [*_failures(proof), *_survivors(mutations)]
    gaps = [finding for found, shown in proof.policies for finding in _gaps(found, shown, strict=require_coverage)]
    ok = not failed and not (require_coverage and gaps)
    data = proof_data(proof) | ({"mutation": mutation_data(mutations)} if mutate else {})
    lines = [*_proof_lines(proof), *_mutation_lines(mutations)]
    front.answer(data, lines, ok=ok, diagnostics=[*failed, *gaps, *_orphans(proof)])


def _mutations(proof: SetProof) -> list[MutationReport]:
    from memkit.use_cases.mutate_policies import mutate_policies

    return mutate_policies(proof)


def _write_junit(path: Path, proof: SetProof, mutations: Sequence[MutationReport]) -> None:
    from memkit.use_cases.write_junit import write_junit

    write_junit(path, proof, mutations)


def _proof_lines(proof: SetProof) -> Iterator[str]:
    for found, shown in proof.policies:
        passed = sum(result.passed for result in shown.results)
        yield f"{found.name}: {passed} of {len(shown.results)} tests pass; {_coverage_text(shown)}"
        yield from (f"  FAIL {_failure_text(result)}" for result in shown.results if not result.passed)
        yield from (f"  not reached: {_gap_text(reach)}" for reach in shown.unreached)
    for path in dict.fromkeys(row.row.path for row in proof.rows):
        rows = [row for row in proof.rows if row.row.path == path]
        yield f"{path}: {sum(row.result.passed for row in rows)} of {len(rows)} rows pass"
        yield from (f"  FAIL line {row.row.line}: {_row_text(row)}" for row in rows if not row.result.passed)
    yield from (f"{found['path']}: {found['message']}" for found in _orphans(proof))


def _coverage_text(proof: Proof) -> str:
    parts = []
    for kind in REACH_KINDS:
        reached = [reach.reached for reach in proof.coverage if reach.kind == kind]
        parts += [f"{sum(reached)} of {len(reached)} {_PLURALS[kind]}"] if reached else []
    return f"reached: {', '.join(parts)}" if parts else "advice, with nothing to reach"


def _mutation_lines(reports: Sequence[MutationReport]) -> Iterator[str]:
    for report in reports:
        if not report.tried:
            continue
        killed = report.tried - len(report.survivors)
        yield f"{report.policy.name}: the tests notice {killed} of {report.tried} small changes"
        for mutant in report.survivors:
            line, column = report.policy.document.position(mutant.path)
            yield f"  SURVIVED {report.policy.document.path}:{line}:{column}: {_mutant_text(mutant)}"


def _mutant_text(mutant: Mutant) -> str:
    return f"{mutant.kind} {mutant.place} ({one_line(mutant.says, 60)})"


def _failure_text(result: TestResult) -> str:
    decided = f"expected {result.expected}, decided {result.verdict.decision}"
    return f"{one_line(result.name)}: {decided} ({one_line(result.reason)})"


def _row_text(row: TableResult) -> str:
    return (f"policy {row.row.policy}, " if row.row.policy else "") + _failure_text(row.result)


def _gap_text(reach: CoveredPart) -> str:
    return f"{reach.kind} {reach.place} ({one_line(reach.text, 60)})"


def _failures(proof: SetProof) -> Iterator[Diagnostic]:
    for found, shown in proof.policies:
        for result in shown.results:
            if not result.passed:
                line = found.document.position(result.path)[0]
                yield diagnostic("policy-test", _failure_text(result), path=found.document.path, line=line)
    for row in proof.rows:
        if not row.result.passed:
            yield diagnostic("policy-test", _row_text(row), path=row.row.path, line=row.row.line)


def _survivors(reports: Sequence[MutationReport]) -> Iterator[Diagnostic]:
    for report in reports:
        for mutant in report.survivors:
            message = f"No test notices this change: {_mutant_text(mutant)}."
            line = report.policy.document.position(mutant.path)[0]
            yield diagnostic("policy-mutation", message, path=report.policy.document.path, line=line)


def _orphans(proof: SetProof) -> Iterator[Diagnostic]:
    for path in dict.fromkeys(row.path for row in proof.orphans):
        rows = [row for row in proof.orphans if row.path == path]
        names = ", ".join(sorted({str(row.policy) for row in rows}))
        message = f"Rows about policies that do not exist are left out: {len(rows)} ({names})."
        yield diagnostic("policy-table", message, severity="warning", path=path, line=rows[0].line)


def _gaps(found: PolicyFile, proof: Proof, *, strict: bool) -> Iterator[Diagnostic]:
    for reach in proof.unreached:
        line = found.document.position(reach.path)[0]
        message = f"No test reaches the {_gap_text(reach)}."
        severity = "error" if strict else "note"
        yield diagnostic("policy-coverage", message, severity=severity, path=found.document.path, line=line)
