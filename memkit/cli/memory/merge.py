"""``memkit memory merge``: put one record in the place of several."""

from __future__ import annotations

import click

from memkit.cli.memory.options import owner_option, reason_option, report_decision
from memkit.cli.output import Front, MemkitCommand
from memkit.use_cases.merge_records import merge_records


@click.command("merge", cls=MemkitCommand)
@click.argument("ids", metavar="ID ID…", nargs=-1, required=True)
@click.option("--text", help="What the merged record says (default: what the records say together).")
@owner_option
@reason_option
@click.pass_obj
def merge(front: Front, ids: tuple[str, ...], text: str | None, user: str | None, reason: str) -> None:
    """Put one record in the place of several live ones of one user and scope; they stay in the history."""
    workspace = front.workspace
    decision = merge_records(workspace, ids, user=user, text=text, reason=reason)
    stored = workspace.archive.get(decision.id) if decision.id else None
    said = {"text": stored.record.text} if stored else {}
    report_decision(front, decision, extra={"merges": list(dict.fromkeys(ids)), **said})
