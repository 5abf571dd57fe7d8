"""``memkit policy commit``, ``history`` and ``rollback``."""

from __future__ import annotations

import click

from memkit.cli.file_history import answer_commit, answer_rollback, answer_trace, bump_option, note_option
from memkit.cli.output import Front, MemkitCommand
from memkit.policies.files import POLICY
from memkit.store.bump import Part
from memkit.use_cases.accept_policy import accept_policy
from memkit.use_cases.commit_file import commit_file
from memkit.use_cases.roll_back_policy import roll_back_policy
from memkit.use_cases.trace_file import trace_file


@click.command("commit", cls=MemkitCommand)
@click.argument("name")
@bump_option
@note_option
@click.pass_obj
def commit(front: Front, name: str, bump: Part | None, note: str | None) -> None:
    """Commit what you changed in the policy NAME if it passes its own tests, with a message that says what that is.

    A change of meaning needs a higher version: write it yourself, or let --bump do it.
    """
    root = front.root
    answer_commit(front, root, commit_file(root, POLICY, name, bump=bump, note=note, accept=accept_policy))


@click.command("history", cls=MemkitCommand)
@click.argument("name")
@click.pass_obj
def history(front: Front, name: str) -> None:
    """Show the commits that changed the policy NAME, newest first."""
    answer_trace(front, name, trace_file(front.root, POLICY, name))


@click.command("rollback", cls=MemkitCommand)
@click.argument("name")
@click.argument("version")
@click.pass_obj
def rollback(front: Front, name: str, version: str) -> None:
    """Bring the policy NAME back to VERSION (or to a commit) if it passes its own tests, as a new commit."""
    root = front.root
    answer_rollback(front, root, roll_back_policy(root, name, version))
