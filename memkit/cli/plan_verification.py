"""``memkit plan verify``."""

from __future__ import annotations

from pathlib import Path

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.cli.plan_explanation import reason_findings
from memkit.cli.stores import store_if_any
from memkit.terminal import counted
from memkit.use_cases.verify_plan import verify_plan

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("verify", cls=MemkitCommand)
@click.option("--domain", required=True, metavar="FILE|NAME", help="A file, or a domain of the store or a starter.")
@click.option("--problem", required=True, type=_FILE, help="Objects, facts and tasks.")
@click.option(
    "--plan", "plan_file", required=True, type=_FILE, help="JSON or ipc of memkit plan, YAML, or a step a line."
)
@click.option("--learned", type=_FILE, help="Where learned methods are kept (default: the store's domains/learned).")
@click.option("--promoted-only", is_flag=True, help="Leave out learned methods that nobody promoted.")
@click.pass_obj
def verify(
    front: Front, domain: str, problem: Path, plan_file: Path, learned: Path | None, promoted_only: bool
) -> None:
    """Check that a plan does the tasks of a problem, without the code that searches for plans."""
    root = store_if_any(front)
    verdict = verify_plan(domain, problem, plan_file, root=root, learned=learned, promoted_only=promoted_only)
    data = {
        "valid": verdict.valid,
        "steps": len(verdict.steps),
        "reasons": [reason.to_data() for reason in verdict.reasons],
    }
    count = counted(len(verdict.steps), "step")
    lines = [f"The plan is valid: {count}."] if verdict.valid else [str(reason) for reason in verdict.reasons]
    front.answer(data, lines, ok=verdict.valid, diagnostics=reason_findings(verdict.reasons))
