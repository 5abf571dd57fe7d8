"""``memkit git``: how git merges and shows what is remembered."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from memkit.cli.output import Front, MemkitGroup, diagnostic
from memkit.errors import MemkitError
from memkit.store.shard_text import as_it_is, readable
from memkit.use_cases.merge_shard_files import merge_shard_files
from memkit.use_cases.set_up_git import set_up_git

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group("git", cls=MemkitGroup)
def git() -> None:
    """Set up how git merges and shows shards."""


@git.command("setup")
@click.option("--remove", is_flag=True, help="Take back what setup wrote.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@click.pass_obj
def setup(front: Front, remove: bool, dry_run: bool) -> None:
    """Let this clone merge shards line by line and show them as sentences.

    Writes merge.memkit.* and diff.memkit.textconv to .git/config and one rule to .git/info/attributes; both stay in
    this clone. Said again it changes nothing.
    """
    changes = set_up_git(front.workspace.root, remove=remove, dry_run=dry_run)
    would = "would " if dry_run else ""
    lines = [f"{change.file}: {would}{change.action} {change.entry}" for change in changes]
    if not lines:
        lines = ["Nothing to take back." if remove else "Everything is set up already."]
    data = {"changes": [asdict(change) for change in changes], "dry_run": dry_run}
    front.answer(data, lines)


@git.command("merge-driver", hidden=True)
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("ours", type=_FILE)
@click.argument("theirs", type=_FILE)
@click.argument("name")
@click.pass_obj
def merge_driver(front: Front, base: Path, ours: Path, theirs: Path, name: str) -> None:
    """Merge THEIRS into OURS, for git: two versions of the shard NAME; the exit code is 1 on a conflict."""
    conflicts = merge_shard_files(ours, theirs)
    messages = [f"{name}: id {id} says something else on each side. Keep one of the two lines." for id in conflicts]
    if not front.json:
        for message in messages:
            front.note(message)
    findings = [diagnostic("id-conflict", message, path=name) for message in messages]
    front.answer({"conflicts": list(conflicts)}, ok=not conflicts, diagnostics=findings)


@git.command("textconv", hidden=True)
@click.argument("file", type=_FILE)
@click.pass_obj
def textconv(front: Front, file: Path) -> None:
    """Print the shard FILE as sentences, one a line, for git; what is sealed is opened where its key is here."""
    try:
        open_line = front.workspace.sealer.open
    except MemkitError:
        open_line = as_it_is  # git shows a diff also of a store whose settings are broken
    lines = list(readable(file.read_bytes(), open_line))
    front.answer({"lines": lines}, lines)
