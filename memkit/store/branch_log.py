"""The archive as a commit holds it, with lines added that are on no disk yet: what a branch is prepared from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from memkit.runtime.memory.log.log import ShardStat, Span, Written
from memkit.runtime.memory.log.shards import MONTH, SHARD_LIMIT, shard_name
from memkit.store.git_objects import REGULAR, GitObjects

_SHARD = re.compile(rf"archive/(?P<shard>{MONTH}/[^/]+\.jsonl)")


class BranchLog:
    """The shards of a commit, read only, and beside them those of a new writer, in memory."""

    def __init__(self, committed: Mapping[str, bytes], *, month: str, writer: str) -> None:
        self._committed = committed
        self._prefix = f"{month}/"
        self._writer = writer
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

    def shards(self) -> dict[str, ShardStat]:
        """Return every shard there is."""
        return {shard: ShardStat(len(data), 0, 0) for shard, data in {**self._committed, **self.added}.items()}

    def read(self, shard: str, offset: int = 0, size: int = -1) -> bytes:
        """Return bytes of a shard; a shard that is not there has none."""
        data = self.added.get(shard) or self._committed.get(shard, b"")
        return data[offset : None if size < 0 else offset + size]

    @contextmanager
    def batch(self) -> Iterator[BranchBatch]:
        """Give a batch that adds to the new shards."""
        yield BranchBatch(self)

    def name(self, part: int) -> str:
        """Return the name of one of the new shards, counted from 1."""
        return self._prefix + shard_name(self._writer, part)


class BranchBatch:
    """Lines on their way to the new shards."""

    def __init__(self, log: BranchLog) -> None:
        self._log = log
        self._staged: dict[str, bytearray] = {}

    def stage(self, line: bytes) -> Span:
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
            written[shard] = Written(len(before), bytes(lines))
            self._log.added[shard] = before + lines
        self._staged = {}
        return written

    def _end(self, part: int) -> int:
        shard = self._log.name(part)
        return len(self._log.added.get(shard, b"")) + len(self._staged.get(shard, b""))
