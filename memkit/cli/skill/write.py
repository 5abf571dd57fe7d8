"""``memkit skill new`` and ``rollback``."""

from __future__ import annotations

import click

from memkit.cli.file_history import answer_rollback, detached_findings
from memkit.cli.output import Front, MemkitCommand
from memkit.store.layout import find_store
from memkit.use_cases.draft_skill import draft_skill
from memkit.use_cases.roll_back_skill import roll_back_skill


@click.command("new", cls=MemkitCommand)
@click.argument("name")
@click.pass_obj
def new(front: Front, name: str) -> None:
    """Start the skill NAME from an example, and commit it."""
    root = find_store(front.store)
    path = draft_skill(root, name)
    data = {"name": name, "path": str(path)}
    told = f"Wrote {path}. Edit it, then run 'memkit lint'."
    front.answer(data, told, diagnostics=detached_findings(front, root))


@click.command("rollback", cls=MemkitCommand)
@click.argument("name")
@click.argument("version")
@click.pass_obj
def rollback(front: Front, name: str, version: str) -> None:
    """Bring the skill NAME back to VERSION (or to a commit), as a new commit."""
    root = find_store(front.store)
    answer_rollback(front, root, roll_back_skill(root, name, version))
