"""``memkit policy history`` and ``rollback``."""

from __future__ import annotations

import click

from memkit.cli.file_history import answer_rollback, answer_trace
from memkit.cli.output import Front, MemkitCommand
from memkit.policies.files import POLICY
from memkit.store.layout import find_store
from memkit.use_cases.roll_back_policy import roll_back_policy
from memkit.use_cases.trace_file import trace_file


@click.command("history", cls=MemkitCommand)
@click.argument("name")
@click.pass_obj
def history(front: Front, name: str) -> None:
    """Show the commits that changed the policy NAME, newest first."""
    answer_trace(front, name, trace_file(find_store(front.store), POLICY, name))


@click.command("rollback", cls=MemkitCommand)
@click.argument("name")
@click.argument("version")
@click.pass_obj
def rollback(front: Front, name: str, version: str) -> None:
    """Bring the policy NAME back to VERSION (or to a commit) if it passes its own tests, as a new commit."""
    root = find_store(front.store)
    answer_rollback(front, root, roll_back_policy(root, name, version))
