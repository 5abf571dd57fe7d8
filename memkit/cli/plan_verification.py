"""``memkit plan verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.cli.plan_explanation import reason_findings
from memkit.cli.stores import store_if_any
from memkit.runtime.htn.core import GAVE_UP
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
@click.option("--timeout", type=click.FloatRange(min=0), default=30.0, help="Give up after so many seconds (30).")
@click.pass_obj
def verify(
    front: Front, domain: str, problem: Path, plan_file: Path, learned: Path | None, promoted_only: bool, timeout: float
) -> None:
    """Check that a plan does the tasks of a problem, without the code that searches for plans."""
    root = store_if_any(front)
    ways: dict[str, Any] = {"root": root, "learned": learned, "promoted_only": promoted_only}
    verdict = verify_plan(domain, problem, plan_file, **ways, seconds=timeout)
    data = {
        "valid": verdict.valid,
        "outcome": verdict.outcome,
        "steps": len(verdict.steps),
        "reasons": [reason.to_data() for reason in verdict.reasons],
    }
    count = counted(len(verdict.steps), "step")
    heads = {"valid": [f"The plan is valid: {count}."], GAVE_UP: ["Gave up; the plan may be valid."]}
    lines = [*heads.get(verdict.outcome, []), *map(str, verdict.reasons)]
    front.answer(data, lines, ok=verdict.valid, diagnostics=reason_findings(verdict.reasons))
