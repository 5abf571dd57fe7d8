"""``memkit skill new`` and ``rollback``."""

from __future__ import annotations

from dataclasses import asdict

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.store.layout import find_store
from memkit.use_cases.draft_skill import draft_skill
from memkit.use_cases.roll_back_skill import roll_back_skill


@click.command("new", cls=MemkitCommand)
@click.argument("name")
@click.pass_obj
def new(front: Front, name: str) -> None:
    """Start the skill NAME from an example, and commit it."""
    path = draft_skill(find_store(front.store), name)
    front.answer({"name": name, "path": str(path)}, f"Wrote {path}. Edit it, then run 'memkit lint'.")


@click.command("rollback", cls=MemkitCommand)
@click.argument("name")
@click.argument("version")
@click.pass_obj
def rollback(front: Front, name: str, version: str) -> None:
    """Bring the skill NAME back to VERSION (or to a commit), as a new commit."""
    done = roll_back_skill(find_store(front.store), name, version)
    said = f"as commit {done.commit[:10]}" if done.commit else "already, so nothing was committed"
    front.answer(asdict(done), f"{name} is at {done.version or done.source[:10]} {said}.")
