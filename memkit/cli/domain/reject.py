"""``memkit domain reject``."""

from __future__ import annotations

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.use_cases.reject_lesson import reject_lesson


@click.command("reject", cls=MemkitCommand)
@click.argument("domain")
@click.argument("method")
@click.option("--reason", required=True, help="Why; a model that proposes the same again is told.")
@click.pass_obj
def reject(front: Front, domain: str, method: str, reason: str) -> None:
    """Throw METHOD away: it is not used any more, and the same proposal is refused from now on."""
    commit = reject_lesson(front.root, domain, method, reason)
    said = f", commit {commit[:12]}" if commit else ""
    front.answer({"name": method, "reason": reason, "commit": commit}, f"Rejected: {method}{said}.")
