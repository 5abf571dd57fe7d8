"""What projects are made of: the templates and the packages that travel with them, installed or of a release."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from memkit.resources import resource

ROOMS = ("memory", "guard", "htn", "evolve", "loop")
TESTING = "testing"
"""The package of the local model servers."""
RELEASES = "_releases"
"""The folder in the templates that holds what was released of them."""
TEMPLATES, PACKAGES = "templates", "memkit"
"""Where both lie in the tree of a release, which is as in a checkout."""
_PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Source:
    """Two folders that hold everything of memkit's own that goes into a project."""

    templates: Path
    """The folder of targets and layers."""
    packages: Path
    """The folder of the rooms and of the local model servers."""

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """Every file of it that some project is made of, by its path in the tree of a release."""
        found = {f"{TEMPLATES}/{path}": place for path, place in files_of(self.templates) if not _is_release(path)}
        for package in (*ROOMS, TESTING):
            found |= {f"{PACKAGES}/{package}/{path}": place for path, place in files_of(self.package(package))}
        return found

    @property
    def rooms(self) -> tuple[str, ...]:
        """The travelling rooms that there are."""
        return tuple(room for room in ROOMS if self.package(room).is_dir())

    def package(self, name: str) -> Path:
        """Return the folder of a room, or of the local model servers; a release has both side by side."""
        runtime = self.packages / "runtime" / name
        return runtime if runtime.is_dir() else self.packages / name

    @cached_property
    def digest(self) -> str:
        """What tells these files from any others."""
        return digest_of({path: place.read_bytes() for path, place in self.files.items()})


def installed_source() -> Source:
    """Return what is installed, or lies in the checkout."""
    return Source(resource("templates"), _PACKAGE)


def unpacked_source(folder: Path) -> Source:
    """Return what lies in ``folder`` as the tree of a release."""
    return Source(folder / TEMPLATES, folder / PACKAGES)


def files_of(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield every file in ``folder`` by its relative path, without what only an installation needs."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
            yield path.relative_to(folder).as_posix(), path


def is_inside(path: str) -> bool:
    """Return whether a relative path, with slashes, stays below the folder that it is relative to."""
    return not {"", ".", ".."} & set(path.split("/"))


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of files, of their paths as of their contents."""
    lines = (f"{hashlib.sha256(content).hexdigest()}  {path}\n" for path, content in sorted(files.items()))
    return "sha256:" + hashlib.sha256("".join(lines).encode()).hexdigest()


def _is_release(path: str) -> bool:
    return path.startswith(f"{RELEASES}/")
