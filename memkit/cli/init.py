"""``memkit init``: make a store."""

from __future__ import annotations

from pathlib import Path

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.terminal import shell_word
from memkit.use_cases.make_store import make_store


@click.command("init", cls=MemkitCommand)
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--name", help="The store's name (default: the folder's).")
@click.option("--adopt", is_flag=True, help="Add only what is absent to an existing project.")
@click.pass_obj
def init(front: Front, folder: Path, name: str | None, adopt: bool) -> None:
    """Make a store in DIR: starter skills, policies and domains, a lint workflow, a git repository, a first commit."""
    store = make_store(folder, name=name, adopt=adopt)
    data = {"root": str(store.root), "added": list(store.added), "kept": list(store.kept), "commit": store.commit}
    lines = [f"Made a store in {store.root} ({len(store.added)} files, commit {(store.commit or 'none')[:10]})."]
    if store.kept:
        lines.append(f"Kept as they were: {', '.join(store.kept)}")
    if store.ignored:
        lines.append(f"Added to .gitignore: {store.ignored}")
    lines += [
        "Next:",
        f"  cd {shell_word(str(folder))}" if str(folder) != "." else "  (you are in it)",
        '  memkit memory add "Ada prefers espresso" --user ada --type preference',
        '  memkit memory search "coffee espresso" --user ada',
        "  memkit chat --user ada",
        "  memkit gen --target langgraph",
    ]
    front.answer(data, lines)
