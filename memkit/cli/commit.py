"""``memkit commit``: put memory that is not in git yet into git."""

from __future__ import annotations

import click

from memkit.cli.output import Front, MemkitCommand


@click.command("commit", cls=MemkitCommand)
@click.pass_obj
def commit(front: Front) -> None:
    """Commit what the archive has gained since the last commit of memory."""
    made = front.workspace.commit_memory(force=True, added=0)
    front.answer({"commit": made}, f"Committed {made[:10]}." if made else "Nothing to commit.")
