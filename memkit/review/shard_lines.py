"""The lines that two sides of an archive do not share, and all that was said about the records they are about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from memkit.review.sides import Side
from memkit.runtime.memory.log.check import ShardPiece, pieces
from memkit.runtime.memory.log.shards import MONTH
from memkit.runtime.memory.record.errors import InvalidRecord
from memkit.runtime.memory.record.lines import JSON, Sealer, decode_line, shown

SHARD = re.compile(rf"archive/{MONTH}/[^/]+\.jsonl")
AT_ONCE = 16
"""Shards that are in memory together."""

_NAMED = re.compile(rb'"(?:id|target|supersedes)"\s*:\s*"((?:[^"\\]|\\.)*)"')

Line = Mapping[str, JSON]


@dataclass(frozen=True)
class Flaw:
    """A place in a shard that is no line."""

    path: str
    line: int
    code: str
    message: str


@dataclass
class ShardLines:
    """What two archives differ in, by the id of each line; all of it is opened as far as a key is here."""

    added: dict[str, Line] = field(default_factory=dict)
    removed: dict[str, Line] = field(default_factory=dict)
    edited: dict[str, tuple[Line, Line]] = field(default_factory=dict)
    flaws: list[Flaw] = field(default_factory=list)
    """Of the later side, where the earlier one has not the same."""
    unread: list[str] = field(default_factory=list)
    """Shards that are links, are too large or cannot be opened."""
    removed_from: dict[str, str] = field(default_factory=dict)
    """The shard of each line that is gone or edited."""


def compared_shards(before: Side, after: Side, changed: Iterable[str], sealer: Sealer) -> ShardLines:
    """Return what the ``changed`` shards of two sides differ in; a line that only moved is none of it."""
    found = ShardLines()
    one: dict[str, tuple[str, bytes]] = {}
    other: dict[str, tuple[str, bytes]] = {}
    flaws: set[bytes] = set()
    for path in changed:
        old, new = (side.read([path]).get(path) if path in side.files else b"" for side in (before, after))
        if old is None or new is None:
            found.unread.append(path)
            continue
        shared = _shared(old, new)
        for piece in pieces(old[shared:]):
            _take(piece, path, one, flaws)
        lines_before = old.count(b"\n", 0, shared)
        for piece in pieces(new[shared:]):
            if not _take(piece, path, other, set()) and piece.content not in flaws:
                found.flaws.append(Flaw(path, piece.number + lines_before, piece.flaw, piece.message))
    _sort_out(found, one, other, sealer)
    return found


def _shared(old: bytes, new: bytes) -> int:
    """Return how many bytes both begin with, up to the end of a line: a shard that only grew is read from there."""
    return len(old) if new.startswith(old) and old.endswith(b"\n") else 0


def _take(piece: ShardPiece, path: str, lines: dict[str, tuple[str, bytes]], flaws: set[bytes]) -> bool:
    if piece.data is None:
        flaws.add(piece.content)
        return False
    lines[piece.id] = path, piece.content
    return True


def _sort_out(
    found: ShardLines, one: Mapping[str, tuple[str, bytes]], other: Mapping[str, tuple[str, bytes]], sealer: Sealer
) -> None:
    for id, (_, content) in other.items():
        if id not in one:
            found.added[id] = _opened(content, sealer)
        elif one[id][1] != content and (was := _opened(one[id][1], sealer)) != (now := _opened(content, sealer)):
            found.edited[id] = was, now
            found.removed_from[id] = one[id][0]
    for id, (path, content) in one.items():
        if id not in other:
            found.removed[id] = _opened(content, sealer)
            found.removed_from[id] = path


def _opened(content: bytes, sealer: Sealer) -> Line:
    return shown(decode_line(content), sealer)


def lines_about(side: Side, ids: Collection[str], sealer: Sealer) -> Iterator[tuple[str, int, Line]]:
    """Yield the lines of a side that are a record of ``ids``, an event about one, or take the place of one.

    Each comes with its shard and number. Only those lines are parsed.
    """
    wanted = {id.encode() for id in ids}
    paths = sorted(path for path in side.files if SHARD.fullmatch(path)) if wanted else []
    for start in range(0, len(paths), AT_ONCE):
        for path, content in side.read(paths[start : start + AT_ONCE]).items():
            if wanted.isdisjoint(_NAMED.findall(content)):
                continue
            for number, line in enumerate(content.split(b"\n"), start=1):
                if not wanted.isdisjoint(_NAMED.findall(line)):
                    try:
                        yield path, number, _opened(line, sealer)
                    except InvalidRecord:
                        continue  # what is no line is named where the shard changed, and by fsck
