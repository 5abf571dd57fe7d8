"""The new repository, built beside the old one from which nothing but what may stay is taken."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from memkit.privacy.history import History
from memkit.privacy.remainder import Remainder
from memkit.privacy.repository import IndexEntry, Repository
from memkit.store.plumbing import Plumbing, joined

_CARRIED = ("config", "config.worktree", "description", "hooks", "modules", "lfs", "info/exclude", "info/attributes",
            "info/sparse-checkout")  # fmt: skip
"""What else of ``.git`` goes along: what people set, and other repositories."""
_TEXT_CACHE = "refs/notes/textconv/"
_NOTES = "refs/notes/"
_REPLACED = "refs/replace/"


@dataclass(frozen=True)
class Rebuilt:
    """What became of the history."""

    commits: dict[str, str]
    """Old id to new id, of all of them."""
    signatures: int
    cleaned: int
    """Messages and names of authors that held something."""
    renamed: int
    """Refs whose name held the person."""
    dropped: tuple[str, ...]
    """Refs that nothing was left of, or that stood for old ids."""

    def counts(self) -> dict[str, int]:
        """Return what went besides lines."""
        changed = sum(old != new for old, new in self.commits.items())
        return {
            "commits_rewritten": changed, "messages": self.cleaned, "signatures": self.signatures,
            "refs_renamed": self.renamed, "refs_dropped": len(self.dropped),
        }  # fmt: skip


def rebuild(old: Repository, folder: Path, remainder: Remainder) -> Rebuilt:
    """Make the repository ``folder`` with the history, refs, stash and index of ``old``, without the person."""
    new = _initialised(folder, old.algorithm())
    pack = folder / "objects" / "pack" / "tmp_erase"
    with old.git.reader() as reader, PackWriter(pack, old.algorithm()) as writer:
        history = History(reader.read, writer.add, remainder)
        builder = _Builder(old, new, history, remainder)
        builder.rewrite()
    _take_in(old, new, pack, len(writer), history.kept)
    builder.write_refs()
    new.run("repack", "-a", "-d", "-q")  # after the refs: it leaves out what nothing refers to
    new.run("fsck", "--connectivity-only", "--no-dangling", "--no-progress")
    _carry_along(old.folder, folder)
    return Rebuilt(dict(history.commits), history.signatures, history.cleaned, builder.renamed, tuple(builder.dropped))


class _Builder:
    """One rewriting: first the objects, then what names them."""

    def __init__(self, old: Repository, new: Plumbing, history: History, remainder: Remainder) -> None:
        self.renamed = 0
        self.dropped: list[str] = []
        self._names: dict[str, str] = {}
        self._old_names = old.refs().keys() | old.symbolic_refs().keys()
        self._old = old
        self._new = new
        self._history = history
        self._remainder = remainder
        self._refs: dict[str, str] = {}
        self._stash: list[tuple[str, str]] = []
        self._index: list[IndexEntry] = []
        self._head: str | None = None

    def rewrite(self) -> None:
        """Map every object that a ref, the stash or the index names."""
        refs, stash = self._old.refs(), self._old.stash()
        branch, head = self._old.head()
        notes = {name: id for name, id in refs.items() if name.startswith(_NOTES)}
        roots = [id for name, id in refs.items() if name not in notes] + [id for id, _ in stash]
        for id in self._old.commits([*self._with_commits(roots), *([head] if head else [])]):
            self._history.commit(id)
        for name, id in refs.items():
            self._map_ref(name, id, is_note=name in notes)
        self._stash = [(self._history.commit(id), message) for id, message in stash]
        self._head = self._history.commit(head) if head and branch is None else None
        for entry in self._old.index():
            kept = entry.id if entry.mode == "160000" else self._history.blob(entry.id, entry.path)
            if kept is not None:
                self._index.append(IndexEntry(entry.mode, kept, self._remainder.path(entry.path), entry.flag))

    def write_refs(self) -> None:
        """Write refs, HEAD, stash and index of the new repository."""
        lines = [f"create {name}\0{id}\0".encode("utf-8", "surrogateescape") for name, id in self._refs.items()]
        self._new.run("update-ref", "-z", "--stdin", given=b"".join(lines))
        for name, target in self._old.symbolic_refs().items():
            self._new.run("symbolic-ref", self._named(name), self._named(target))
        branch, _ = self._old.head()
        if branch is not None:
            self._new.run("symbolic-ref", "HEAD", self._named(branch))
        elif self._head is not None:
            (self._new.folder / "HEAD").write_text(f"{self._head}\n")
        self._write_stash()
        self._write_index()

    def _with_commits(self, ids: Sequence[str]) -> list[str]:
        """Return those of ``ids`` that lead to a commit: rev-list takes neither a blob nor a tag of one."""
        printed = self._old.git.run(
            "cat-file", "--batch-check=%(objectname) %(objecttype)", given=joined(f"{id}^{{commit}}" for id in ids)
        )
        return [line.split()[0] for line in printed.decode().splitlines() if line.endswith(" commit")]

    def _map_ref(self, name: str, id: str, *, is_note: bool) -> None:
        if name.startswith((_TEXT_CACHE, _REPLACED)):
            self.dropped.append(name)
            return
        if is_note:
            for commit in self._old.commits([id]):
                self._history.notes(commit)
        mapped = self._history.any(id)
        own = self._named(name)
        if mapped is None:
            self.dropped.append(own)
            return
        self.renamed += own != name
        self._refs[own] = mapped

    def _named(self, name: str) -> str:
        """Return the new name of a ref; two that held nothing but the person differ by a number."""
        if name not in self._names:
            clean = own = self._remainder.name(name, words=True)
            number = 1
            while own != name and own in {*self._names.values(), *self._old_names}:
                number += 1
                own = f"{clean}-{number}"
            self._names[name] = own
        return self._names[name]

    def _write_stash(self) -> None:
        for id, message in self._stash:
            self._new.run(
                "-c", "user.name=memkit", "-c", "user.email=memkit@localhost", "update-ref", "--create-reflog",
                "-m", self._remainder.message(message), "refs/stash", id,
            )  # fmt: skip

    def _write_index(self) -> None:
        index = self._new.folder / "index"
        lines = [f"{entry.mode} {entry.id}\t{entry.path}\0" for entry in self._index]
        given = "".join(lines).encode("utf-8", "surrogateescape")
        self._new.run("update-index", "-z", "--index-info", given=given, index=index)
        for flag, option in (("h", "--assume-unchanged"), ("S", "--skip-worktree")):
            paths = "".join(f"{entry.path}\0" for entry in self._index if entry.flag == flag)
            if paths:
                self._new.run(
                    "update-index", option, "-z", "--stdin", given=paths.encode("utf-8", "surrogateescape"), index=index
                )


def _initialised(folder: Path, algorithm: str) -> Plumbing:
    folder.mkdir(parents=True)
    new = Plumbing(folder)
    new.run("init", "--quiet", "--bare", "--template=", f"--object-format={algorithm}")
    return new


def _take_in(old: Repository, new: Plumbing, pack: Path, written: int, kept: set[str]) -> None:
    """Enter the objects made anew, and copy those that stay as they are."""
    if written:
        with pack.open("rb") as stream:
            new.run("index-pack", "--stdin", given=stream.read())
    pack.unlink()
    if kept:
        old.git.run("pack-objects", "-q", str(new.folder / "objects" / "pack" / "pack"), given=joined(sorted(kept)))


def _carry_along(old: Path, new: Path) -> None:
    for name in _CARRIED:
        source, target = old / name, new / name
        if not os.path.lexists(source):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir() and not source.is_symlink():
            shutil.rmtree(target, ignore_errors=True)
            # Links and not copies: the objects of submodules and large files may be many, and are not rewritten.
            shutil.copytree(source, target, symlinks=True, copy_function=_linked)
        else:
            shutil.copy2(source, target, follow_symlinks=False)


def _linked(source: str, target: str) -> None:
    os.link(source, target, follow_symlinks=False)


_KINDS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
_HEADER = struct.Struct(">4sII")


class PackWriter:
    """Objects on their way into a new repository; the same object is written once."""

    def __init__(self, path: Path, algorithm: str) -> None:
        self._file = path.open("w+b")
        self._algorithm = algorithm
        self._written: set[str] = set()
        self._file.write(_HEADER.pack(b"PACK", 2, 0))

    def __len__(self) -> int:
        """Return how many objects were written."""
        return len(self._written)

    def add(self, kind: str, data: bytes) -> str:
        """Write an object and return its id."""
        id = hashlib.new(self._algorithm, f"{kind} {len(data)}\0".encode() + data).hexdigest()
        if id not in self._written:
            self._written.add(id)
            self._file.write(_entry_header(_KINDS[kind], len(data)))
            self._file.write(zlib.compress(data, 1))
        return id

    def __enter__(self) -> PackWriter:
        """Return the writer."""
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        """Enter the number of objects and the digest of everything before it."""
        self._file.seek(0)
        self._file.write(_HEADER.pack(b"PACK", 2, len(self._written)))
        self._file.seek(0)
        digest = hashlib.new(self._algorithm)
        while chunk := self._file.read(1 << 20):
            digest.update(chunk)
        self._file.write(digest.digest())
        self._file.close()


def _entry_header(kind: int, size: int) -> bytes:
    """Return type and size: four bits of the size in the first byte, seven in each that follows."""
    first, size = kind << 4 | size & 0x0F, size >> 4
    found = bytearray()
    while size:
        found.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    found.append(first)
    return bytes(found)
