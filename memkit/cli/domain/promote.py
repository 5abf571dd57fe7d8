"""``memkit domain promote``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from memkit.cli.output import Front, MemkitCommand, diagnostic
from memkit.domains.proofs import MethodJudgement
from memkit.terminal import counted
from memkit.use_cases.promote_lesson import Refused, promote_lesson


@click.command("promote", cls=MemkitCommand)
@click.argument("domain")
@click.argument("method")
@click.option("--as", "new_name", metavar="NAME", help="What the method is called from now on.")
@click.option("--unverified", is_flag=True, help="Also where nothing is declared to hold once the task is done.")
@click.option("--dry-run", is_flag=True, help="Only say what the recorded problems say.")
@click.pass_obj
def promote(front: Front, domain: str, method: str, new_name: str | None, unverified: bool, dry_run: bool) -> None:
    """Take METHOD over into DOMAIN's own file, if every recorded problem of the domain is solved as before."""
    root = front.root
    try:
        made = promote_lesson(root, domain, method, new_name=new_name, unverified=unverified, dry_run=dry_run)
    except Refused as refused:
        found = [diagnostic(refused.code, str(refused))]
        lines = [*_lines(refused.judgements), str(refused)]
        front.answer(_data(new_name or method, refused.judgements), lines, ok=False, diagnostics=found)
        return
    data = _data(made.name, made.judgements) | {"path": made.path, "commit": made.commit}
    done = "Could be promoted" if dry_run else "Promoted"
    commit = f", commit {made.commit[:12]}" if made.commit else ""
    front.answer(data, [*_lines(made.judgements), f"{done}: {made.name} in {made.path}{commit}."])


def _data(name: str, judgements: Sequence[MethodJudgement]) -> dict[str, Any]:
    return {"name": name, "path": None, "commit": None, "problems": [each.to_data() for each in judgements]}


def _lines(judgements: Sequence[MethodJudgement]) -> list[str]:
    return [f"{each.name}: {_side(each.before, each.steps_before)} → {_side(each.after, each.steps_after)}"
            for each in judgements]  # fmt: skip


def _side(outcome: str, steps: int | None) -> str:
    return outcome if steps is None else counted(steps, "step")
