"""The log as a commit holds it: what was believed then, for reading only."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import NoReturn

from memkit.errors import UsageError
from memkit.runtime.memory.log.log import OneWriter, ShardStat, SharedShards, Span, Users, Written
from memkit.runtime.memory.log.shards import MONTH, SHARD_LIMIT, shard_name
from memkit.runtime.memory.log.witness import Witness
from memkit.runtime.memory.record.lines import EMPTY, JSON
from memkit.store.git import Git
from memkit.store.git_objects import REGULAR, GitObjects, TreeEntry
from memkit.store.layout import MANIFEST

_SHARD = re.compile(rf"archive/(?P<shard>{MONTH}/[^/]+\.jsonl)")
KEPT = 4
"""So many commits keep the index that a look at them made."""


@dataclass(frozen=True)
class Moment:
    """A commit that somebody looks back to."""

    commit: str
    at: datetime
    """When it was made."""
    holds_store: bool = True
    """Whether there was a store at all."""


def moment_of(git: Git, name: str) -> Moment:
    """Return the commit that a person calls ``name``.

    Raises:
        EnvironmentFault: The store lies in no repository.
        UsageError: There is no such commit.
    """
    objects = GitObjects(git)
    commit = objects.commit_id(name)
    seconds = git.run("log", "--no-walk", "--no-show-signature", "--format=%ct", commit).strip()
    return Moment(commit, datetime.fromtimestamp(int(seconds), UTC), objects.has(commit, MANIFEST))


class TreeLog(SharedShards):
    """The shards of a commit."""

    def __init__(self, git: Git, commit: str) -> None:
        self._objects = GitObjects(git)
        self._commit = commit
        self.witness = Witness(git.root, has_heads=False)

    def shards(self, users: Users = None) -> dict[str, ShardStat]:
        """Return every shard of the commit; links are not followed."""
        return {shard: ShardStat(entry.size, 0, int(entry.id[:15], 16)) for shard, entry in self._entries.items()}

    def read(self, shard: str, offset: int = 0, size: int = -1) -> bytes:
        """Return bytes of a shard; one that the commit does not have has none."""
        data = self._contents.get(self._entries[shard].id, b"") if shard in self._entries else b""
        return data[offset : None if size < 0 else offset + size]

    def batch(self, users: Users = None) -> NoReturn:
        """Refuse: what was believed then is not changed."""
        raise UsageError(f"The commit {self._commit[:12]} is history, and nothing can be written there.")

    @cached_property
    def _entries(self) -> dict[str, TreeEntry]:
        found = {}
        for entry in self._objects.tree(self._commit, "archive"):
            match = _SHARD.fullmatch(entry.path)
            if match and entry.mode != "120000":
                found[match["shard"]] = entry
        return found

    @cached_property
    def _contents(self) -> dict[str, bytes]:
        return self._objects.read_many(entry.id for entry in self._entries.values())


def index_folder(cache: Path, commit: str) -> Path:
    """Return where the index of a commit lies, and delete those of commits that nobody looked at for longest."""
    own = cache / "at" / commit
    with suppress(OSError):  # a store that cannot be written is read all the same
        own.mkdir(parents=True, exist_ok=True)
        own.touch()
        others = sorted(own.parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in others[KEPT:]:
            shutil.rmtree(path, ignore_errors=True)
    return own


class BranchLog(SharedShards):
    """The shards of a commit, read only, and beside them those of a new writer, in memory."""

    def __init__(self, committed: Mapping[str, bytes], *, month: str, writer: str) -> None:
        self._committed = committed
        self._prefix = f"{month}/"
        self.writer = writer
        self.witness = None
        self.added: dict[str, bytes] = {}
        """The new shards by name, in the order in which they were begun."""

    @classmethod
    def at(cls, objects: GitObjects, commit: str, *, month: str, writer: str) -> BranchLog:
        """Return the log of a commit."""
        found = {
            match["shard"]: entry.id
            for entry in objects.tree(commit, "archive")
            if entry.mode == REGULAR and (match := _SHARD.fullmatch(entry.path))
        }
        contents = objects.read_many(found.values())
        return cls({shard: contents[id] for shard, id in found.items()}, month=month, writer=writer)

    def shards(self, users: Users = None) -> dict[str, ShardStat]:
        """Return every shard there is."""
        return {shard: ShardStat(len(data), 0, 0) for shard, data in {**self._committed, **self.added}.items()}

    def read(self, shard: str, offset: int = 0, size: int = -1) -> bytes:
        """Return bytes of a shard; a shard that is not there has none."""
        data = self.added.get(shard) or self._committed.get(shard, b"")
        return data[offset : None if size < 0 else offset + size]

    @contextmanager
    def batch(self, users: Users = None) -> Iterator[BranchBatch]:
        """Give a batch that adds to the new shards."""
        yield BranchBatch(self)

    def name(self, part: int) -> str:
        """Return the name of one of the new shards, counted from 1."""
        return self._prefix + shard_name(self.writer, part)


class BranchBatch(OneWriter):
    """Lines on their way to the new shards."""

    def __init__(self, log: BranchLog) -> None:
        self._log = log
        self.writer = log.writer
        self._staged: dict[str, bytearray] = {}

    def stage(self, line: bytes, data: Mapping[str, JSON] = EMPTY) -> Span:
        """Return where ``line`` will lie; a full shard is followed by the next one."""
        part = max(1, len({**self._log.added, **self._staged}))
        if (end := self._end(part)) and end + len(line) > SHARD_LIMIT:
            part, end = part + 1, 0
        shard = self._log.name(part)
        self._staged.setdefault(shard, bytearray()).extend(line)
        return Span(shard, end, len(line))

    def flush(self) -> Mapping[str, Written]:
        """Add what was staged."""
        written = {}
        for shard, lines in self._staged.items():
            before = self._log.added.get(shard, b"")
            self._log.added[shard] = whole = before + lines
            written[shard] = Written(len(before), bytes(lines), ShardStat(len(whole), 0, 0))
        self._staged = {}
        return written

    def _end(self, part: int) -> int:
        shard = self._log.name(part)
        return len(self._log.added.get(shard, b"")) + len(self._staged.get(shard, b""))
