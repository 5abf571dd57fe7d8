"""Build the new repository beside the old one, from which only what may stay is taken.

Objects are rewritten one by one and not through ``git fast-export``, which renames nested tags, drops tags of blobs and
unknown commit headers, and does not support notes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType

from memkit.errors import EnvironmentFault
from memkit.privacy.belonging import ARCHIVE, SUFFIX, holds_lines, objects_in
from memkit.privacy.repository import IndexEntry, Repository
from memkit.privacy.scan import Remainder
from memkit.runtime.memory.log.log import claimed_link
from memkit.store.chain_history import head_without
from memkit.store.git_process import GitObject, Plumbing, joined, tree_entries

TREE, LINK = b"40000", b"160000"
Read = Callable[[str], GitObject | None]
Add = Callable[[str, bytes], str]

_FULL_ID = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")
_SIGNED = re.compile(rb"-----BEGIN (?:PGP|SSH|SIGNED)[ A-Z]*-----.*", re.DOTALL)
_PEOPLE = re.compile(rb"(author|committer|tagger) (.*?) ?<(.*)> (.*)", re.DOTALL)
_DROPPED = (b"gpgsig", b"gpgsig-sha256", b"mergetag")
"""Signatures attest to exact bytes, which are gone."""


_IN_ARCHIVE, _ELSEWHERE = f"{ARCHIVE}/", "./"
"""Represent all folders whose files are treated alike."""


class History:
    """Maps old objects to new ones; ``kept`` holds those that are copied unchanged."""

    def __init__(self, read: Read, add: Add, remainder: Remainder, gone: Iterable[str] = ()) -> None:
        self.kept: set[str] = set()
        self.commits: dict[str, str] = {}
        """Old id to new id of every commit."""
        self.signatures = 0
        """Number of signatures that had to be dropped."""
        self.cleaned = 0
        """Number of messages and author names that contained something."""
        self._read = read
        self._add = add
        self._remainder = remainder
        self._trees: dict[tuple[str, str], str | None] = {}
        self._blobs: dict[tuple[str, str], str | None] = {}
        self._tags: dict[str, str | None] = {}
        self._gone = set(gone)
        """Links of removed or relinked lines; a tree's months come before its heads, which may name them."""

    def commit(self, id: str) -> str:
        """Return the new id of a commit whose parents were mapped before."""
        if id not in self.commits:
            self.commits[id] = self._commit(self._object(id))
        return self.commits[id]

    def any(self, id: str) -> str | None:
        """Return the new id of any object that a ref may point at; None if nothing of it stays."""
        found = self._object(id)
        if found.kind == "commit":
            return self.commit(id)
        if found.kind == "tag":
            return self._tag(found)
        if found.kind == "tree":
            known = (place for place in ("", _IN_ARCHIVE) if (id, place) in self._trees)
            return self._tree(id, next(known, _ELSEWHERE))
        in_shards = (id, f"{ARCHIVE}/{SUFFIX}") in self._blobs
        return self.blob(id, f"{ARCHIVE}/{SUFFIX if in_shards else 'file'}")

    def blob(self, id: str, path: str) -> str | None:
        """Return the new id of a file's content; None if the file held only removed content."""
        if not self._remainder.reads(path):
            self.kept.add(id)  # unread: a file of another kind may be large
            return id
        place = self._remainder.kind(path)  # equal content at places treated alike is read once
        if (id, place) not in self._blobs:
            found = self._object(id)
            data = self._without_chains(self._remainder.content(found.data, place), found.data, place)
            self._blobs[id, place] = self._same(found, data) if data or not found.data else None
        return self._blobs[id, place]

    def _without_chains(self, data: bytes, before: bytes, place: str) -> bytes:
        """Return the remainder of a file; for heads, without the chains that ended in removed lines."""
        if not place.startswith(_IN_ARCHIVE):
            return data
        if not holds_lines(place):
            return head_without(data, self._gone)
        if data != before:
            old, new = set(before.split(b"\n")), set(data.split(b"\n"))
            self._gone |= _links_in(old - new) - _links_in(new - old)
        return data

    def notes(self, id: str) -> str:
        """Return the new id of a commit of notes: each note follows the commit that it is about."""
        if id not in self.commits:
            self.commits[id] = self._commit(self._object(id), notes=True)
        return self.commits[id]

    def _object(self, id: str) -> GitObject:
        found = self._read(id)
        if found is None:
            raise EnvironmentFault(f"The repository is damaged: object {id} is missing. Repair it first (git fsck).")
        return found

    def _same(self, found: GitObject, data: bytes) -> str:
        if data == found.data:
            self.kept.add(found.id)
            return found.id
        return self._add(found.kind, data)

    def _tree(self, id: str, folder: str) -> str | None:
        key = (id, folder)
        if key not in self._trees:
            found = self._object(id)
            entries = []
            for mode, name, entry in tree_entries(found.data, len(id) // 2):
                new = self._entry(mode, name.decode("utf-8", "surrogateescape"), entry, folder)
                if new is not None:
                    entries.append((mode, self._file_name(name), new))
            self._trees[key] = self._same(found, _tree_data(entries)) if entries or not found.data else None
        return self._trees[key]

    def _entry(self, mode: bytes, name: str, id: str, folder: str) -> str | None:
        if mode == LINK:
            return id
        if mode != TREE:
            return self.blob(id, f"{folder}{name}")
        below = f"{folder}{name}/"
        if not any(path.startswith(below) for path in self._remainder.of_tools):  # equal trees are mapped once
            below = _IN_ARCHIVE if ARCHIVE in below.split("/") else _ELSEWHERE
        return self._tree(id, below)

    def _file_name(self, name: bytes) -> bytes:
        return self._remainder.name(name.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def _commit(self, found: GitObject, *, notes: bool = False) -> str:
        head, _, message = found.data.partition(b"\n\n")
        lines, encoding = [], "utf-8"
        for line in self._headers(head):
            key, _, value = line.partition(b" ")
            if key == b"tree":
                tree = self._notes_tree(value.decode()) if notes else self._tree(value.decode(), "")
                line = b"tree " + (tree or self._add("tree", b"")).encode()
            elif key == b"parent":
                parent = self.notes(value.decode()) if notes else self.commit(value.decode())
                line = b"parent " + parent.encode()
            elif key in (b"author", b"committer"):
                line = self._person(line)
            elif key == b"encoding":
                encoding = value.decode("ascii", "replace")
            lines.append(line)
        return self._same(found, b"\n".join(lines) + b"\n\n" + self._message(message, encoding))

    def _tag(self, found: GitObject) -> str | None:
        if found.id not in self._tags:
            head, _, message = found.data.partition(b"\n\n")
            headers = dict(line.partition(b" ")[::2] for line in self._headers(head))
            target = self.any(headers[b"object"].decode())
            if target is None:
                self._tags[found.id] = None
                return None
            headers[b"object"] = target.encode()
            tag = headers.get(b"tag", b"").decode("utf-8", "surrogateescape")
            headers[b"tag"] = self._remainder.name(tag, words=True).encode("utf-8", "surrogateescape")
            if b"tagger" in headers:
                headers[b"tagger"] = self._person(b"tagger " + headers[b"tagger"]).removeprefix(b"tagger ")
            bare = _SIGNED.sub(b"", message)
            self.signatures += bare != message
            data = b"\n".join(key + b" " + value for key, value in headers.items()) + b"\n\n" + self._message(bare)
            self._tags[found.id] = self._same(found, data)
        return self._tags[found.id]

    def _headers(self, head: bytes) -> list[bytes]:
        """Return the header lines, continued ones joined, without signatures."""
        lines: list[bytes] = []
        for line in head.split(b"\n"):
            if line.startswith(b" ") and lines:
                lines[-1] += b"\n" + line
            else:
                lines.append(line)
        kept = [line for line in lines if line.partition(b" ")[0] not in _DROPPED]
        self.signatures += len(lines) - len(kept)
        return kept

    def _person(self, line: bytes) -> bytes:
        """Return an author line without quoted content in place of a name; names themselves stay."""
        match = _PEOPLE.fullmatch(line)
        if match is None:
            return line
        role, name, mail, moment = match.groups()
        new_name, new_mail = (
            self._remainder.message(part.decode("utf-8", "surrogateescape"), name=False, words=False).encode(
                "utf-8", "surrogateescape"
            )
            for part in (name, mail)
        )
        if (new_name, new_mail) == (name, mail):
            return line
        self.cleaned += 1
        return b"%s %s <%s> %s" % (role, new_name, new_mail, moment)

    def _message(self, data: bytes, encoding: str = "utf-8") -> bytes:
        """Return a message without the person's texts and name; commit ids in it are updated."""
        try:
            text = data.decode(encoding)
        except (LookupError, UnicodeDecodeError):
            encoding, text = "utf-8", data.decode("utf-8", "surrogateescape")
        clean = self._remainder.message(text)
        self.cleaned += clean != text
        new = _FULL_ID.sub(lambda match: self.commits.get(match[0], match[0]), clean)
        return data if new == text else new.encode(encoding, "surrogateescape")

    def _notes_tree(self, id: str) -> str:
        notes: list[tuple[bytes, bytes, str]] = []
        self._collect_notes(id, b"", notes)
        return self._add("tree", _tree_data(notes))

    def _collect_notes(self, id: str, prefix: bytes, into: list[tuple[bytes, bytes, str]]) -> None:
        """Collect the notes below a tree, whose folders are named by the first digits of the commits' ids."""
        for mode, name, entry in tree_entries(self._object(id).data, len(id) // 2):
            if mode == TREE:
                self._collect_notes(entry, prefix + name, into)
                continue
            about = (prefix + name).decode("utf-8", "replace")
            subject = self.commits.get(about) or (about if about in self.kept else None)
            if subject is not None:
                note = self._object(entry)
                into.append((mode, subject.encode(), self._same(note, self._message(note.data))))


def _links_in(lines: Iterable[bytes]) -> set[str]:
    return {claimed_link(data).hex() for line in lines for _, data in objects_in(line)}


def _tree_data(entries: list[tuple[bytes, bytes, str]]) -> bytes:
    """Return a tree: git sorts a folder as if its name ended in a slash."""
    ordered = sorted(entries, key=lambda entry: entry[1] + b"/" if entry[0] == TREE else entry[1])
    return b"".join(mode + b" " + name + b"\0" + bytes.fromhex(id) for mode, name, id in ordered)


_CARRIED = ("config", "config.worktree", "description", "hooks", "modules", "lfs", "info/exclude", "info/attributes",
            "info/sparse-checkout")  # fmt: skip
"""Other parts of ``.git`` to copy: people's settings, and other repositories."""
_TEXT_CACHE = "refs/notes/textconv/"
_NOTES = "refs/notes/"
_REPLACED = "refs/replace/"


@dataclass(frozen=True)
class Rebuilt:
    """What became of the history."""

    commits: dict[str, str]
    """Old id to new id of all commits."""
    signatures: int
    cleaned: int
    """Messages and author names that contained something."""
    renamed: int
    """Refs whose name contained the person."""
    dropped: tuple[str, ...]
    """Refs that nothing was left of, or that stood for old ids."""

    def counts(self) -> dict[str, int]:
        """Return counts of what was removed besides lines."""
        changed = sum(old != new for old, new in self.commits.items())
        return {
            "commits_rewritten": changed, "messages": self.cleaned, "signatures": self.signatures,
            "refs_renamed": self.renamed, "refs_dropped": len(self.dropped),
        }  # fmt: skip


def rebuild(old: Repository, folder: Path, remainder: Remainder, gone: Iterable[str] = ()) -> Rebuilt:
    """Create the repository ``folder`` with the history, refs, stash and index of ``old``, without the person.

    ``gone`` are the links of lines that go elsewhere, such as on a server; no file of heads names them any more.
    """
    new = _initialised(folder, old.algorithm())
    pack = folder / "objects" / "pack" / "tmp_erase"
    with old.git.reader() as reader, PackWriter(pack, old.algorithm()) as writer:
        history = History(reader.read, writer.add, remainder, gone)
        builder = _Builder(old, new, history, remainder)
        builder.rewrite()
    _take_in(old, new, pack, len(writer), history.kept)
    builder.write_refs()
    new.run("repack", "-a", "-d", "-q")  # after the refs: it drops unreferenced objects
    new.run("fsck", "--connectivity-only", "--no-dangling", "--no-progress")
    _carry_along(old.folder, folder)
    return Rebuilt(dict(history.commits), history.signatures, history.cleaned, builder.renamed, tuple(builder.dropped))


class _Builder:
    """One rewriting: first the objects, then their references."""

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
        """Return those of ``ids`` that lead to a commit: rev-list accepts neither a blob nor a tag of one."""
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
        """Return the new name of a ref; two that contained nothing but the person differ by a number."""
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
    """Add the rewritten objects, and copy those that stay as they are."""
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
            shutil.copytree(source, target, symlinks=True, copy_function=partial(os.link, follow_symlinks=False))
        else:
            shutil.copy2(source, target, follow_symlinks=False)


_KINDS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
_HEADER = struct.Struct(">4sII")


class PackWriter:
    """Writes objects for a new repository; the same object is written once."""

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
        """Add the number of objects and the digest of everything before it."""
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
