"""Scan places for remains of a person, and write the certificate of an erasure."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote_to_bytes

from memkit.errors import UsageError
from memkit.privacy.belonging import ARCHIVE, SUFFIX, Belonging, holds_lines, objects_in, owners_named
from memkit.privacy.filed import Lately
from memkit.privacy.needles import REDACTED, RUN, Needles
from memkit.resources import travelling
from memkit.store.git_process import GitObject, Plumbing, tree_entries

DEEPEST = 3
"""The most nested encodings that are opened: base64 of gzip of UTF-16 is."""
LARGEST = 64 * 1024 * 1024
"""The most bytes of a compressed member that are opened."""

_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}")
_LONG = 4 * 1024 * 1024
"""Bytes of a file of lines that are examined together."""
_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}){8,}")
_PERCENT = re.compile(rb"%[0-9a-fA-F]{2}")
_ESCAPE = re.compile(rb'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_STRETCH = re.compile(rb"[\t\n\r\x20-\x7e\x80-\xff]{6,}")
"""What can be text in some encoding of one byte a letter."""
_MEMBER = re.compile(rb"\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]")
_OWN_RECORD = re.compile(r"memkit_(?:agent|runtime)-[^/]+\.dist-info/RECORD")
_RECORDED = re.compile(rb",sha256=([A-Za-z0-9_-]{43}),")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_PLAIN = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def readings(data: bytes, depth: int = 0) -> Iterator[str]:
    """Yield ``data`` decoded as text in every possible way."""
    members = _members(data) if depth < DEEPEST and data.startswith(b"PK\x03\x04") else None
    if members is not None:  # the bytes around the members carry no content
        for member in members:
            yield from readings(member, depth + 1)
        return
    yield from _texts(data)
    if depth < DEEPEST:
        for inner in _unwrapped(data):
            yield from readings(inner, depth + 1)


def _members(data: bytes) -> list[bytes] | None:
    """Return names, comments and contents of a zip archive, such as a wheel; None if it cannot be opened.

    memkit's own files say nothing about anybody: a store's checks and a project may hold it as a wheel. Exact copies of
    the installed ones count, and what a wheel of another version lists with its digest, as an upgrade leaves them.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = archive.infolist()
            if sum(member.file_size for member in found) > LARGEST:
                return None
            said = [part for member in found for part in (member.filename.encode(), member.comment, member.extra)]
            records = (archive.read(member) for member in found if _OWN_RECORD.fullmatch(member.filename))
            own = _of_memkit().union(*map(_listed, records))
            contents = (content for content in map(archive.read, found) if _digest(content) not in own)
            return [b"\n".join([archive.comment, *said]), *contents]
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, ValueError, EOFError):
        return None


@cache
def _of_memkit() -> frozenset[bytes]:
    """Return the digests of the files of the installed memkit."""
    package = (path for path in Path(__file__).parents[1].rglob("*") if path.is_file() and path.suffix != ".pyc")
    files = [*package, *(path for _, path in travelling())]
    try:
        about = distribution("memkit-agent").read_text("METADATA") or ""
    except PackageNotFoundError:
        about = ""
    return frozenset([_digest(about.encode()), *(_digest(path.read_bytes()) for path in files)])


def _listed(record: bytes) -> Iterator[bytes]:
    """Yield the digests in a wheel's list of its files."""
    return (base64.urlsafe_b64decode(digest + b"=") for digest in _RECORDED.findall(record))


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def is_text(data: bytes, errors: str = "strict") -> bool:
    """Return whether ``data`` is UTF-8."""
    try:
        data.decode("utf-8", errors)
    except UnicodeDecodeError:
        return False
    return True


def _texts(data: bytes) -> Iterator[str]:
    try:
        yield data.decode()
        wide = b"\0" in data
    except UnicodeDecodeError:
        yield data.decode(errors="replace")
        yield data.decode("latin-1")
        wide = True
    if wide:
        for start in (0, 1):
            yield data[start:].decode("utf-16-le", "replace")
            yield data[start:].decode("utf-16-be", "replace")


def _unwrapped(data: bytes) -> Iterator[bytes]:
    # Of bytes that are no text only the stretches with an escape are read again: a photo has some by chance, and as a
    # whole it would be read a dozen times over.
    written = [data] if is_text(data) else _STRETCH.findall(data)
    if escaped := b"\n".join(stretch for stretch in written if b"\\" in stretch and _ESCAPE.search(stretch)):
        yield _unescaped(escaped)
    if quoted := b"\n".join(stretch for stretch in written if b"%" in stretch and _PERCENT.search(stretch)):
        yield unquote_to_bytes(quoted.replace(b"+", b" "))
    for match in _HEX.finditer(data):
        yield from filter(_says_something, [binascii.unhexlify(match[0])])
    for match in _BASE64.finditer(data):
        letters = match[0].translate(_URL_SAFE)
        # Encoded data may begin anywhere in a run of such letters.
        yield from filter(_says_something, (_decoded(letters[start:]) for start in range(4)))
    for match in _MEMBER.finditer(data):
        yield from _inflated(data[match.start() :])


def _decoded(letters: bytes) -> bytes:
    """Return base64-decoded letters, even if their padding is missing."""
    if len(letters) % 4 == 1:  # no encoder leaves one letter over
        letters = letters[:-1]
    return base64.b64decode(letters + b"=" * (-len(letters) % 4))


def _unescaped(data: bytes) -> bytes:
    """Return ``data`` with JSON's escapes resolved and surrogate pairs joined."""

    def meant(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return chr(int(match[1], 16)).encode("utf-8", "surrogatepass")
        return _PLAIN.get(match[2], match[2])

    joined = _ESCAPE.sub(meant, data)
    if b"\xed" not in joined:
        return joined
    paired = joined.decode("utf-8", "surrogatepass" if is_text(joined, "surrogatepass") else "replace")
    return paired.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _says_something(data: bytes) -> bool:
    """Return whether decoded bytes can be text or a compressed member; digests and ids decode to noise."""
    if b"\0" in data or _MEMBER.search(data):
        return True
    for cut in range(4):  # a character may be cut at either end
        try:
            return data[cut:].decode().strip().isprintable()
        except UnicodeDecodeError as error:
            whole = data[cut : cut + error.start]
            if error.start >= len(data) - cut - 3 and whole.decode().strip().isprintable():
                return True
    return False


def _inflated(data: bytes) -> Iterator[bytes]:
    machine = zlib.decompressobj(31 if data.startswith(b"\x1f\x8b") else 15)
    try:
        inner = machine.decompress(data, LARGEST)
    except zlib.error:
        return
    if inner:
        yield inner


@dataclass(frozen=True)
class Remainder:
    """One rule for the history, the index and the work tree, so that git sees the same changes afterwards as before."""

    belonging: Belonging
    needles: Needles
    redact_files: bool = False
    """Whether quotes are also removed from files that people wrote."""
    of_tools: frozenset[str] = frozenset()
    """The files that tools write, whose lines name no user, by their paths from the top."""

    def reads(self, path: str) -> bool:
        """Return whether the content of a file at ``path`` can change."""
        *folders, name = path.split("/")
        return self.redact_files or ARCHIVE in folders or name.endswith(SUFFIX) or path in self.of_tools

    def kind(self, path: str) -> str:
        """Return a path that represents all paths whose content is treated alike."""
        if path in self.of_tools:
            return path
        *folders, name = path.split("/")
        return f"{ARCHIVE if ARCHIVE in folders else '.'}/{SUFFIX if name.endswith(SUFFIX) else 'file'}"

    def content(self, data: bytes, path: str) -> bytes:
        """Return the remainder of the file at ``path``, for which its ``kind`` suffices."""
        *folders, name = path.split("/")
        in_archive, lines = ARCHIVE in folders, name.endswith(SUFFIX)
        if in_archive or lines:
            data = self.belonging.rest(data, torn=in_archive and lines)
        if in_archive and lines:
            return data
        if path in self.of_tools:
            return self._of_tool(data)
        return self._redacted(data, words=False) if self.redact_files else data

    def message(self, text: str, *, name: bool = True, words: bool = True) -> str:
        """Return a message without the person's texts and name."""
        return self.needles.redacted(text, name=name, words=words)

    def name(self, name: str, *, words: bool = False) -> str:
        """Return the name of a branch, a tag or a file without the person in it."""
        return self.needles.redacted(name, words=words).replace(REDACTED, REDACTED.strip("[]"))

    def path(self, path: str) -> str:
        """Return a path without the person in it."""
        return "/".join(map(self.name, path.split("/")))

    def _of_tool(self, data: bytes) -> bytes:
        """Return a tool's output without the lines that concern the person; in prose without the words.

        Content that is not text stays as it is, and is reported afterwards.
        """
        if b"\0" in data:
            return data
        kept = []
        for line in data.splitlines(keepends=True):
            said = any(self.needles.found_in(text, words=True) for text in readings(line))
            if not said:
                kept.append(line)
            elif not objects_in(line):
                kept.append(self._redacted(line, words=True))
        return b"".join(kept)

    def _redacted(self, data: bytes, *, words: bool) -> bytes:
        text = data.decode("utf-8", "surrogateescape")
        return self.message(text, name=False, words=words).encode("utf-8", "surrogateescape")


_AUTHORSHIP = re.compile(rb"^(?:author|committer|tagger) (.*>).*$", re.MULTILINE)
_NOT_ENTERED = ("node_modules",)


class _Content:
    """A file's content, for repeated reading: whole, or for long lines of JSON a few whole lines at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            if not holds_lines(self._path.name) or os.fstat(file.fileno()).st_size <= _LONG or not self._is_lines(file):
                yield file.read()
                return
            yield from _some_lines(file)

    def _is_lines(self, file: IO[bytes]) -> bool:
        """Return whether it is text and begins as JSON does, so that it is examined line by line anyway."""
        is_lines = file.read(1) == b"{" and all(map(is_text, _some_lines(file)))
        file.seek(0)
        return is_lines


def _some_lines(file: IO[bytes]) -> Iterator[bytes]:
    while some := file.read(_LONG):
        yield some + file.readline()


@dataclass
class Place:
    """The result of scanning one place."""

    place: str
    items: int = 0
    traces: int = 0
    where: list[str] = field(default_factory=list)
    """The traces; names of files and ids of objects."""
    words: list[str] = field(default_factory=list)
    """People's files that contain single words of the person's and no more, which proves nothing."""

    def count(self, name: str, found: bool, *, words: bool = False) -> None:
        """Record one item."""
        self.items += 1
        if found:
            self.traces += 1
            self.where.append(name)
        elif words:
            self.words.append(name)


class WordTraces(Enum):
    """Where single words count as traces as well."""

    NONE = "nothing: people wrote it"
    OWN = "lines that name nobody else"
    ALL = "everything"


class Scanner:
    """Looks for needles; a line that many objects share is read once, and so is a file with its object.

    Single words are traces in what memkit wrote. In what people wrote they are only reported, and accuse nobody.
    """

    def __init__(self, needles: Needles) -> None:
        self.needles = needles
        self._found_lately = Lately(self._found_in)

    def finds(self, data: bytes, *, words: WordTraces = WordTraces.NONE) -> bool:
        """Return whether ``data`` contains a trace, however it is encoded."""
        if not data.startswith(b"{"):
            return self._found_lately(data, words is not WordTraces.NONE)
        # Packed data within lines that are not text may contain bytes that look like line ends.
        is_packed = not is_text(data) and self._found_in(data, False)
        return is_packed or any(self._line(line, words) for line in data.split(b"\n"))

    def finds_name(self, name: str, *, words: WordTraces = WordTraces.NONE) -> bool:
        """Return whether the name of a file or a ref contains a trace."""
        return self._found_in(name.encode("utf-8", "surrogateescape"), words is not WordTraces.NONE)

    def files(
        self, place: Place, root: Path, paths: Iterable[Path], is_own: Callable[[Path], bool] = lambda path: True
    ) -> Place:
        """Scan the names and contents of files; ``is_own`` returns whether memkit wrote a file.

        Links are represented by their targets.
        """
        for path in paths:
            name = str(path.relative_to(root))
            with suppress(FileNotFoundError):  # gone meanwhile, as is a database's file when its last reader closes it
                content = [str(path.readlink()).encode()] if path.is_symlink() else _Content(path)
                self._count(place, name, is_own(path), partial(self._finds_in_file, name, content))
        return place

    def objects(self, place: Place, git: Plumbing) -> Place:
        """Scan every object of a repository, including unreachable ones; lines of JSON are memkit's."""
        for found in git.all_objects():
            is_own = found.kind in ("commit", "tag") or found.data.startswith(b"{")
            self._count(place, f"{found.kind} {found.id}", is_own, partial(self._finds_in_object, found))
        return place

    def names(self, place: Place, names: Iterable[str]) -> Place:
        """Scan names alone."""
        for name in names:
            place.count(name, self.finds_name(name, words=WordTraces.OWN))
        return place

    def _count(self, place: Place, name: str, is_own: bool, finds: Callable[[WordTraces], bool]) -> None:
        found = finds(WordTraces.ALL)
        is_trace = found and finds(WordTraces.OWN if is_own else WordTraces.NONE)
        place.count(name, is_trace, words=found)

    def _finds_in_file(self, name: str, content: Iterable[bytes], words: WordTraces) -> bool:
        return self.finds_name(name, words=words) or any(self.finds(piece, words=words) for piece in content)

    def _finds_in_object(self, found: GitObject, words: WordTraces) -> bool:
        if found.kind == "tree":
            names = [name for _, name, _ in tree_entries(found.data, len(found.id) // 2)]
            return self._found_in(b"\n".join(names), words is WordTraces.ALL)
        if found.kind in ("commit", "tag"):  # a commit's author is no memory of theirs, unless it is a quote
            people = b"\n".join(_AUTHORSHIP.findall(found.data))
            quoted = any(map(self.needles.quoted_in, readings(people)))
            return quoted or self._found_in(_AUTHORSHIP.sub(b"", found.data), words is not WordTraces.NONE)
        return self.finds(found.data, words=words)

    def _line(self, line: bytes, words: WordTraces) -> bool:
        of_others = words is WordTraces.OWN and owners_named(line) - {self.needles.user_id}
        return self._found_lately(line, words is not WordTraces.NONE and not of_others)

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
    """Yield the files in ``.git`` other than the objects, which are read through git."""
    objects = folder / "objects"
    for path in files_below(folder, without=(folder / "modules", folder / "lfs")):
        inner = path.relative_to(objects).parts if path.is_relative_to(objects) else ()
        is_loose = len(inner) == 2 and len(inner[0]) == 2
        if not is_loose and path.suffix not in (".pack", ".idx", ".rev", ".bitmap"):
            yield path


def holds_messages(path: Path) -> bool:
    """Return whether git stores messages, which memkit may have written, in a file, given its path in git's folder.

    Other files hold settings, samples in plain English and digests, in which any word may occur.
    """
    return path.parts[0] == "logs" or path.name.endswith(("_MSG", "_EDITMSG"))


METHOD = (
    "Every object of the history that contained erased text was rewritten beside the old repository, which the result "
    "replaced.",
    f"Then every object, ref and file was searched for runs of {RUN} letters, values and the name from what was "
    "removed, in UTF-8, UTF-16, JSON escapes, base64, hex and URL encoding, and inside zlib and gzip.",
)
NOT_SCANNED = (
    "backups, snapshots and copies of this folder made elsewhere",
    "free blocks of the disk: an SSD may keep what was deleted until it reuses the block",
    "virtual environments, node_modules; other repositories and large files (lfs) are named if there are any",
    "authors of commits and tags: their names are kept, unless they quote a text",
    "the keyed digests that this clone keeps of what is not proven yet",
)


WENT_WITH_KEY = "it only ever had sealed texts, and their key is destroyed; dates and the user's name stay there"


def person_digest(key: bytes, user_id: str) -> str:
    """Return the certificate's name for a person: nobody without the store's key can find the real one."""
    return hmac.digest(key, b"certificate\0" + user_id.encode("utf-8", "surrogatepass"), "sha256").hex()


@dataclass(frozen=True)
class Certificate:
    """The statements about one erasure."""

    digest: str
    """The person, as ``person_digest`` names them."""
    at: datetime
    versions: Mapping[str, str]
    """The versions of the programs involved."""
    heads: Mapping[str, str | None]
    """The checked-out commit before and after."""
    removed: Mapping[str, int]
    searched: Mapping[str, int]
    """How many traces of each kind were looked for."""
    scanned: Sequence[Place]
    unprovable: Sequence[Mapping[str, str]]
    """What is left, and with whom."""
    sealed_copies: Sequence[str]
    """Remotes whose copies became unreadable with the key."""
    tombstones: Mapping[str, Any]

    def to_data(self) -> dict[str, Any]:
        """Return the certificate's data as written."""
        traces = sum(place.traces for place in self.scanned)
        places = [{"place": place.place, "items": place.items, "traces": place.traces} for place in self.scanned]
        return {
            "schema": "memkit.certificate/1",
            "user": self.digest,
            "at": self.at.isoformat().replace("+00:00", "Z"),
            "versions": dict(self.versions),
            "heads": dict(self.heads),
            "removed": dict(self.removed),
            "searched": dict(self.searched),
            "scanned": places,
            "unprovable": [dict(item) for item in self.unprovable],
            "sealed_copies": [f"{name}: {WENT_WITH_KEY}" for name in self.sealed_copies],
            "tombstones": dict(self.tombstones),
            "method": list(METHOD),
            "not_scanned": list(NOT_SCANNED),
            "result": "traces left" if traces else "incomplete proof" if self.unprovable else "nothing found",
        }


def require_place(out: Path, work_tree: Path | None, *, ignored: bool) -> None:
    """Raise ``UsageError`` unless a certificate can be written to ``out``: new, and not where git would add it."""
    if out.exists():
        raise UsageError(f"{out} already exists. Give --out a new file.")
    if not out.parent.is_dir():
        raise UsageError(f"{out.parent} is not a folder. Create it, or choose another --out.")
    if work_tree is not None and out.resolve().is_relative_to(work_tree.resolve()) and not ignored:
        raise UsageError(f"{out} is inside {work_tree}, so git would track the certificate. Write it outside.")


def as_text(data: Mapping[str, Any]) -> str:
    """Return the certificate as readable JSON."""
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"
