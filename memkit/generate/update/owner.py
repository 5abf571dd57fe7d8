"""The files of a project as they lie on its owner's disk; no link is followed, and nothing of it is run."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from memkit.store.plumbing import Plumbing

_MEMKITS = ".memkit/"
_MOST_BYTES = 1_000_000
"""A larger file is no template's."""


@dataclass(frozen=True)
class OwnFile:
    """A regular file."""

    content: bytes
    mode: int


@dataclass(frozen=True)
class UpdateObstacle:
    """Something at a path that is no regular file, or that lies behind a link."""

    what: str


class OwnerFiles:
    """Reads the files of one project."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self._read: dict[str, OwnFile | UpdateObstacle | None] = {}

    def at(self, path: str) -> OwnFile | UpdateObstacle | None:
        """Return what lies at a path of the project, None where nothing does."""
        if path not in self._read:
            self._read[path] = look(self.project, path)
        return self._read[path]

    def small(self, path: str) -> bytes | None:
        """Return the content of a file that may have been a template's, wherever it lies now; it is not kept."""
        try:
            if (self.project / path).lstat().st_size > _MOST_BYTES:
                return None
        except OSError:
            return None
        own = look(self.project, path)
        return own.content if isinstance(own, OwnFile) else None

    def not_ignored(self, git: Plumbing) -> frozenset[str]:
        """Return the paths of all files that the project's ``.gitignore`` files let through, and that are not memkit's.

        Git only lists them: its own folder is ``git``'s, so what the owner's repository is configured to run does not.
        """
        printed = git.run("--work-tree", str(self.project), "ls-files", "-z", "--others", "--exclude-standard")
        paths = (os.fsdecode(path) for path in printed.split(b"\0") if path and not path.endswith(b"/"))
        return frozenset(path for path in paths if not path.startswith(_MEMKITS))


def look(project: Path, path: str) -> OwnFile | UpdateObstacle | None:
    """Return what lies at ``path`` below a project, without following a link anywhere on the way."""
    place = project
    *folders, _ = path.split("/")
    for folder in folders:
        place = place / folder
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            return None
        if not stat.S_ISDIR(mode):
            return UpdateObstacle(f"{place.relative_to(project)} is {_kind(mode)}")
    return _at(project / path, path)


def _at(place: Path, path: str) -> OwnFile | UpdateObstacle | None:
    try:
        mode = place.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        return UpdateObstacle(f"{path} is {_kind(mode)}")
    with os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        return OwnFile(file.read(), stat.S_IMODE(mode))


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a link"
    return "a folder" if stat.S_ISDIR(mode) else "a file" if stat.S_ISREG(mode) else "no regular file"
