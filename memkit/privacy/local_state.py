"""A machine's data on a person in the state of a store: sessions, steps, counts, the audit log, torn lines."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from memkit.privacy.belonging import SUFFIX, Belonging, Subject, holds_lines, objects_in, strings
from memkit.privacy.filed import Texts
from memkit.privacy.needles import Needles
from memkit.privacy.scan import Scanner, WordTraces, is_text
from memkit.runtime.memory.index.catalogue import SUFFIXES
from memkit.runtime.memory.log.clone import foreign_states, state_folder
from memkit.runtime.memory.record.record import file_stem, user_corpus
from memkit.runtime.memory.tiers.sessions import name_digest, session_digest

SESSION = ".json"
_AT_ONCE, _LONG = 1 << 16, 1 << 20
"""Bytes of the remainder that are read at once, and that are held in memory."""
_OWN_FOLDERS = ("erase", "unproven", "written.json")
"""The data of erasures themselves, and the list of where they have to look."""
_COUNTED = {"sessions": "sessions", "context": "sessions"} | {
    name: name for name in ("checkpoints", "audit", "torn", "access")
}


@dataclass(frozen=True)
class StateChange:
    """One file of the state that changes."""

    path: Path
    content: bytes | Callable[[], Iterable[bytes]] | None
    """Its remainder, or a callable that returns it piece by piece; None to remove it."""
    kind: str
    """The kind under which the certificate counts it."""


class LocalState:
    """The files of one store's state, in view of one person.

    Files left there by other clones, or planted by somebody, record nothing that was said; they are removed as well.
    """

    def __init__(self, store: Path, subject: Subject) -> None:
        self._folder, self._others = state_folder(store), foreign_states(store)
        self._subject = subject
        self._user_id, self._opened = subject.user_id, subject.opened
        self._digest = name_digest(subject.user_id)

    def texts(self) -> Iterator[str]:
        """Yield the person's words in sessions and searches, as far as they are in clear."""
        for path in _files(self._folder):
            for data in _objects(path):
                if self._is_own(path, data):
                    yield from filter(self._is_about, _words_of(self._opened(data)))

    def told(self) -> Iterator[str]:
        """Yield words in sessions, by anyone, and in searches that refer to the subject of the erasure."""
        for path in _files(self._folder):
            for data in filter(partial(self._is_own, path), _objects(path)):
                opened = self._opened(data)
                spoken = (text for text in (opened.get("text"), opened.get("said")) if isinstance(text, str))
                yield from filter(self._subject.is_named, chain(_words_of(opened), spoken))

    def texts_of_others(self) -> Iterator[str]:
        """Yield the words of the others there."""
        for path in _files(self._folder):
            for data in _objects(path):
                if data.get("user_id"):
                    own = self._is_own(path, data)
                    yield from (text for text in _words_of(self._opened(data)) if not (own and self._is_about(text)))

    def session_ids(self) -> set[str]:
        """Return the sessions in which the person spoke; empty if the user stays."""
        return set() if self._subject.called else {
            str(data["session_id"])
            for path in _files(self._folder) for data in _objects(path)
            if self._is_own(path, data) and data.get("session_id")
        }  # fmt: skip

    def changes(self, belonging: Belonging, scanner: Scanner, sessions: set[str]) -> Iterator[StateChange]:
        """Yield every file that is the person's or holds something of theirs, with its remainder."""
        named = (self._digest, file_stem(user_corpus(self._user_id)), user_corpus(self._user_id).encode().hex())
        own = {*named, *(session_digest(self._user_id, session) for session in sessions)}
        own = set() if self._subject.called else own
        everybodys = (self._folder, *self._others)
        for path, parts in ((path, path.relative_to(state).parts) for state in everybodys for path in _files(state)):
            with suppress(FileNotFoundError):  # whoever closes a database removes the files beside it
                yield from self._changes_of(path, parts, own, belonging, scanner)

    def _changes_of(
        self, path: Path, parts: Sequence[str], own: Collection[str], belonging: Belonging, scanner: Scanner
    ) -> Sequence[StateChange]:
        """Return the change of a file, if any."""
        kind = _COUNTED.get(parts[0], "other")
        if any(part.partition(".")[0] in own for part in parts):
            return [StateChange(path, None, kind)]
        if holds_lines(path.name) and parts[0] not in ("torn", "access"):
            left = self._left(path, belonging, scanner, torn=parts[0] == "audit")
            if left.is_text:
                return [StateChange(path, left.result(), kind)] if left.is_changed else []
        content = path.read_bytes()
        rest = self._rest(path, parts[0], content, belonging, scanner)
        return [StateChange(path, rest, kind)] if rest != content else []

    def _left(self, path: Path, belonging: Belonging, scanner: Scanner, *, torn: bool) -> _Left:
        """Return the remainder of lines of JSON, processed one by one: an audit log is as long as its month."""
        left = _Left(self._folder if self._folder.is_dir() else None)
        with path.open("rb") as file:
            left.is_text = file.peek(1)[:1] in (b"{", b"")  # else a needle may extend across lines
            for line in file if left.is_text else ():
                rest = belonging.rest(line, torn=torn)
                if rest and scanner.finds(rest, words=WordTraces.OWN):
                    rest = _redacted(rest, belonging.ids, scanner.needles)
                    rest = b"" if scanner.finds(rest, words=WordTraces.OWN) else rest
                left.add(line, rest)
                if not left.is_text:
                    break
        return left

    def _rest(self, path: Path, folder: str, content: bytes, belonging: Belonging, scanner: Scanner) -> bytes | None:
        """Return the remainder of a file; None if nothing is left."""
        if not content:
            return content  # a lock
        if folder == "torn":
            return belonging.rest(content, torn=True) or None
        if folder == "access":
            return _counts_without(path, content, belonging.ids, scanner)
        if self._is_whole(content):
            return None
        if holds_lines(path.name):
            content = belonging.rest(content, torn=folder == "audit")
        if content and scanner.finds(content, words=WordTraces.OWN):
            content = _redacted(content, belonging.ids, scanner.needles)
        return content if content and not scanner.finds(content, words=WordTraces.OWN) else None

    def _is_whole(self, content: bytes) -> bool:
        """Return whether the file is one object of the person's, such as a session, sealed or not."""
        try:
            data = json.loads(content)
        except ValueError:
            return False
        return isinstance(data, dict) and self._subject.has(data)

    def _is_about(self, text: str) -> bool:
        return not self._subject.called or self._subject.is_named(text)

    def _is_own(self, path: Path, data: Mapping[str, Any]) -> bool:
        return data.get("user_id") == self._user_id or self._digest in path.parts


class _Left:
    """The remainder of a file's lines, in an unnamed file."""

    def __init__(self, folder: Path | None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - it lives as long as this
        self._says_something = False
        self.is_changed, self.is_text = False, True

    def add(self, line: bytes, rest: bytes) -> None:
        """Add the remainder of a line."""
        self.is_changed = self.is_changed or rest != line
        self.is_text = self.is_text and is_text(line)
        self._says_something = self._says_something or bool(rest.strip())
        self._file.write(rest)

    def result(self) -> bytes | Callable[[], Iterable[bytes]] | None:
        """Return the remainder for a change: a long one is not held in memory, a short one keeps no file open."""
        if not self._says_something:
            return None
        return self._content if self._file.tell() > _LONG else b"".join(self._content())

    def _content(self) -> Iterator[bytes]:
        self._file.seek(0)
        while some := self._file.read(_AT_ONCE):
            yield some


def _files(folder: Path) -> list[Path]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return [path for path in found if path.relative_to(folder).parts[0] not in _OWN_FOLDERS]


def _objects(path: Path) -> Iterator[Mapping[str, Any]]:
    if path.suffix not in (SUFFIX, SESSION):
        return
    with suppress(FileNotFoundError), path.open("rb") as file:
        for line in file if path.suffix == SUFFIX else [file.read()]:
            if b'"user_id"' in line:
                yield from (data for _, data in objects_in(line.removesuffix(b"\n")))


def _words_of(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a person said, asked or named; an assistant's phrases are in its source as well."""
    spoken = data.get("text") if data.get("role", "user") == "user" else None
    held = [
        message.get("content")
        for message in data.get("messages") or ()
        if message.get("role") == "user" and not message.get("name")
    ]
    working = {key: value for key, value in (data.get("working") or {}).items() if key != "at"}  # when it was stored
    for text in (spoken, data.get("query"), data.get("name"), *held, *strings(working)):
        if isinstance(text, str):
            yield text


def _redacted(content: bytes, ids: Texts, needles: Needles) -> bytes:
    """Return JSON, whole or in lines, without the erased texts and ids that somebody else was shown; else nothing."""
    try:
        documents = [json.loads(line) for line in content.split(b"\n") if line.strip()]
    except ValueError:
        return b""
    lines = [
        json.dumps(_pruned(data, ids, needles, words=_owner(data) is None), ensure_ascii=False, sort_keys=True)
        for data in documents
    ]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")


def _owner(data: Any) -> Any:
    return data.get("user_id") if isinstance(data, dict) else None


def _pruned(value: Any, ids: Texts, needles: Needles, *, words: bool) -> Any:
    if isinstance(value, str):
        return needles.redacted(value, words=words)
    if isinstance(value, dict):
        return {key: _pruned(item, ids, needles, words=words) for key, item in value.items()}
    if isinstance(value, list):
        named = (item.get("id") if isinstance(item, dict) else item for item in value)
        gone = [isinstance(name, str) and name in ids for name in named]
        return [
            _pruned(item, ids, needles, words=words) for item, is_gone in zip(value, gone, strict=True) if not is_gone
        ]
    return value


def _counts_without(path: Path, content: bytes, ids: Texts, scanner: Scanner) -> bytes | None:
    """Return another user's access counts without those of erased shared records, leaving no byte of them."""
    database = path.with_name(path.name.removesuffix("-wal").removesuffix("-shm"))
    together = [database.with_name(database.name + suffix) for suffix in SUFFIXES]
    if not any(map(scanner.finds, _contents(together))):
        return content
    if path != database:
        return None
    with tempfile.TemporaryDirectory(prefix="memkit-erase-") as folder:
        copy = Path(folder) / "access.sqlite"
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
            counted = [id for (id,) in target.execute("SELECT id FROM access") if id in ids]
            target.executemany("DELETE FROM access WHERE id=?", [(id,) for id in counted])
            target.commit()
            target.execute("VACUUM")
        return copy.read_bytes()


def _contents(paths: Iterable[Path]) -> Iterator[bytes]:
    """Yield the contents of those files that are there."""
    for path in paths:
        with suppress(FileNotFoundError):
            yield path.read_bytes()
