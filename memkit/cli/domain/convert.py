"""``memkit domain convert``."""

from __future__ import annotations

from pathlib import Path

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.cli.stores import store_if_any
from memkit.use_cases.convert_domain import convert_domain

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("convert", cls=MemkitCommand)
@click.argument("source", metavar="FILE|NAME")
@click.argument("target", type=_FILE)
@click.option("--domain", metavar="FILE|NAME", help="What is converted is a file with a problem of this domain.")
@click.option("--force", is_flag=True, help="Replace TARGET if it is there.")
@click.pass_obj
def convert(front: Front, source: str, target: Path, domain: str | None, force: bool) -> None:
    """Write a domain to TARGET, in HDDL where that ends in .hddl, else in YAML; nothing is lost."""
    done = convert_domain(source, target, domain=domain, root=store_if_any(front), force=force)
    for note in done.notes:
        front.note(note)
    front.answer({"target": str(done.target), "notes": list(done.notes)}, f"Written: {done.target}")
