"""``memkit skill history``."""

from __future__ import annotations

from dataclasses import asdict

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.store.layout import find_store
from memkit.terminal import one_line
from memkit.use_cases.trace_skill import trace_skill


@click.command("history", cls=MemkitCommand)
@click.argument("name")
@click.pass_obj
def history(front: Front, name: str) -> None:
    """Show the commits that changed the skill NAME, newest first."""
    revisions = trace_skill(find_store(front.store), name)
    rows = [
        {key: value for key, value in asdict(revision).items() if key != "text"}  # the file itself is git's to show
        for revision in revisions
    ]
    lines = [
        f"{each.commit[:10]}  {each.at[:10]}  {each.version or '-':8} {one_line(each.subject, 80)}"
        for each in revisions
    ]
    front.answer({"name": name, "history": rows}, lines)
