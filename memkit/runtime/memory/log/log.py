"""The append-only log: what a shard is, where a line lies, and the log that lives in memory."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from ..record.lines import EMPTY, JSON, InvalidRecord, decode_line
from .links import Witness, WriterHead

SHARD_NAME = r"(?P<writer>.+?)(?:-(?P<part>[2-9]|[1-9]\d+))?\.jsonl"

Observe = Callable[[dict[str, object]], None]
Users = Collection[str] | None
"""Whom a question or a change is about, beside what is shared; None stands for everybody."""


class Span(NamedTuple):  # like the other small values in here: a dataclass takes longer to define than a search to run
    """Where a line lies."""

    shard: str
    """``<YYYY-MM>/<writer>.jsonl``"""
    offset: int
    size: int
    """In bytes, the line's end included."""
    order: str = ""
    """Its place where that is not the one in its file."""

    @property
    def writer(self) -> str:
        """Return who wrote it."""
        return shard_writer(self.shard)[0]

    @property
    def place(self) -> str:
        """Return a text that sorts as this writer's lines were written."""
        return self.order or f"{self.shard.partition('/')[0]}/{shard_writer(self.shard)[1]:06d}/{self.offset:012d}"


class ShardStat(NamedTuple):
    """What the file system says about a shard; equal values mean an untouched file."""

    size: int
    mtime_ns: int
    inode: int


class Written(NamedTuple):
    """What a flush added to a shard."""

    offset: int
    data: bytes
    stat: ShardStat
    """Of the shard with what was added."""


class Tip(NamedTuple):
    """How far a writer is about a user."""

    writer: str
    owner: str
    lines: int
    link: str
    """Of the newest line."""


class Batch(Protocol):
    """Lines on their way to the log."""

    writer: str
    """By whose name they are written."""

    def writer_in(self, corpus: str) -> str:
        """Return by whose name lines of this corpus are written."""

    def stage(self, line: bytes, data: Mapping[str, JSON] = EMPTY) -> Span:
        """Return where ``line``, which says ``data``, will lie once the batch is flushed."""

    def flush(self) -> Mapping[str, Written]:
        """Write and sync what was staged; return what each shard was given."""


class Log(Protocol):
    """Lines in the order they were appended."""

    @property
    def witness(self) -> Witness | None:
        """Return what this clone knows of the lines by itself; None where no clone does."""

    @property
    def cache(self) -> str:
        """Return a name for what an index of this log is kept under; empty for the store's own files."""

    @property
    def vectors(self) -> Any:
        """Return vectors that several instances share, for whoever searches by meaning; None where each has its own."""

    def shards(self, users: Users = None) -> dict[str, ShardStat]:
        """Return every shard that may hold lines about ``users``, or shared ones."""

    def folders(self, users: Users) -> Sequence[str] | None:
        """Return what the names of those shards begin with; None where any shard may hold lines about anybody."""

    def only_grew(self, before: ShardStat, after: ShardStat) -> bool:
        """Return whether what stood in a shard is known to stand there still, without reading it."""

    def users(self) -> list[str] | None:
        """Return everybody of whom there are lines; None where only the lines themselves can tell."""

    def tips(self) -> "Iterable[Tip] | None":
        """Return how far every chain is; None where only the lines themselves can tell."""

    def lost(self) -> Mapping[str, WriterHead]:
        """Return by writer the newest line that this clone had written and that the log itself has no more."""

    def close(self) -> None:
        """Let go of what the log holds open."""

    def read(self, shard: str, offset: int = 0, size: int = -1) -> bytes:
        """Return bytes of a shard."""

    @contextmanager
    def batch(self, users: Users = None) -> Iterator[Batch]:
        """Give a batch of lines about ``users`` that are written by ``flush`` or not at all.

        While it is open nobody else writes about them.
        """


class SharedShards:
    """What holds for a log whose shards have lines about anybody, and may be edited by people and git."""

    cache = ""
    vectors = None

    def folders(self, users: Users) -> Sequence[str] | None:
        """Return that any shard may hold lines about anybody."""
        return None

    def only_grew(self, before: ShardStat, after: ShardStat) -> bool:
        """Return that only reading a shard tells."""
        return False

    def users(self) -> list[str] | None:
        """Return that only the lines tell."""
        return None

    def tips(self) -> "Iterable[Tip] | None":
        """Return that only the lines tell."""
        return None

    def lost(self) -> Mapping[str, WriterHead]:
        """Return nothing: all lines are entered, and the catalogue compares them with the heads."""
        return {}

    def close(self) -> None:
        """Do nothing: no file stays open."""


class OneWriter:
    """What holds for a batch whose lines go by one name, whomever they are for."""

    writer: str

    def writer_in(self, corpus: str) -> str:
        """Return that name."""
        return self.writer


@lru_cache(maxsize=256)  # every line that is read asks this of its shard
def shard_writer(shard: str) -> tuple[str, int]:
    """Return the writer of a shard and which of its files this is, counted from 1."""
    match = re.fullmatch(SHARD_NAME, shard.rpartition("/")[2])
    return (match["writer"], int(match["part"] or 1)) if match else (shard, 1)


def split_lines(data: bytes) -> tuple[list[tuple[int, bytes]], int]:
    """Return the lines of ``data`` with their offsets, and how many bytes they take.

    What follows the last LF is a line too if it is a whole object: an editor dropped the line's end. Otherwise a
    process is still writing it, or died while it did, and it is left alone.
    """
    found, offset = [], 0
    while (end := data.find(b"\n", offset)) >= 0:
        found.append((offset, data[offset : end + 1]))
        offset = end + 1
    if is_whole(tail := data[offset:]):
        found.append((offset, tail))
        offset = len(data)
    return [(start, line) for start, line in found if line.strip()], offset


def is_whole(tail: bytes) -> bool:
    """Return whether a last line without an end is complete all the same."""
    if not tail.rstrip().endswith(b"}"):
        return False
    try:
        decode_line(tail)
    except InvalidRecord:
        return False
    return True


class MemoryLog(SharedShards):
    """A log without a disk: one shard that dies with the process."""

    SHARD = "memory/memory.jsonl"
    witness = None

    def __init__(self) -> None:
        self._data = bytearray()

    def shards(self, users: Users = None) -> dict[str, ShardStat]:
        """Return the one shard."""
        return {self.SHARD: ShardStat(len(self._data), 0, 0)}

    def read(self, shard: str, offset: int = 0, size: int = -1) -> bytes:
        """Return bytes of the one shard."""
        return bytes(self._data[offset : None if size < 0 else offset + size])

    @contextmanager
    def batch(self, users: Users = None) -> Iterator["MemoryBatch"]:
        """Give a batch."""
        yield MemoryBatch(self._data)


class MemoryBatch(OneWriter):
    """Lines on their way to a log in memory."""

    writer = "memory"

    def __init__(self, data: bytearray) -> None:
        self._data = data
        self._staged = bytearray()

    def stage(self, line: bytes, data: Mapping[str, JSON] = EMPTY) -> Span:
        """Return where ``line`` will lie."""
        span = Span(MemoryLog.SHARD, len(self._data) + len(self._staged), len(line))
        self._staged += line
        return span

    def flush(self) -> Mapping[str, Written]:
        """Append what was staged."""
        offset, data = len(self._data), bytes(self._staged)
        self._data += self._staged
        self._staged.clear()
        return {MemoryLog.SHARD: Written(offset, data, ShardStat(len(self._data), 0, 0))}
