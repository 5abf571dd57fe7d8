"""The proof: every place is read again, in every encoding, and looked through for pieces of the person's texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from memkit.privacy.needles import Needles
from memkit.privacy.views import readings
from memkit.store.plumbing import GitObject, Plumbing, tree_entries

MOST_NAMED = 20
"""Places that a report names; the count is complete."""
_AUTHORSHIP = re.compile(rb"^(?:author|committer|tagger) (.*>).*$", re.MULTILINE)
_NOT_ENTERED = ("node_modules",)


@dataclass
class Place:
    """What the scan saw in one place."""

    place: str
    items: int = 0
    traces: int = 0
    where: list[str] = field(default_factory=list)
    """The first traces; names of files and ids of objects."""

    def count(self, name: str, found: bool) -> None:
        """Note one item."""
        self.items += 1
        if found:
            self.traces += 1
            if len(self.where) < MOST_NAMED:
                self.where.append(name)


class Scanner:
    """Looks for needles; a line that many objects share is read once."""

    def __init__(self, needles: Needles) -> None:
        self.needles = needles
        self._lines: dict[bytes, bool] = {}

    def finds(self, data: bytes) -> bool:
        """Return whether ``data`` holds a trace, however it is encoded."""
        if not data.startswith(b"{"):
            return self._found_in(data)
        return any(map(self._line, data.split(b"\n")))

    def finds_name(self, name: str) -> bool:
        """Return whether the name of a file or a ref holds a trace."""
        return self._found_in(name.encode("utf-8", "surrogateescape"))

    def files(self, place: Place, root: Path, paths: Iterable[Path]) -> Place:
        """Look through the names and contents of files; links are named by what they point at."""
        for path in paths:
            name = str(path.relative_to(root))
            content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
            place.count(name, self.finds_name(name) or self.finds(content))
        return place

    def objects(self, place: Place, git: Plumbing) -> Place:
        """Look through every object of a repository, unreachable ones included."""
        for found in git.all_objects():
            place.count(f"{found.kind} {found.id}", self._finds_in_object(found))
        return place

    def names(self, place: Place, names: Iterable[str]) -> Place:
        """Look through names alone."""
        for name in names:
            place.count(name, self.finds_name(name))
        return place

    def _finds_in_object(self, found: GitObject) -> bool:
        if found.kind == "tree":
            names = [name for _, name, _ in tree_entries(found.data, len(found.id) // 2)]
            return self._found_in(b"\n".join(names))
        if found.kind in ("commit", "tag"):  # who wrote a commit is no memory of theirs, unless it is a quote
            people = b"\n".join(_AUTHORSHIP.findall(found.data))
            quoted = any(map(self.needles.quoted_in, readings(people)))
            return quoted or self._found_in(_AUTHORSHIP.sub(b"", found.data))
        return self.finds(found.data)

    def _line(self, line: bytes) -> bool:
        known = self._lines.get(line)
        if known is None:
            known = self._lines[line] = self._found_in(line)
        return known

    def _found_in(self, data: bytes) -> bool:
        return any(self.needles.found_in(text) for text in readings(data))


def files_below(root: Path, *, without: Iterable[Path] = ()) -> Iterator[Path]:
    """Yield files and links below ``root``; other repositories, virtual environments and packages are not entered."""
    left_out = set(without)
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        if path in left_out:
            continue
        if path.is_dir() and not path.is_symlink():
            if _is_entered(path) and not (path / ".git").exists():
                yield from files_below(path, without=left_out)
        elif path.is_file() or path.is_symlink():
            yield path


def repositories_below(root: Path) -> Iterator[Path]:
    """Yield the other repositories below ``root``, which ``files_below`` does not enter."""
    for path in sorted(root.iterdir()):
        if path.is_dir() and not path.is_symlink() and path.name != ".git" and _is_entered(path):
            if (path / ".git").exists():
                yield path
            else:
                yield from repositories_below(path)


def _is_entered(folder: Path) -> bool:
    return folder.name not in _NOT_ENTERED and not (folder / "pyvenv.cfg").exists()


def git_files(folder: Path) -> Iterator[Path]:
    """Yield what lies in ``.git`` beside the objects themselves, which are read through git."""
    objects = folder / "objects"
    for path in files_below(folder, without=(folder / "modules", folder / "lfs")):
        inner = path.relative_to(objects).parts if path.is_relative_to(objects) else ()
        is_loose = len(inner) == 2 and len(inner[0]) == 2
        if not is_loose and path.suffix not in (".pack", ".idx", ".rev", ".bitmap"):
            yield path
