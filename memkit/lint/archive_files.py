"""Check the archive line by line, with the parser that memory itself reads with."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memkit.errors import StoreFault
from memkit.lint.interface import Finding, Source
from memkit.runtime.memory.log.log import is_whole
from memkit.runtime.memory.record.errors import InvalidRecord
from memkit.runtime.memory.record.events import Event
from memkit.runtime.memory.record.lines import JSON, decode_line
from memkit.runtime.memory.record.record import Record

_SHARD = re.compile(r"\d{4}-\d{2}/[^/]+\.jsonl")
_MARKERS = (b"<<<<<<< ", b"||||||| ", b"=======\n", b"=======\r\n", b">>>>>>> ")


@dataclass(frozen=True)
class Line:
    """A line of a shard."""

    path: Path
    number: int
    content: bytes
    last: bool


def check_archive(sources: Sequence[Source], advance: Callable[[], None] = lambda: None) -> Iterator[Finding]:
    """Yield what is wrong in the shards of one store.

    An id may conflict with a line of any other shard, so all of the store's shards are read and only the findings of
    the given ones are yielded.
    """
    given = {source.path for source in sources}
    seen: dict[str, tuple[int, Path, int]] = {}
    for path in sorted(given | _other_shards(sources)):
        if path in given and not _is_shard(path, sources[0].root):
            message = "This file is not a shard and is not read. Shards are archive/<YYYY-MM>/<writer>.jsonl."
            yield Finding("MKA007", message, path, 1)
            continue
        for line in _lines(path):
            yield from (finding for finding in _check_line(line, seen) if path in given)
        advance()


def _other_shards(sources: Sequence[Source]) -> set[Path]:
    return {path for source in sources[:1] for path in (source.root / "archive").glob("*/*.jsonl") if path.is_file()}


def _is_shard(path: Path, root: Path) -> bool:
    return _SHARD.fullmatch(path.relative_to(root / "archive").as_posix()) is not None and not path.is_symlink()


def _lines(path: Path) -> Iterator[Line]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            for number, content in enumerate(file, start=1):
                yield Line(path, number, content, not content.endswith(b"\n"))
    except OSError as error:
        raise StoreFault(f"{path} cannot be read: {error.strerror}.") from error


def _check_line(line: Line, seen: dict[str, tuple[int, Path, int]]) -> Iterator[Finding]:
    if not line.content.strip():
        return
    if line.content.startswith(_MARKERS):
        yield _found("MKA006", "This line is the mark of a merge conflict. Keep all records and delete it.", line)
        return
    if line.last and not is_whole(line.content):
        yield _found("MKA002", "The line ends in the middle: a process was killed while it wrote.", line)
        return
    try:
        data = decode_line(line.content)
    except InvalidRecord as error:
        yield _found("MKA001", str(error), line)
        return
    yield from _check_object(data, line)
    yield from _check_identity(data, line, seen)


def _check_object(data: dict[str, JSON], line: Line) -> Iterator[Finding]:
    is_event = "op" in data
    try:
        if is_event:
            Event.from_data(data)
        else:
            Record.from_data(data)
    except InvalidRecord as error:
        yield _found("MKA004" if is_event else "MKA003", str(error), line)


def _check_identity(data: dict[str, JSON], line: Line, seen: dict[str, tuple[int, Path, int]]) -> Iterator[Finding]:
    identity = data.get("id")
    if not isinstance(identity, str):
        return
    content = hash(json.dumps(data, sort_keys=True))
    known, path, number = seen.setdefault(identity, (content, line.path, line.number))
    if known != content:
        where = f"line {number}" if path == line.path else f"{path.parent.name}/{path.name}, line {number}"
        yield _found("MKA005", f"The id {identity!r} stands with other content at {where}.", line)


def _found(code: str, message: str, line: Line) -> Finding:
    return Finding(code, message, line.path, line.number)
