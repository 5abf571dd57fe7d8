"""The proof: every place is read again, in every encoding, and looked through for pieces of the person's texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path

from memkit.privacy.belonging import owners_named
from memkit.privacy.needles import Needles
from memkit.privacy.views import readings
from memkit.store.plumbing import GitObject, Plumbing, tree_entries

_AUTHORSHIP = re.compile(rb"^(?:author|committer|tagger) (.*>).*$", re.MULTILINE)
_NOT_ENTERED = ("node_modules",)


@dataclass
class Place:
    """What the scan saw in one place."""

    place: str
    items: int = 0
    traces: int = 0
    where: list[str] = field(default_factory=list)
    """The traces; names of files and ids of objects."""
    words: list[str] = field(default_factory=list)
    """What people wrote that holds single words of the person's and no more, which is no proof of anything."""

    def count(self, name: str, found: bool, *, words: bool = False) -> None:
        """Note one item."""
        self.items += 1
        if found:
            self.traces += 1
            self.where.append(name)
        elif words:
            self.words.append(name)


class WordTraces(Enum):
    """In what single words are traces as well."""

    NONE = "nothing: people wrote it"
    OWN = "lines that name nobody else"
    ALL = "everything"


class Scanner:
    """Looks for needles; a line that many objects share is read once.

    Single words are traces in what memkit wrote. In what people wrote they are named, and accuse nobody.
    """

    def __init__(self, needles: Needles) -> None:
        self.needles = needles
        self._lines: dict[tuple[bytes, bool], bool] = {}

    def finds(self, data: bytes, *, words: WordTraces = WordTraces.NONE) -> bool:
        """Return whether ``data`` holds a trace, however it is encoded."""
        if not data.startswith(b"{"):
            return self._found_in(data, words is not WordTraces.NONE)
        return any(self._line(line, words) for line in data.split(b"\n"))

    def finds_name(self, name: str, *, words: WordTraces = WordTraces.NONE) -> bool:
        """Return whether the name of a file or a ref holds a trace."""
        return self._found_in(name.encode("utf-8", "surrogateescape"), words is not WordTraces.NONE)

    def files(
        self, place: Place, root: Path, paths: Iterable[Path], is_own: Callable[[Path], bool] = lambda path: True
    ) -> Place:
        """Look through the names and contents of files, of which ``is_own`` says whether memkit wrote them.

        Links are named by what they point at.
        """
        for path in paths:
            name = str(path.relative_to(root))
            content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
            self._count(place, name, is_own(path), partial(self._finds_in_file, name, content))
        return place

    def objects(self, place: Place, git: Plumbing) -> Place:
        """Look through every object of a repository, unreachable ones included; lines of JSON are memkit's."""
        for found in git.all_objects():
            is_own = found.kind in ("commit", "tag") or found.data.startswith(b"{")
            self._count(place, f"{found.kind} {found.id}", is_own, partial(self._finds_in_object, found))
        return place

    def names(self, place: Place, names: Iterable[str]) -> Place:
        """Look through names alone."""
        for name in names:
            place.count(name, self.finds_name(name, words=WordTraces.OWN))
        return place

    def _count(self, place: Place, name: str, is_own: bool, finds: Callable[[WordTraces], bool]) -> None:
        found = finds(WordTraces.ALL)
        is_trace = found and finds(WordTraces.OWN if is_own else WordTraces.NONE)
        place.count(name, is_trace, words=found)

    def _finds_in_file(self, name: str, content: bytes, words: WordTraces) -> bool:
        return self.finds_name(name, words=words) or self.finds(content, words=words)

    def _finds_in_object(self, found: GitObject, words: WordTraces) -> bool:
        if found.kind == "tree":
            names = [name for _, name, _ in tree_entries(found.data, len(found.id) // 2)]
            return self._found_in(b"\n".join(names), words is WordTraces.ALL)
        if found.kind in ("commit", "tag"):  # who wrote a commit is no memory of theirs, unless it is a quote
            people = b"\n".join(_AUTHORSHIP.findall(found.data))
            quoted = any(map(self.needles.quoted_in, readings(people)))
            return quoted or self._found_in(_AUTHORSHIP.sub(b"", found.data), words is not WordTraces.NONE)
        return self.finds(found.data, words=words)

    def _line(self, line: bytes, words: WordTraces) -> bool:
        of_others = words is WordTraces.OWN and owners_named(line) - {self.needles.user_id}
        key = line, words is not WordTraces.NONE and not of_others
        known = self._lines.get(key)
        if known is None:
            known = self._lines[key] = self._found_in(*key)
        return known

    def _found_in(self, data: bytes, words: bool) -> bool:
        return any(self.needles.found_in(text, words=words) for text in readings(data))


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
