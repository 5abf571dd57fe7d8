"""``memkit policy conflicts``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from memkit.cli.output import Diagnostic, Front, MemkitCommand, diagnostic
from memkit.policies.analysis.conflicts import PolicyConflict
from memkit.policies.verdict_diff import call_data, check_line
from memkit.terminal import counted
from memkit.use_cases.find_policy_conflicts import PolicyConflicts, find_policy_conflicts


@click.command("conflicts", cls=MemkitCommand)
@click.pass_obj
def conflicts(front: Front) -> None:
    """Find policies that contradict or cover each other or never apply, each with a call that shows it."""
    found = find_policy_conflicts(front.root)
    analysis = found.analysis
    data = {"findings": [_finding(conflict) for conflict in analysis.conflicts]}
    front.answer(data, _lines(found), ok=not analysis.conflicts, diagnostics=list(_diagnostics(found)))


def _finding(conflict: PolicyConflict) -> dict[str, Any]:
    return {
        "kind": conflict.kind,
        "policies": list(conflict.policies),
        "witness": call_data(conflict.witness) if conflict.witness else None,
        "proof": conflict.proof,
    }


def _lines(found: PolicyConflicts) -> Iterator[str]:
    analysis = found.analysis
    for conflict in analysis.conflicts:
        yield f"{conflict.kind}: {', '.join(conflict.policies) or (conflict.witness and conflict.witness.tool)}"
        yield f"  {conflict.proof}"
        if conflict.witness:
            yield f"  {check_line(conflict.witness)}"
    for question in analysis.unknown:
        yield f"unknown: {', '.join(question.policies)}"
        yield f"  {question.reason}"
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
