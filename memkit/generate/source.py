"""What projects are made of: the templates, installed or of a release. The runtime is a wheel (``runtime_wheel``)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from memkit.resources import resource

RELEASES = "_releases"
"""The folder in the templates that holds what was released of them."""


@dataclass(frozen=True)
class Source:
    """A folder of targets and layers."""

    templates: Path

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """Every file of it that some project is made of, by its path."""
        return {path: place for path, place in files_of(self.templates) if not path.startswith(f"{RELEASES}/")}

    @cached_property
    def digest(self) -> str:
        """What tells these files from any others."""
        return digest_of({path: place.read_bytes() for path, place in self.files.items()})


def installed_source() -> Source:
    """Return what is installed, or lies in the checkout."""
    return Source(resource("templates"))


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
