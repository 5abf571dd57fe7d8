"""What is wrong with the shards, by file and line, for a person to look at."""

from collections.abc import Iterator

from .errors import InvalidRecord
from .index_catalogue import corpus_of
from .interface import Problem
from .lines import decode_line
from .log import Log, is_whole
from .record import Record
from .replay import Event

MARKERS = (b"<<<<<<< ", b"=======", b">>>>>>> ", b"||||||| ")


def problems(log: Log) -> list[Problem]:
    """Return everything that is wrong with the shards of a log, in their order."""
    found: list[Problem] = []
    seen: dict[str, tuple[str, bytes]] = {}
    for shard in sorted(log.shards()):
        path = f"archive/{shard}"
        try:
            data = log.read(shard)
        except OSError as error:
            found.append(Problem("unreadable", path, 0, f"The shard cannot be read ({error.strerror})."))
            continue
        found += _shard_problems(path, data, seen)
    return found


def _shard_problems(path: str, data: bytes, seen: dict[str, tuple[str, bytes]]) -> Iterator[Problem]:
    *whole, tail = data.split(b"\n")
    for number, line in enumerate(whole, 1):
        if line.strip():
            yield from _line_problems(path, number, line, seen)
    if not tail.strip():
        return
    if is_whole(tail):
        yield from _line_problems(path, len(whole) + 1, tail, seen)
    else:
        message = f"The last line is torn: {len(tail)} bytes without an end. The next write sets them aside."
        yield Problem("torn", path, len(whole) + 1, message)


def _line_problems(path: str, number: int, line: bytes, seen: dict[str, tuple[str, bytes]]) -> Iterator[Problem]:
    if line.rstrip(b"\r").startswith(MARKERS):
        yield Problem("conflict-marker", path, number, "A merge left its marker here. Keep the lines of both sides.")
        return
    try:
        data = decode_line(line)
    except InvalidRecord as error:
        yield Problem("not-json", path, number, str(error))
        return
    is_event = "op" in data
    try:
        corpus_of(data)
        own_id = Event.from_data(data).id if is_event else Record.from_data(data).id
    except InvalidRecord as error:
        yield Problem("bad-event" if is_event else "bad-record", path, number, str(error))
        return
    place, earlier = seen.setdefault(own_id, (f"{path}:{number}", line.strip()))
    if earlier != line.strip():
        message = f"Id {own_id} stands at {place} with other content. One of the two must go."
        yield Problem("id-conflict", path, number, message)
