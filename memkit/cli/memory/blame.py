"""``memkit memory blame``: which commit brought what is known of a record."""

from __future__ import annotations

from dataclasses import asdict

import click

from memkit.cli.memory.options import owner_option
from memkit.cli.output import Front, MemkitCommand
from memkit.terminal import one_line
from memkit.use_cases.blame_record import BlamedLine, blame_record


@click.command("blame", cls=MemkitCommand)
@click.argument("record_id", metavar="ID")
@owner_option
@click.pass_obj
def blame(front: Front, record_id: str, user: str | None) -> None:
    """Say which commit brought record ID and everything that happened to it, who wrote it, and where it stands."""
    lines = blame_record(front.workspace, record_id, user=user)
    data = {"id": record_id, "lines": [asdict(line) for line in lines]}
    front.answer(data, [text for line in lines for text in _shown(line)])


def _shown(line: BlamedLine) -> list[str]:
    session = f" in session {line.session_id}" if line.session_id else ""
    if line.commit:
        brought = f"{line.commit[:12]}  {(line.committed_at or '')[:10]}  {line.author}  {line.subject}"
    else:
        brought = "not committed yet: memkit commit"
    return [
        one_line(f"{line.at}  {line.op} by {line.actor}{session}  {line.path}:{line.line}"),
        f"    {one_line(brought, 140)}",
    ]
