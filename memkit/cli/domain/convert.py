"""``memkit domain convert``."""

from __future__ import annotations

from pathlib import Path

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.errors import StoreFault
from memkit.store.layout import find_store
from memkit.use_cases.convert_domain import convert_domain

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("convert", cls=MemkitCommand)
@click.argument("source", type=_FILE)
@click.argument("target", type=_FILE)
@click.option("--domain", metavar="FILE|NAME", help="SOURCE is a problem of this domain.")
@click.option("--force", is_flag=True, help="Replace TARGET if it is there.")
@click.pass_obj
def convert(front: Front, source: Path, target: Path, domain: str | None, force: bool) -> None:
    """Write the domain in SOURCE to TARGET, in HDDL where that ends in .hddl, else in YAML; nothing is lost."""
    done = convert_domain(source, target, domain=domain, root=_store(front), force=force)
    for note in done.notes:
        front.note(note)
    front.answer({"target": str(done.target), "notes": list(done.notes)}, f"Written: {done.target}")


def _store(front: Front) -> Path | None:
    """Return the store if there is one; converting needs none, but one that was named must exist."""
    try:
        return find_store(front.store)
    except StoreFault:
        if front.store is not None:
            raise
        return None
