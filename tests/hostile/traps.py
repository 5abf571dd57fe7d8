"""Traps that fire when something of a foreign store runs, and a watch over everything that lies outside of it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

Seen = dict[str, tuple[object, ...]]


@dataclass(frozen=True)
class Trap:
    """Where it shows that something ran: each trap that fires leaves a file of its name."""

    folder: Path

    def command(self, name: str, *, passes: bool = False) -> str:
        """Return a line of shell that fires the trap; with ``passes`` it hands its input on, as a filter has to."""
        touch = f"touch {shlex.quote(str(self.folder / name))}"
        return f"{touch}; cat" if passes else f"{touch};:"

    def program(self, place: Path, name: str) -> Path:
        """Write a program that fires the trap, and return where it lies."""
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"#!/bin/sh\n{self.command(name)}\n")
        place.chmod(0o755)
        return place

    def module(self, place: Path, name: str) -> Path:
        """Write a Python file that fires the trap when it is imported, and return where it lies."""
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"open({str(self.folder / name)!r}, 'w').close()\n")
        return place

    def fired(self) -> list[str]:
        """Return the names of the traps that went off."""
        return sorted(path.name for path in self.folder.iterdir())


@dataclass(frozen=True)
class World:
    """A store that somebody else made, and beside it what belongs to the person who opens it."""

    folder: Path

    @property
    def store(self) -> Path:
        """Return the store that is opened."""
        return self.folder / "theirs" / "store"

    @property
    def outside(self) -> Path:
        """Return the folder that nobody may touch."""
        return self.folder / "mine"

    @property
    def trap(self) -> Trap:
        """Return the trap."""
        return Trap(self.folder / "fired")

    @property
    def names(self) -> dict[str, str]:
        """Return what stands for ``{…}`` in the command lines."""
        noted: dict[str, str] = json.loads((self.folder / "names.json").read_text())
        given = {path.name: str(path) for path in (self.folder / "given").iterdir()}
        return noted | given | {"out": str(self.folder / "out")}

    def note(self, names: dict[str, str]) -> None:
        """Keep what stands for ``{…}``."""
        (self.folder / "names.json").write_text(json.dumps(names))

    def copied_to(self, folder: Path) -> World:
        """Put this world into ``folder``, in place of what is there; ``cp`` copies pipes and links as what they are."""
        subprocess.run(["rm", "-rf", str(folder)], check=True)
        subprocess.run(["cp", "-a", str(self.folder), str(folder)], check=True)
        return World(folder)

    def seen(self) -> Seen:
        """Return everything outside of the store, its repository, and where the commands were told to write."""
        return snapshot(self.folder, frozenset(["theirs/store", "theirs/.git", "out"]))


def snapshot(folder: Path, unread: Set[str] = frozenset()) -> Seen:
    """Return everything below a folder but not below those in ``unread``: modes, contents, and targets of links."""
    found: Seen = {}
    for parent, folders, files in os.walk(folder):
        beyond = Path(parent).relative_to(folder)
        for name in (*folders, *files):
            path = Path(parent, name)
            if path.is_symlink():
                content: object = path.readlink()
            else:
                content = path.read_bytes() if path.is_file() else None
            found[(beyond / name).as_posix()] = (oct(path.lstat().st_mode), content)
        folders[:] = [name for name in folders if (beyond / name).as_posix() not in unread]
    return found
