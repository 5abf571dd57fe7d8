"""``memkit domain test``, and the methods that a model proposed: learned, promote, reject."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from memkit.cli.completion import DOMAIN_NAME
from memkit.cli.output import Diagnostic, Front, MemkitCommand, diagnostic
from memkit.terminal import counted, one_line, tainted

if TYPE_CHECKING:
    from memkit.domains.proofs import DomainProof, MethodJudgement, ProblemProof
    from memkit.use_cases.lessons import Listed

# ``memkit domain test``.


@click.command("test", cls=MemkitCommand)
@click.argument("names", type=DOMAIN_NAME, nargs=-1)
@click.option("--require-coverage", is_flag=True, help="Fail also when no problem uses a method or an operator.")
@click.option("--timeout", type=click.FloatRange(min=0), default=15.0, help="Seconds for each problem (15).")
@click.pass_obj
def test(front: Front, names: tuple[str, ...], require_coverage: bool, timeout: float) -> None:
    """Solve the problems recorded for the domains (or those NAMED), and say what no problem uses.

    They lie in domains/problems/NAME/. Every plan is verified by other code than the search. Learned methods take no
    part until they are promoted.
    """
    from memkit.use_cases.domains import prove_domains

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
    from memkit.domains.files import PROBLEMS

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


# ``memkit domain learned``.


@click.command("learned", cls=MemkitCommand)
@click.argument("domain", type=DOMAIN_NAME, required=False)
@click.pass_obj
def learned(front: Front, domain: str | None) -> None:
    """List the learned methods of DOMAIN, or of all: where each comes from, and what it would do."""
    from memkit.use_cases.lessons import list_lessons

    found = list_lessons(front.root, domain)
    lines = [line for each in found for line in _listed_lines(each)]
    front.answer({"domains": [dict(vars(each)) for each in found]}, lines or ["No learned methods."])


def _listed_lines(listed: Listed) -> Iterator[str]:
    yield f"{listed.domain} ({listed.path})"
    for entry in listed.methods:
        yield from _entry_lines(entry)
    for entry in listed.rejected:
        yield f"  rejected: {entry['name']}: {entry.get('reason', '')}"
    for reason in listed.left_out:
        yield f"  not used: {reason}"
    for task, count in listed.refused.items():
        yield f"  refused here: {counted(count, 'proposal')} for '{task}'"


def _entry_lines(entry: Mapping[str, Any]) -> Iterator[str]:
    source = entry.get("provenance") or {}
    asked = " ".join(filter(None, [source.get("provider"), source.get("model")])) or "unknown"
    yield f"  {entry['name']}: {entry.get('task')}"
    yield f"    from {asked}, {source.get('at', 'no date')}, goal {source.get('goal', 'not verified')}"
    if source.get("taint"):
        yield f"    not used before its promotion: {tainted(tuple(map(str, source['taint'])))}"
    for condition in entry.get("preconditions") or ():
        yield f"    if {condition}"
    for number, subtask in enumerate(entry.get("subtasks") or (), 1):
        yield f"    {number}. {subtask}"


# ``memkit domain promote``.


@click.command("promote", cls=MemkitCommand)
@click.argument("domain", type=DOMAIN_NAME)
@click.argument("method")
@click.option("--as", "new_name", metavar="NAME", help="What the method is called from now on.")
@click.option("--unverified", is_flag=True, help="Also where nothing is declared to hold once the task is done.")
@click.option("--dry-run", is_flag=True, help="Only say what the recorded problems say.")
@click.pass_obj
def promote(front: Front, domain: str, method: str, new_name: str | None, unverified: bool, dry_run: bool) -> None:
    """Take METHOD over into DOMAIN's own file, if every recorded problem of the domain is solved as before."""
    from memkit.use_cases.lessons import NotPromoted, promote_lesson

    root = front.root
    try:
        made = promote_lesson(root, domain, method, new_name=new_name, unverified=unverified, dry_run=dry_run)
    except NotPromoted as refused:
        found = [diagnostic(refused.code, str(refused))]
        lines = [*_judgement_lines(refused.judgements), str(refused)]
        front.answer(_promotion_data(new_name or method, refused.judgements), lines, ok=False, diagnostics=found)
        return
    data = _promotion_data(made.name, made.judgements) | {"path": made.path, "commit": made.commit}
    done = "Could be promoted" if dry_run else "Promoted"
    commit = f", commit {made.commit[:12]}" if made.commit else ""
    front.answer(data, [*_judgement_lines(made.judgements), f"{done}: {made.name} in {made.path}{commit}."])


def _promotion_data(name: str, judgements: Sequence[MethodJudgement]) -> dict[str, Any]:
    return {"name": name, "path": None, "commit": None, "problems": [each.to_data() for each in judgements]}


def _judgement_lines(judgements: Sequence[MethodJudgement]) -> list[str]:
    return [f"{each.name}: {_side(each.before, each.steps_before)} → {_side(each.after, each.steps_after)}"
            for each in judgements]  # fmt: skip


def _side(outcome: str, steps: int | None) -> str:
    return outcome if steps is None else counted(steps, "step")


# ``memkit domain reject``.


@click.command("reject", cls=MemkitCommand)
@click.argument("domain", type=DOMAIN_NAME)
@click.argument("method")
@click.option("--reason", required=True, help="Why; a model that proposes the same again is told.")
@click.pass_obj
def reject(front: Front, domain: str, method: str, reason: str) -> None:
    """Throw METHOD away: it is not used any more, and the same proposal is refused from now on."""
    from memkit.use_cases.lessons import reject_lesson

    commit = reject_lesson(front.root, domain, method, reason)
    said = f", commit {commit[:12]}" if commit else ""
    front.answer({"name": method, "reason": reason, "commit": commit}, f"Rejected: {method}{said}.")
