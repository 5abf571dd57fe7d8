"""``memkit domain commit``, ``history`` and ``rollback``."""

from __future__ import annotations

from functools import partial

import click

from memkit.cli.file_history import answer_commit, answer_rollback, answer_trace, note_option
from memkit.cli.output import Front, MemkitCommand
from memkit.domains.files import DOMAIN
from memkit.use_cases.accept_domain import accept_domain
from memkit.use_cases.commit_file import commit_file
from memkit.use_cases.roll_back_domain import roll_back_domain
from memkit.use_cases.trace_file import trace_file


@click.command("commit", cls=MemkitCommand)
@click.argument("name")
@note_option
@click.pass_obj
def commit(front: Front, name: str, note: str | None) -> None:
    """Commit what you changed in the domain NAME if its problems pass, with a message that says what that is."""
    root = front.root
    answer_commit(front, root, commit_file(root, DOMAIN, name, note=note, accept=partial(accept_domain, root)))


@click.command("history", cls=MemkitCommand)
@click.argument("name")
@click.pass_obj
def history(front: Front, name: str) -> None:
    """Show the commits that changed the domain NAME, newest first."""
    answer_trace(front, name, trace_file(front.root, DOMAIN, name))


@click.command("rollback", cls=MemkitCommand)
@click.argument("name")
@click.argument("commit_id", metavar="COMMIT")
@click.pass_obj
def rollback(front: Front, name: str, commit_id: str) -> None:
    """Bring the domain NAME back to what it was in COMMIT if its problems pass, as a new commit."""
    root = front.root
    answer_rollback(front, root, roll_back_domain(root, name, commit_id))
