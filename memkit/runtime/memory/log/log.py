"""The append-only log: what a shard is, where a line lies, and the log that lives in memory."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from ..record.errors import InvalidRecord
from ..record.lines import decode_line
from .witness import Witness

SHARD_NAME = r"(?P<writer>.+?)(?:-(?P<part>[2-9]|[1-9]\d+))?\.jsonl"

Observe = Callable[[dict[str, object]], None]


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


class Batch(Protocol):
    """Lines on their way to the log."""

    writer: str
    """By whose name they are written."""

    def stage(self, line: bytes) -> Span:
        """Return where ``line`` will lie once the batch is flushed."""

    def flush(self) -> Mapping[str, Written]:
        """Write and sync what was staged; return what each shard was given."""


class Log(Protocol):
    """Lines in the order they were appended."""

    @property
    def witness(self) -> Witness | None:
        """Return what this clone knows of the lines by itself; None where no clone does."""

    def shards(self) -> dict[str, ShardStat]:
        """Return every shard there is."""

    def read(self, shard: str, offset: int = 0, size: int = -1) -> bytes:
        """Return bytes of a shard."""

    @contextmanager
    def batch(self) -> Iterator[Batch]:
        """Give a batch whose lines are written by ``flush`` or not at all."""


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


class MemoryLog:
    """A log without a disk: one shard that dies with the process."""

    SHARD = "memory/memory.jsonl"
    witness = None

    def __init__(self) -> None:
        self._data = bytearray()

    def shards(self) -> dict[str, ShardStat]:
        """Return the one shard."""
        return {self.SHARD: ShardStat(len(self._data), 0, 0)}

    def read(self, shard: str, offset: int = 0, size: int = -1) -> bytes:
        """Return bytes of the one shard."""
        return bytes(self._data[offset : None if size < 0 else offset + size])

    @contextmanager
    def batch(self) -> Iterator["MemoryBatch"]:
        """Give a batch."""
        yield MemoryBatch(self._data)


class MemoryBatch:
    """Lines on their way to a log in memory."""

    writer = "memory"

    def __init__(self, data: bytearray) -> None:
        self._data = data
        self._staged = bytearray()

    def stage(self, line: bytes) -> Span:
        """Return where ``line`` will lie."""
        span = Span(MemoryLog.SHARD, len(self._data) + len(self._staged), len(line))
        self._staged += line
        return span

    def flush(self) -> Mapping[str, Written]:
        """Append what was staged."""
        written = Written(len(self._data), bytes(self._staged))
        self._data += self._staged
        self._staged.clear()
        return {MemoryLog.SHARD: written}
