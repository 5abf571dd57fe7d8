"""Moves the lines of one log into another, in the order of their chains, and verifies that they are the same.

A log on a server keeps shared lines in separate chains, because not everyone may read the others. So a mixed chain is
split on its way there: links to a line that is now in another chain are rewritten, as by an erasure. The content of a
line never changes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import NamedTuple, NoReturn, Protocol

from ..memory.index.chains import shard_order
from ..memory.log.clone import make_private
from ..memory.log.log import (
    SHARD_LIMIT,
    Log,
    ShardStat,
    Users,
    claimed_link,
    linked,
    parent_of,
    shard_name,
    shard_writer,
    split_lines,
)
from ..memory.log.shards import sync_folder
from ..memory.record.lines import JSON, ArchiveError, InvalidRecord, decode_line, encode_line, parse_time
from ..memory.record.record import SHARED, SHARING, corpus_of

READ_AT_ONCE = 4 << 20
AS_WRITTEN = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]{15}Z")
"""A time in the archive's format."""
WRITTEN_AT_ONCE = 5_000
"""Lines that are written, and reported, in one batch."""


class ChainLine(NamedTuple):
    """A line being moved."""

    writer: str
    user: str
    shared: bool
    line: bytes
    data: Mapping[str, JSON]

    @property
    def chain(self) -> tuple[str, str]:
        """Return the chain that it belongs to."""
        return self.writer, self.user


class Sink(Protocol):
    """Accepts lines; repeated lines are recognised."""

    def take(self, one: ChainLine) -> None:
        """Add a line at the end of its chain."""

    def flush(self) -> None:
        """Ensure that everything taken is stored."""

    def stands(self) -> bool:
        """Read everything stored, and return whether it equals what was taken, byte for byte, with nothing else."""


class Digests:
    """Digests of the lines written to each shard, in order."""

    def __init__(self) -> None:
        self._shards: dict[str, bytes] = {}

    def note(self, shard: str, line: bytes) -> None:
        """Add the next line of a shard."""
        self._shards[shard] = _grown(self._shards.get(shard, b""), line)

    def are_of(self, log: Log) -> bool:
        """Return whether a log has exactly these shards with these lines, after reading all of it."""
        present = log.shards()
        return present.keys() == self._shards.keys() and all(
            _digest_of(log, shard, stat.size) == self._shards[shard] for shard, stat in present.items()
        )


def _grown(before: bytes, line: bytes) -> bytes:
    return blake2b(before + line, digest_size=16, person=b"memkit: move").digest()


def _digest_of(log: Log, shard: str, size: int) -> bytes:
    found, rest, start = b"", b"", 0
    while start < size and (chunk := log.read(shard, start, READ_AT_ONCE)):
        start += len(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            found = _grown(found, line + b"\n")
    return _grown(found, rest) if rest else found


class Passage:
    """How far the lines of a log were moved, so that the move can continue with later ones."""

    def __init__(self, log: Log, *, parts: bool, key: bytes | None) -> None:
        """Start at the beginning; with ``parts``, shared lines go into separate chains."""
        self._log = log
        self._parts = parts
        self._key = key
        self._reached: dict[str, int] = {}
        self._tips: dict[tuple[str, str], bytes] = {}
        """The newest lines of the chains of shared lines."""
        self._instead: dict[bytes, bytes] = {}
        """For links of lines that were moved to another chain, or relinked: the replacements."""
        self.lines = 0

    @property
    def replaced(self) -> set[str]:
        """Return the links that no line has any more where they were moved to."""
        return {link.hex() for link in self._instead}

    def rest(self) -> Iterator[ChainLine]:
        """Yield the lines not read yet; a torn last line is left to its writer.

        Raises:
            InvalidRecord: One cannot be read, so it cannot be moved.
        """
        present = self._log.shards()
        for shard in sorted(present, key=shard_order):
            writer, buffer = shard_writer(shard)[0], b""
            start = self._reached.get(shard, 0)
            while start + len(buffer) < present[shard].size and (
                chunk := self._log.read(shard, start + len(buffer), READ_AT_ONCE)
            ):
                buffer += chunk
                found, size = split_lines(buffer)
                if not found and len(buffer) > READ_AT_ONCE:
                    break
                for offset, line in found:
                    yield self._placed(writer, line, f"{shard}, byte {start + offset}")
                start, buffer = start + size, buffer[size:]
                if not found:
                    break
            self._reached[shard] = start

    def _placed(self, writer: str, line: bytes, place: str) -> ChainLine:
        try:
            data = decode_line(line)
            user, corpus = str(data["user_id"]), corpus_of(data)
        except (InvalidRecord, KeyError) as error:
            raise InvalidRecord(f"{place}: {error} 'memkit fsck --fix' sets it aside; then move.") from None
        self.lines += 1
        shared = corpus == SHARED
        whole = line if line.endswith(b"\n") else line + b"\n"
        if not self._parts:
            return ChainLine(writer, user, shared, whole, data)
        named = writer if not shared or writer.endswith(SHARING) else writer + SHARING
        return self._parted(ChainLine(named, user, shared, whole, data), is_moved=named != writer)

    def _parted(self, one: ChainLine, *, is_moved: bool) -> ChainLine:
        own, parent = claimed_link(one.data), parent_of(one.data)
        if not own:
            return one
        stands = self._instead.get(parent, parent)
        if is_moved:
            self._instead[own] = stands  # links to it become links to its predecessor in their own chain
            stands = self._tips.get(one.chain, b"")
        elif stands == parent:
            return one
        placed, link = linked(one.data, stands, key=self._key, by="move")
        if is_moved:
            self._tips[one.chain] = link.own
        else:
            self._instead[own] = link.own
        return one._replace(line=encode_line(placed), data=placed)


class Passengers:
    """The number of records moved, and their users."""

    def __init__(self) -> None:
        self.records = 0
        self.users: set[str] = set()

    def note(self, one: ChainLine) -> None:
        """Count a line."""
        self.records += "op" not in one.data
        self.users.add(one.user)


class _FreshShard:
    """A shard being written."""

    def __init__(self, folder: Path, month: str, writer: str, part: int) -> None:
        self.name, self.part = f"{month}/{shard_name(writer, part)}", part
        self.path = folder / self.name
        self.size = self.path.stat().st_size if self.path.exists() else 0
        self.waiting = bytearray()


class FilesSink:
    """Writes shards into a separate folder, to be put in the store once all of them are complete."""

    def __init__(self, folder: Path) -> None:
        make_private(folder)
        self._folder = folder
        self._months: dict[tuple[str, str], str] = {}
        """The month of each chain's newest line: later lines of a chain are never in an earlier month."""
        self._shards: dict[tuple[str, str], _FreshShard] = {}
        """The last shard of each month and writer."""
        self._digests: dict[str, blake2b] = {}
        """Running digests of what was written to each: a folder has few shards, so each can have one."""
        self._size = 0

    def take(self, one: ChainLine) -> None:
        """Add a line to the shard of its writer and month."""
        chain, said = one.chain, str(one.data.get("at") or one.data.get("created_at") or "")
        month = said[:7] if AS_WRITTEN.fullmatch(said) else f"{parse_time(said):%Y-%m}"
        month = self._months[chain] = max(month, self._months.get(chain, ""))
        shard = self._shards.get((month, one.writer))
        if shard is None or (shard.size and shard.size + len(one.line) > SHARD_LIMIT):
            if shard is not None:
                self.flush()
            shard = _FreshShard(self._folder, month, one.writer, shard.part + 1 if shard else 1)
            self._shards[month, one.writer], self._digests[shard.name] = shard, blake2b(digest_size=16)
        shard.waiting += one.line
        shard.size += len(one.line)
        self._size += len(one.line)
        if self._size > READ_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what was taken; ``stands`` syncs all of it at once."""
        for shard in self._shards.values():
            if not shard.waiting:
                continue
            shard.path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            with shard.path.open("ab") as file:
                file.write(shard.waiting)
            self._digests[shard.name].update(shard.waiting)
            shard.waiting.clear()
        self._size = 0

    def put(self, archive: Path) -> None:
        """Move the shards to the store's archive folder."""
        for path in sorted(self._folder.glob("*/*.jsonl")):
            place = archive / path.relative_to(self._folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            path.replace(place)
            sync_folder(place.parent)

    @property
    def written(self) -> Log:
        """Return the shards as a log for reading."""
        return _FolderLog(self._folder)

    def stands(self) -> bool:
        """Read every shard, and return whether it equals what was taken."""
        if self.written.shards().keys() != self._digests.keys():
            return False
        for name, known in self._digests.items():
            with (self._folder / name).open("rb") as file:
                os.fsync(file.fileno())
                found = file_digest(file, lambda: blake2b(digest_size=16))
            if found.digest() != known.digest():
                return False
        return True


class _FolderLog(Log):
    """The shards of a folder, for reading."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def shards(self, users: Users = None) -> dict[str, ShardStat]:
        found = sorted(self._folder.glob("*/*.jsonl"))
        return {f"{path.parent.name}/{path.name}": ShardStat(path.stat().st_size, 0, 0) for path in found}

    def read(self, shard: str, offset: int = 0, size: int = -1) -> bytes:
        with (self._folder / shard).open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def batch(self, users: Users = None) -> NoReturn:
        raise ArchiveError("These shards are only read.")


def bring(course: Passage, sink: Sink, note: Callable[[ChainLine], None], tell: Callable[[int], None]) -> None:
    """Move the remaining lines of one log into another, periodically reporting their number."""
    for one in course.rest():
        note(one)
        sink.take(one)
        if course.lines % WRITTEN_AT_ONCE == 0:
            tell(course.lines)
    sink.flush()


def counted_in(log: Log) -> Passengers:
    """Return the number of records in a log, and their users, after reading all of it."""
    found, course = Passengers(), Passage(log, parts=False, key=None)
    for one in course.rest():
        found.note(one)
    return found
