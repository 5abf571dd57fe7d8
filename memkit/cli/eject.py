"""``memkit eject``: give the owner of a generated project the sources of its runtime."""

from __future__ import annotations

from pathlib import Path

import click

from memkit.cli.output import Front, MemkitCommand


@click.command("eject", cls=MemkitCommand)
@click.argument("folder", required=False, metavar="[DIR]", type=click.Path(path_type=Path))
@click.pass_obj
def eject(front: Front, folder: Path | None) -> None:
    """Put the runtime's sources into the generated project in DIR (default: the nearest one), instead of its wheel.

    They are imported by the same names, are yours to change, and updates leave them alone from then on. Take it back:
    memkit update --undo.
    """
    from memkit.use_cases.eject_runtime import eject_runtime

    done = eject_runtime(folder)
    data = {"project": str(done.project), "runtime": done.version, "files": list(done.files)}
    front.answer(
        data, f"{done.project / 'memkit_runtime'} holds the runtime {done.version} now, and is yours to change."
    )
