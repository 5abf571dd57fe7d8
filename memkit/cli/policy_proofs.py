"""``memkit policy test``, ``conflicts`` and ``diff``: what can be proved about a set of policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memkit.cli.display import ListCell, ListRow
from memkit.cli.output import FILE, FOLDER, Diagnostic, Front, KnownName, diagnostic, memkit_command
from memkit.errors import UsageError
from memkit.runtime.guard.interface import EFFECTS
from memkit.runtime.host.terminal import counted, one_line

if TYPE_CHECKING:
    from memkit.policies.analysis.conflicts import PolicyConflict
    from memkit.policies.files import PolicyFile
    from memkit.policies.mutation import Mutant, MutationReport
    from memkit.policies.proving import SetProof, TableResult
    from memkit.policies.verdict_diff import PolicySet, VerdictChange
    from memkit.runtime.guard.proof import CoveredPart, Proof, TestResult
    from memkit.use_cases.policy_proofs import CoveredCall, PolicyComparison, PolicyConflicts


def proof_data(proof: SetProof) -> dict[str, Any]:
    """Return the results and the coverage, per policy and overall."""
    from memkit.runtime.guard.proof import REACH_KINDS

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
    """Return how many small changes the tests noticed, and which they missed."""
    survivors = [survivor for report in reports for survivor in _survivors_data(report)]
    tried = sum(report.tried for report in reports)
    return {"mutants": tried, "killed": tried - len(survivors), "survivors": survivors}


def _policy_data(found: PolicyFile, proof: Proof) -> dict[str, Any]:
    from memkit.runtime.guard.proof import REACH_KINDS

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


_PLURALS = {"clause": "clauses", "exception": "exceptions", "effect": "effects"}


@memkit_command("test")
@click.argument("names", type=KnownName("policy"), nargs=-1)
@click.option("--require-coverage", is_flag=True, help="Also fail if a clause, exception or effect is not reached.")
@click.option("--mutate", is_flag=True, help="Change each policy slightly, and fail if no test notices.")
@click.option("--junit", type=FILE, help="Also write JUnit XML to this file.")
def test(front: Front, names: tuple[str, ...], require_coverage: bool, mutate: bool, junit: Path | None) -> None:
    """Run the tests of the policies (or those NAMED) and of their tables, and report what they do not reach."""
    from memkit.use_cases.policy_proofs import mutate_policies, prove_policies, write_junit

    proof = prove_policies(front.root, names)
    mutations = mutate_policies(proof) if mutate else []
    if junit is not None:
        write_junit(junit, proof, mutations)
    failed = [*_failures(proof), *_survivors(mutations)]
    gaps = [finding for found, shown in proof.policies for finding in _gaps(found, shown, strict=require_coverage)]
    ok = not failed and not (require_coverage and gaps)
    data = proof_data(proof) | ({"mutation": mutation_data(mutations)} if mutate else {})
    lines = [*_proof_lines(proof), *_mutation_lines(mutations)]
    front.answer(data, lines, ok=ok, diagnostics=[*failed, *gaps, *_orphans(proof)], signs=True)


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
    from memkit.runtime.guard.proof import REACH_KINDS

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


@memkit_command("conflicts")
@click.option("--baseline", type=FILE, help="Accept the findings of this file (a list of kind, policies and reason).")
def conflicts(front: Front, baseline: Path | None) -> None:
    """Find policies that contradict or cover each other or never apply, each with a call that shows it.

    An intended finding is accepted with its reason: under 'accepted' in the policy's file, or in a baseline.
    """
    from memkit.use_cases.policy_proofs import find_policy_conflicts

    found = find_policy_conflicts(front.root, baseline)
    analysis = found.analysis
    accepted = [_finding(conflict) | {"reason": by.reason} for conflict, by in found.accepted]
    data: dict[str, Any] = {"findings": [_finding(conflict) for conflict in analysis.conflicts]}
    data |= {"accepted": accepted} if accepted else {}
    front.answer(data, _lines(found), ok=not analysis.conflicts, diagnostics=list(_diagnostics(found)))


def _finding(conflict: PolicyConflict) -> dict[str, Any]:
    from memkit.policies.verdict_diff import call_data

    return {
        "kind": conflict.kind,
        "policies": list(conflict.policies),
        "witness": call_data(conflict.witness) if conflict.witness else None,
        "proof": conflict.proof,
    }


def _about(conflict: PolicyConflict) -> str:
    """Return the policies of a finding, or the tool of a gap."""
    return ", ".join(conflict.policies) or str(conflict.witness and conflict.witness.tool)


def _lines(found: PolicyConflicts) -> Iterator[str]:
    from memkit.policies.verdict_diff import check_line

    analysis = found.analysis
    for conflict in analysis.conflicts:
        about = _about(conflict)
        kind = f"{conflict.kind}:"
        yield ListRow(ListCell(kind, "bad"), ListCell(about), plain=f"{kind} {about}")
        yield f"  {conflict.proof}"
        if conflict.witness:
            yield f"  {check_line(conflict.witness)}"
    for question in analysis.unknown:
        yield f"unknown: {', '.join(question.policies)}"
        yield f"  {question.reason}"
    for conflict, by in found.accepted:
        yield f"accepted {conflict.kind}: {_about(conflict)} ({one_line(by.reason)})"
    count, open_questions = len(analysis.conflicts), len(analysis.unknown)
    told = counted(count, "conflict") if count else "no conflicts"
    told += f", {counted(open_questions, 'open question')}" if open_questions else ""
    policies = len(found.policies)
    yield f"{policies} polic{'y' if policies == 1 else 'ies'}: {told}."


def _diagnostics(found: PolicyConflicts) -> Iterator[Diagnostic]:
    paths = {policy.name: policy.document.path for policy in found.policies}
    for conflict in found.analysis.conflicts:
        path = paths[conflict.policies[0]] if conflict.policies else "memkit.yaml"
        yield diagnostic(f"policy-{conflict.kind}", conflict.proof, path=path)
    for question in found.analysis.unknown:
        path = paths[question.policies[0]]
        yield diagnostic("policy-unknown", question.reason, severity="note", path=path)
    for one in found.unused:
        names = ", ".join(filter(None, (one.owner, one.tool, *(one.policies or ()))))
        message = f"{names}: there is no finding of the kind {one.kind}. Remove the entry that accepts it."
        yield diagnostic("policy-accepted", message, severity="warning", path=one.path)


@memkit_command("coverage")
@click.option(
    "--corpus",
    type=FILE,
    help="One call per line: {tool, args, context?, category?, expect?} (default: the calls that memkit ships).",
)
def coverage(front: Front, corpus: Path | None) -> None:
    """Show what the policies decide about a list of calls, overall and by category.

    Exit code 1 if a decision differs from what its line expects.
    """
    from memkit.use_cases.policy_proofs import cover_corpus

    counts = dict.fromkeys(reversed(EFFECTS), 0)
    categories: dict[str, dict[str, int]] = {}
    calls: list[dict[str, Any]] = []
    wrong: list[CoveredCall] = []
    opaque = 0
    for call in cover_corpus(front.root, corpus):
        opaque += call.opaque
        counts[call.decision] += 1
        categories.setdefault(call.category, dict.fromkeys(counts, 0))[call.decision] += 1
        calls.append({"line": call.line, "decision": call.decision, "policies": list(call.policies)})
        wrong += [] if call.as_expected else [call]
    data = {"counts": counts, "categories": categories, "calls": calls, "opaque": opaque}
    name = str(corpus) if corpus else "the shipped corpus"
    findings = [
        diagnostic(
            "policy-coverage",
            f"expected {' or '.join(call.expected)}, decided {call.decision}"
            + (f" by {', '.join(call.policies)}" if call.policies else ""),
            path=name,
            line=call.line,
        )
        for call in wrong
    ]
    front.answer(data, _coverage_lines(counts, categories, wrong, opaque), ok=not wrong, diagnostics=findings)


def _coverage_lines(
    counts: Mapping[str, int],
    categories: Mapping[str, Mapping[str, int]],
    wrong: Sequence[CoveredCall],
    opaque: int,
) -> Iterator[str]:
    width = max(map(len, [*categories, "all"]))
    yield _count_row("", list(counts), width)
    for name, decided in sorted(categories.items()):
        yield _count_row(name or "-", list(map(str, decided.values())), width)
    yield _count_row("all", list(map(str, counts.values())), width)
    if opaque:
        yield f"{opaque} of them because the command could not be read (opaque)."
    for call in wrong[:_MOST_LISTED]:
        yield f"line {call.line}: expected {' or '.join(call.expected)}, decided {call.decision}"
    if len(wrong) > _MOST_LISTED:
        yield f"… and {len(wrong) - _MOST_LISTED} more that were not decided as expected; --json lists them all"


def _count_row(name: str, numbers: Sequence[str], width: int) -> ListRow:
    plain = f"{name:{width}}  " + "".join(f"{number:>7}" for number in numbers)
    return ListRow(ListCell(name, "name"), *(ListCell(number, "number") for number in numbers), plain=plain)


_MOST_LISTED = 20


@memkit_command("diff")
@click.argument("span", metavar="[A..B]", required=False)
@click.option("--replay", "replayed", is_flag=True, help="Also decide the calls of the audit log by both sets.")
@click.option("--before", type=FOLDER, help="A folder of policies to compare, instead of commits.")
@click.option("--after", type=FOLDER, help="The folder to compare it with.")
def diff(front: Front, span: str | None, replayed: bool, before: Path | None, after: Path | None) -> None:
    """Show which calls are decided differently, weakened hard policies first.

    A..B are commits, and A...B is what B changed since it branched from A. A alone is compared with the work tree;
    without a span the last commit is. Exit code 1 if a call gets past a hard policy that stopped it, or stops it less.
    """
    from memkit.use_cases.policy_proofs import compare_policies, compare_policy_folders

    if (before or after) and (span or replayed or not (before and after)):
        raise UsageError("Give --before and --after together, without a range or --replay.")
    if before and after:
        compared = compare_policy_folders(before, after)
    else:
        compared = compare_policies(front.root, span, replayed=replayed)
    front.answer(
        _data(compared),
        _comparison_lines(compared),
        ok=not compared.weakens_hard,
        diagnostics=[diagnostic("policy-unknown", one, severity="note") for one in compared.verdicts.unknown],
        signs=True,
    )


def _data(compared: PolicyComparison) -> dict[str, Any]:
    from memkit.policies.verdict_diff import change_data

    replay = compared.replay
    return {
        "before": _side(compared.before),
        "after": _side(compared.after),
        "changes": [change_data(change) for change in compared.verdicts.changes],
        "unknown": list(compared.verdicts.unknown),
        "replay": replay
        and {
            "calls": replay.calls,
            "left_out": replay.left_out,
            "changes": [change_data(change) for change in replay.changes],
        },
    }


def _side(side: PolicySet) -> dict[str, Any]:
    return {"name": side.name, "commit": side.commit, "policies": len(side.policies)}


def _comparison_lines(compared: PolicyComparison) -> Iterator[str]:
    changes = compared.verdicts.changes
    yield f"{compared.before.name} → {compared.after.name}: {_count(changes)}"
    yield from _change_lines(changes)
    yield from (f"unknown: {question}" for question in compared.verdicts.unknown)
    if compared.replay:
        replay = compared.replay
        left_out = f" ({replay.left_out} verdicts without their call were left out)" if replay.left_out else ""
        calls = counted(replay.calls, "recorded call") if replay.calls else "No recorded calls"
        yield f"{calls}{left_out}: {_count(replay.changes)}"
        yield from _change_lines(replay.changes)


def _count(changes: Sequence[VerdictChange]) -> str:
    if not changes:
        return "no change of a verdict was found."
    weakened = sum(change.weakens_hard for change in changes)
    told = f", {weakened} of them weakened against a hard policy" if weakened else ""
    return f"{counted(len(changes), 'call')} decided differently{told}."


def _change_lines(changes: Sequence[VerdictChange]) -> Iterator[str]:
    from memkit.policies.verdict_diff import check_line

    for change in changes:
        mark = "!" if change.weakens_hard else ("-" if change.weakened else "+")
        before = f"{change.before}{_by(change.decided_before)}"
        yield f"{mark} {before} → {change.after}{_by(change.decided_after)}"
        yield f"    {check_line(change.call)}"


def _by(names: Sequence[str]) -> str:
    return f" by {', '.join(names)}" if names else ""
