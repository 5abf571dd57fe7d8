"""``memkit policy new``."""

from __future__ import annotations

import click

from memkit.cli.file_history import detached_findings
from memkit.cli.output import Front, MemkitCommand
from memkit.use_cases.draft_policy import draft_policy


@click.command("new", cls=MemkitCommand)
@click.argument("name")
@click.pass_obj
def new(front: Front, name: str) -> None:
    """Start the policy NAME from an example that passes its own tests, and commit it."""
    root = front.root
    path = draft_policy(root, name)
    data = {"name": name, "path": str(path)}
    told = f"Wrote {path}. Edit it, then run 'memkit policy test {name}'."
    front.answer(data, told, diagnostics=detached_findings(front, root))
