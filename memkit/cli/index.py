"""``memkit index``: the disposable index over the archive."""

from __future__ import annotations

import click

from memkit.cli.output import Front, MemkitGroup
from memkit.cli.trust import with_trust


@click.group("index", cls=MemkitGroup)
def index() -> None:
    """Say how the index stands, or rebuild it."""


@index.command("status")
@click.pass_obj
def status(front: Front) -> None:
    """Say how many users and live records the index holds, once it has caught up with the archive."""
    _tell(front, "")


@index.command("rebuild")
@click.option(
    "--vectors", is_flag=True, help="Take the model of retrieval.vectors for good, and embed everything anew."
)
@click.pass_obj
def rebuild(front: Front, vectors: bool) -> None:
    """Delete the index and build it from the archive's files."""
    if vectors:
        from memkit.use_cases.rebuild_vectors import rebuild_vectors

        with_trust(front, lambda: rebuild_vectors(front.workspace))
    else:
        front.workspace.archive.rebuild()
    _tell(front, "Rebuilt: ")


def _tell(front: Front, done: str) -> None:
    archive = front.workspace.archive
    data = {"users": len(archive.users()), "records": len(archive.records(user_id=None))}
    front.answer(data, f"{done}{data['users']} users, {data['records']} live records.")
