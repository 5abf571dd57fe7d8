"""Stores whose folders and files are links that lead out, or are no files at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from git_attacks import Attack
from traps import Trap

FOLDERS = (
    "archive", ".memkit", ".memkit/state", ".memkit/cache", ".memkit/state/sessions", ".memkit/state/audit", "outputs",
    "skills", "policies", "domains", "domains/learned",
)  # fmt: skip
FILES = (
    "memkit.yaml", "skills/virtual-memory.yaml", "skills/hybrid-planner.yaml", ".memkit/.gitignore", ".gitignore",
    ".memkit/state/lock", ".memkit/state/writer", ".memkit/state/pending", ".git/info/attributes",
)  # fmt: skip


def link_folder(name: str) -> Attack:
    """Return the attack that puts a folder outside and leaves a link in its place."""

    def attack(store: Path, outside: Path, trap: Trap) -> None:
        place, kept = store / name, outside / "kept"
        if place.exists():
            shutil.move(place, kept)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            kept.mkdir()
        place.symlink_to(kept)

    return attack


def link_month(store: Path, outside: Path, trap: Trap) -> None:
    """The folders of the months, past and present, are links out."""
    for month in (store / "archive").glob("20*"):
        shutil.move(month, outside / month.name)
        month.symlink_to(outside / month.name)


def link_files(store: Path, outside: Path, trap: Trap) -> None:
    """Every single file that memkit writes is a link out."""
    for place in [store / name for name in FILES] + list((store / "archive").rglob("*.jsonl")):
        kept = outside / f"kept-{place.relative_to(store).as_posix().replace('/', '-')}"
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists():
            shutil.move(place, kept)
        else:
            kept.write_text("mine\n")
        place.symlink_to(kept)


def dangling(store: Path, outside: Path, trap: Trap) -> None:
    """Folders that are not there are links to places outside where nothing is yet."""
    for name in (".memkit", "outputs", "domains/learned"):
        shutil.rmtree(store / name, ignore_errors=True)
        (store / name).parent.mkdir(exist_ok=True)
        (store / name).symlink_to(outside / "made" / name)
    for month in (store / "archive").glob("20*"):
        shutil.rmtree(month)
        month.symlink_to(outside / "made" / month.name)


def pipes(store: Path, outside: Path, trap: Trap) -> None:
    """Pipes stand in the places of files; whoever opens one waits for ever."""
    for place in [*(store / "archive").rglob("*.jsonl"), store / ".memkit/state/writer", store / ".memkit/state/lock",
                  *(store / ".memkit/state/sessions").rglob("*.*"),
                  store / "skills" / "pipe.yaml", store / ".gitignore",
                  store / ".git" / "info" / "attributes"]:  # fmt: skip
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        os.mkfifo(place)


def pipe_below(store: Path, outside: Path, trap: Trap) -> None:
    """A pipe stands in the place of a file that git reads on its way through the folders."""
    os.mkfifo(store / "skills" / ".gitignore")


LINKS: dict[str, Attack] = {
    **{f"link {name}": link_folder(name) for name in FOLDERS},
    "link month": link_month,
    "link files": link_files,
    "link dangling": dangling,
    "pipes": pipes,
    "pipe below": pipe_below,
}
