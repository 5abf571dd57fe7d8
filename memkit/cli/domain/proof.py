"""``memkit domain test``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from memkit.cli.output import Diagnostic, Front, MemkitCommand, diagnostic
from memkit.domains.files import PROBLEMS
from memkit.domains.proofs import DomainProof, ProblemProof
from memkit.terminal import counted, one_line
from memkit.use_cases.prove_domains import prove_domains


@click.command("test", cls=MemkitCommand)
@click.argument("names", nargs=-1)
@click.option("--require-coverage", is_flag=True, help="Fail also when no problem uses a method or an operator.")
@click.option("--timeout", type=click.FloatRange(min=0), default=15.0, help="Seconds for each problem (15).")
@click.pass_obj
def test(front: Front, names: tuple[str, ...], require_coverage: bool, timeout: float) -> None:
    """Solve the problems recorded for the domains (or those NAMED), and say what no problem uses.

    They lie in domains/problems/NAME/. Every plan is verified by other code than the search. Learned methods take no
    part until they are promoted.
    """
    proofs = prove_domains(front.root, names, seconds=timeout)
    gaps = [finding for proof in proofs for finding in _gaps(proof, strict=require_coverage)]
    failed = [finding for proof in proofs for finding in _failures(proof)]
    ok = not failed and not (require_coverage and gaps)
    front.answer(_data(proofs), _lines(proofs), ok=ok, diagnostics=[*failed, *gaps])


def _data(proofs: Sequence[DomainProof]) -> dict[str, Any]:
    passed = [each.passed for proof in proofs for each in proof.problems]
    return {
        "passed": sum(passed),
        "failed": len(passed) - sum(passed),
        "domains": [
            {
                "name": proof.domain.name,
                "path": proof.path,
                "problems": [_problem_data(each) for each in proof.problems],
                "coverage": {kind: _counts(used) for kind, used in proof.coverage().items()},
            }
            for proof in proofs
        ],
    }


def _problem_data(problem: ProblemProof) -> dict[str, Any]:
    return {
        "name": problem.name,
        "path": problem.path,
        "ok": problem.passed,
        "expected": problem.expected,
        "outcome": problem.outcome,
        "plan": None if problem.plan is None else [step.to_data() for step in problem.plan],
        "faults": list(problem.faults),
    }


def _counts(used: Mapping[str, bool]) -> dict[str, Any]:
    return {"total": len(used), "used": sum(used.values()), "unused": _unused(used)}


def _unused(used: Mapping[str, bool]) -> list[str]:
    return [name for name, is_used in used.items() if not is_used]


def _lines(proofs: Sequence[DomainProof]) -> Iterator[str]:
    if not proofs:
        yield "No domains yet: domains/ holds none. 'memkit domain new' starts one."
    for proof in proofs:
        if not proof.problems:
            yield f"{proof.domain.name}: no problems yet; put them into {PROBLEMS}/{proof.domain.name}/"
            continue
        passed = sum(each.passed for each in proof.problems)
        coverage = proof.coverage()
        used = ", ".join(f"{sum(used.values())} of {len(used)} {kind}" for kind, used in coverage.items())
        yield f"{proof.domain.name}: {passed} of {len(proof.problems)} problems pass; used: {used}"
        for each in proof.problems:
            yield f"  {'ok  ' if each.passed else 'FAIL'} {each.name}: {_outcome(each)}"
            yield from (f"       {one_line(fault)}" for fault in each.faults)
        for kind, found in coverage.items():
            if unused := _unused(found):
                yield f"  no problem uses the {kind} {', '.join(unused)}"


def _outcome(problem: ProblemProof) -> str:
    if problem.plan is None:
        return problem.outcome.replace("_", " ")
    return counted(len(problem.plan), "step")


def _failures(proof: DomainProof) -> Iterator[Diagnostic]:
    for problem in proof.problems:
        for fault in problem.faults:
            yield diagnostic("domain-test", f"{problem.name}: {fault}", path=problem.path, line=problem.line)


def _gaps(proof: DomainProof, *, strict: bool) -> Iterator[Diagnostic]:
    for kind, used in proof.coverage().items():
        for name in _unused(used):
            message = f"No problem uses the {kind[:-1]} {name}."
            yield diagnostic("domain-coverage", message, severity="error" if strict else "note", path=proof.path)
