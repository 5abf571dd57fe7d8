"""``memkit index``: the disposable index over the archive."""

from __future__ import annotations

import click

from memkit.cli.output import Front, MemkitGroup


@click.group("index", cls=MemkitGroup)
def index() -> None:
    """Say how the index stands, or rebuild it."""


@index.command("status")
@click.pass_obj
def status(front: Front) -> None:
    """Say which engine the index uses and how many records it holds."""
    archive = front.workspace.archive
    data = {"engine": archive.engine, "records": len(archive.records(user_id=None))}
    front.answer(data, f"{data['engine']}, {data['records']} live records.")


@index.command("rebuild")
@click.option(
    "--vectors", is_flag=True, help="Take the model of retrieval.vectors for good, and embed everything anew."
)
@click.pass_obj
def rebuild(front: Front, vectors: bool) -> None:
    """Delete the index and build it from the archive's files."""
    archive = front.workspace.archive
    if vectors:
        from memkit.use_cases.rebuild_vectors import rebuild_vectors

        rebuild_vectors(front.workspace)
    else:
        archive.rebuild()
    data = {"engine": archive.engine, "records": len(archive.records(user_id=None))}
    front.answer(data, f"Rebuilt: {data['engine']}, {data['records']} live records.")
