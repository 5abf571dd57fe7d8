"""Merge two versions of a shard: every line of both sides once, in an order that does not depend on who merges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import takewhile
from typing import NamedTuple

from memkit.runtime.memory.log.check import BYTE_ORDER_MARK
from memkit.runtime.memory.record.errors import InvalidRecord
from memkit.runtime.memory.record.lines import JSON, decode_line


class MergedShard(NamedTuple):
    """What became of two versions."""

    content: bytes
    conflicts: tuple[str, ...]
    """The ids that say something else on each side; they stand between git's markers."""


class _Line(NamedTuple):
    place: tuple[str, int]
    """The greatest id so far on its side and the lines since, so that the order of one side is never turned round."""
    id: str
    """Empty for what is no line of the archive: it is kept as it is."""
    content: bytes
    data: Mapping[str, JSON]


def merge_shards(ours: bytes, theirs: bytes) -> MergedShard:
    """Return every line of both versions once.

    Lines are only ever added, so what both start with stays first, and what each side added follows in the order of the
    ids, which is that of time. Line by line neither side is asked what the base was: a line that only one side has was
    added by it, because lines are not deleted.
    """
    left, right = _lines(ours), _lines(theirs)
    start = sum(1 for _ in takewhile(lambda pair: pair[0].content == pair[1].content, zip(left, right, strict=False)))
    grown = merge(left[start:], right[start:], key=lambda line: (line.place, line.id, line.content))
    sides = _by_id(left), _by_id(right)
    written: list[bytes] = []
    conflicts: list[str] = []
    done: set[str | bytes] = set()
    for line in (*left[:start], *grown):
        known = line.id or line.content
        if known in done:
            continue
        done.add(known)
        if not line.id:
            written.append(line.content)
            continue
        both, mine, others = _compared(sides[0].get(line.id, ()), sides[1].get(line.id, ()))
        written += both
        if mine and others:
            conflicts.append(line.id)
            written += [b"<<<<<<< ours", *mine, b"=======", *others, b">>>>>>> theirs"]
        else:
            written += mine + others
    return MergedShard(b"".join(content + b"\n" for content in written), tuple(conflicts))


def _lines(data: bytes) -> list[_Line]:
    found: list[_Line] = []
    greatest, since = "", 0
    for raw in data.split(b"\n"):
        content = raw.removeprefix(BYTE_ORDER_MARK).strip()
        if not content:
            continue
        try:
            parsed = decode_line(content)
        except InvalidRecord:
            parsed = {}
        id = parsed.get("id")
        own_id = id if isinstance(id, str) else ""
        greatest, since = (own_id, 0) if own_id > greatest else (greatest, since + 1)
        found.append(_Line((greatest, since), own_id, content, parsed))
    return found


def _by_id(lines: Sequence[_Line]) -> dict[str, list[_Line]]:
    found: dict[str, list[_Line]] = {}
    for line in lines:
        if line.id:
            found.setdefault(line.id, []).append(line)
    return found


def _compared(mine: Sequence[_Line], others: Sequence[_Line]) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Return what both sides say of an id, what only the one says, and what only the other; each once."""
    both = list(_different(line for line in (*mine, *others) if _says(line, mine) and _says(line, others)))
    return (
        both,
        list(_different(line for line in mine if not _says(line, others))),
        list(_different(line for line in others if not _says(line, mine))),
    )


def _says(line: _Line, side: Sequence[_Line]) -> bool:
    return any(line.data == one.data for one in side)


def _different(lines: Iterator[_Line]) -> Iterator[bytes]:
    """Yield each thing that is said once; of several spellings the first in their order, whoever wrote it."""
    said: list[Mapping[str, JSON]] = []
    for line in sorted(lines, key=lambda one: one.content):
        if line.data not in said:
            said.append(line.data)
            yield line.content
