"""``memkit policy export``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from memkit.cli.output import Choice, Diagnostic, Front, MemkitCommand, diagnostic
from memkit.policies.export import ExportedPolicy
from memkit.use_cases.export_policies import FORMATS, LOSSES, ExportedPolicies, Losses, export_policies

_SAID = {
    "exact": "as it is",
    "narrower": "permits less than memkit",
    "wider": "PERMITS MORE than memkit",
    "both": "permits more here and less there than memkit",
    "missing": "NOT EXPORTED",
    "nothing": "decides nothing",
}


@click.command("export", cls=MemkitCommand)
@click.option("--format", "form", type=Choice(list(FORMATS)), required=True, help="The language to write.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The file (default: standard output).")
@click.option(
    "--losses",
    type=Choice(list(LOSSES)),
    default="report",
    show_default=True,
    help="Where it would permit what memkit stops: report it, refuse the export, or tighten it to permit less.",
)
@click.option("--force", is_flag=True, help="Replace a file that holds another text.")
@click.pass_obj
def export(front: Front, form: str, out: Path | None, losses: Losses, force: bool) -> None:
    """Write the policies for another tool, and say what becomes of each on the way.

    "claude-code" is a settings file with permissions; "cedar" is a set of Cedar policies. What permits more than memkit
    does is said on standard error; with --losses refuse, such an export is not made (exit 1).
    """
    done = export_policies(front.root, form, out=out, losses=losses, force=force)
    findings = [_finding(policy) for policy in done.export.policies if policy.state not in ("exact", "nothing")]
    if not front.json:
        for line in _account(done):
            front.note(line)
    front.answer(_data(done, form, losses), _lines(done), ok=not done.refused, diagnostics=findings)


def _data(done: ExportedPolicies, form: str, losses: Losses) -> dict[str, Any]:
    accounts = [asdict(policy) | {"lets_through": policy.lets_through} for policy in done.export.policies]
    return {
        "format": form,
        "losses": losses,
        "out": str(done.path) if done.path else None,
        "content": None if done.refused else done.export.content,
        "policies": accounts,
        "weaker": [policy.name for policy in done.export.weaker],
    }


def _lines(done: ExportedPolicies) -> str:
    if done.refused:
        return "Not exported. Use --losses tighten to permit less there, or --losses report to take it as it is."
    return f"Wrote {done.path}" if done.path else done.export.content.rstrip("\n")


def _account(done: ExportedPolicies) -> Iterator[str]:
    for policy in done.export.policies:
        yield f"{policy.name} ({policy.effect}): {_SAID[policy.state]}"
        yield from (f"  {reason}" for reason in policy.reasons)
    if done.export.weaker:
        names = ", ".join(policy.name for policy in done.export.weaker)
        yield f"WEAKER THAN MEMKIT: calls that {names} would stop can run there."


def _finding(policy: ExportedPolicy) -> Diagnostic:
    severity = "warning" if policy.lets_through else "note"
    reasons = " ".join(policy.reasons)
    message = f"{policy.name}: {_SAID[policy.state]}. {reasons}".strip()
    return diagnostic(f"policy-{policy.state}", message, severity=severity, path=f"policies/{policy.name}.yaml")
