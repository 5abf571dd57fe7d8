"""Shards in git: merge two versions so that every line of both is kept once, and show one as sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import takewhile
from typing import NamedTuple

from memkit.runtime.host.terminal import one_line
from memkit.runtime.memory.log.check import BYTE_ORDER_MARK
from memkit.runtime.memory.record.lines import JSON, InvalidRecord, decode_line, encode_data
from memkit.runtime.memory.record.record import unplaced


class MergedShard(NamedTuple):
    """The result of merging two versions."""

    content: bytes
    conflicts: tuple[str, ...]
    """The ids whose content differs between the sides; they are between git's markers."""


class _Line(NamedTuple):
    place: tuple[str, int]
    """The greatest id so far on its side and the lines since, so that the order of one side is never reversed."""
    id: str
    """Empty for anything that is not a line of the archive: it is kept as it is."""
    content: bytes
    data: Mapping[str, JSON]
    """Its content; its position, and whether it was linked since, do not matter for comparison."""


def merge_shards(ours: bytes, theirs: bytes) -> MergedShard:
    """Return every line of both versions once.

    Lines are only ever added, so the common beginning stays first, and what each side added follows in the order of the
    ids, which is that of time. The base is not needed for single lines: a line that only one side has was
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
        found.append(_Line((greatest, since), own_id, content, unplaced(parsed)))
    return found


def _by_id(lines: Sequence[_Line]) -> dict[str, list[_Line]]:
    found: dict[str, list[_Line]] = {}
    for line in lines:
        if line.id:
            found.setdefault(line.id, []).append(line)
    return found


def _compared(mine: Sequence[_Line], others: Sequence[_Line]) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Return what both sides say about an id, what only the first says, and what only the second; each once."""
    both = list(_different(line for line in (*mine, *others) if _says(line, mine) and _says(line, others)))
    return (
        both,
        list(_different(line for line in mine if not _says(line, others))),
        list(_different(line for line in others if not _says(line, mine))),
    )


def _says(line: _Line, side: Sequence[_Line]) -> bool:
    return any(line.data == one.data for one in side)


def _different(lines: Iterator[_Line]) -> Iterator[bytes]:
    """Yield each distinct content once; of several spellings the first in their order, whoever wrote it."""
    said: list[Mapping[str, JSON]] = []
    for line in sorted(lines, key=lambda one: (b'"link":' not in one.content, one.content)):
        if line.data not in said:
            said.append(line.data)
            yield line.content


Open = Callable[[Mapping[str, JSON]], Mapping[str, JSON]]
"""Returns a sealed line opened, or as it is if the key is not here."""

_SHOWN = {
    "scope": "user", "trust": "verified", "confidence": 1.0, "source": "explicit", "session_id": None,
    "supersedes": None, "valid_from": None, "valid_until": None, "source_url": None, "agent_id": None,
}  # fmt: skip
"""Values that are worth mentioning if they differ from these."""


def as_it_is(data: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Return the line without opening it."""
    return data


def readable(shard: bytes, open_line: Open = as_it_is) -> Iterator[str]:
    """Yield one line of text for each line of a shard, without terminal control codes."""
    for raw in shard.split(b"\n"):
        if not raw.strip():
            continue
        try:
            data = open_line(decode_line(raw.removeprefix(b"\xef\xbb\xbf")))
        except InvalidRecord:
            yield f"? {one_line(raw.decode('utf-8', 'replace'))}"
            continue
        yield one_line(_event(data) if "op" in data else _record(data))


def _record(line: Mapping[str, JSON]) -> str:
    data: dict[str, JSON] = {"trust": "candidate", **line}  # a line without a trust level is not vouched for
    tags = data.get("tags")
    labels = "".join(f" #{tag}" for tag in tags) if isinstance(tags, list) else ""
    shown = "(sealed)" if "sealed" in data else str(data.get("text"))
    notes = [f"{key} {data[key]}" for key, usual in _SHOWN.items() if data.get(key, usual) != usual]
    about = f" ({', '.join(notes)})" if notes else ""
    kind = data.get("type", "fact")
    return f"{data.get('created_at')} {data.get('user_id')} {kind}: {shown}{labels}{about} [{data.get('id')}]"


def _event(data: Mapping[str, JSON]) -> str:
    fields, reason = data.get("fields"), data.get("reason")
    what = f" {encode_data(fields)}" if isinstance(fields, Mapping) and fields else ""
    why = f": {reason}" if reason else ""
    sealed = " (sealed)" if "sealed" in data else ""
    by = f"{data.get('op')} {data.get('target')} by {data.get('actor', 'import')}"
    return f"{data.get('at')} {data.get('user_id')} {by}{why}{what}{sealed} [{data.get('id')}]"
