"""``memkit migrate``: bring an older store to the format of this version."""

from __future__ import annotations

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.use_cases.migrate_store import migrate_store


@click.command("migrate", cls=MemkitCommand)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.pass_obj
def migrate(front: Front, dry_run: bool) -> None:
    """Bring the store to the format that this version writes; each step is a commit of its own."""
    done = migrate_store(front.workspace, dry_run=dry_run)
    data = {"from": done.before, "to": done.after, "steps": list(done.steps), "commits": list(done.commits)}
    if not done.steps:
        front.answer(data, f"The store has format {done.after}, the newest that this memkit knows: nothing to do.")
        return
    begin = "Would" if dry_run else "Done:"
    lines = [f"{begin} {words}." for words in done.steps]
    front.answer(data, [*lines, f"Format: {done.before or 'not stated'} → {done.after}."])
