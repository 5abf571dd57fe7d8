"""``memkit policy new``."""

from __future__ import annotations

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.store.layout import find_store
from memkit.use_cases.draft_policy import draft_policy


@click.command("new", cls=MemkitCommand)
@click.argument("name")
@click.pass_obj
def new(front: Front, name: str) -> None:
    """Start the policy NAME from an example that passes its own tests, and commit it."""
    path = draft_policy(find_store(front.store), name)
    front.answer({"name": name, "path": str(path)}, f"Wrote {path}. Edit it, then run 'memkit policy test {name}'.")
