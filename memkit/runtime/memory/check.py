"""What is wrong with the shards, by file and line, for a person to look at and for ``fsck --fix`` to repair."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .errors import InvalidRecord
from .interface import Problem
from .lines import decode_line
from .log import Log
from .pieces import BYTE_ORDER_MARK, Piece, pieces

ABOUT_A_RECORD = (
    "confirm", "contradict", "reject", "approve", "forget", "update", "evidence", "retire", "supersede", "restore",
)  # fmt: skip


class Examined(NamedTuple):
    """A shard, what it holds, and what is wrong with it."""

    path: str
    """Relative to the store."""
    data: bytes
    pieces: tuple[Piece, ...]
    problems: tuple[Problem, ...]


def problems(log: Log) -> list[Problem]:
    """Return everything that is wrong with the shards of a log, in their order."""
    return [problem for shard in examined(log) for problem in shard.problems]


def examined(log: Log) -> Iterator[Examined]:
    """Yield every shard of a log, taken apart; an id is compared with those of all shards before."""
    seen: dict[str, tuple[str, int, bytes]] = {}
    for shard in sorted(log.shards()):
        path = f"archive/{shard}"
        try:
            data = log.read(shard)
        except OSError as error:
            problem = Problem("unreadable", path, 0, f"The shard cannot be read ({error.strerror}).")
            yield Examined(path, b"", (), (problem,))
            continue
        found = tuple(_compared(piece, path, seen) for piece in pieces(data))
        flaws = [Problem(piece.flaw, path, piece.number, piece.message) for piece in found if piece.flaw]
        yield Examined(path, data, found, (*_encoding_problems(path, data), *flaws))


def dangling_events(shards: Mapping[str, Examined]) -> list[Problem]:
    """Return the events about a record that is in no shard.

    That is no damage by itself: a pull may bring an event before its record. It is worth a look when nothing more is
    to come.
    """
    valid = [(path, piece) for path, shard in shards.items() for piece in shard.pieces if piece.data is not None]
    known = {piece.id for _, piece in valid if piece.data is not None and "op" not in piece.data}
    found = []
    for path, piece in valid:
        data = piece.data or {}
        if data.get("op") in ABOUT_A_RECORD and data["target"] not in known:
            message = f"{data['op']} is about {data['target']!r:.60}, and no shard has that record."
            found.append(Problem("dangling-event", path, piece.number, message))
    return found


def _encoding_problems(path: str, data: bytes) -> Iterator[Problem]:
    if data.startswith(BYTE_ORDER_MARK) or b"\n" + BYTE_ORDER_MARK in data:
        line = data.count(b"\n", 0, data.find(BYTE_ORDER_MARK)) + 1
        yield Problem("bom", path, line, "A byte order mark hides the first line from memory.")
    if b"\r\n" in data:
        line = data.count(b"\n", 0, data.find(b"\r\n")) + 1
        yield Problem("crlf", path, line, "Lines end with CR LF here; the archive's end with LF.")


def _compared(piece: Piece, path: str, seen: dict[str, tuple[str, int, bytes]]) -> Piece:
    """Return a piece with what the same id elsewhere makes of it."""
    if piece.data is None:
        return piece
    place, number, earlier = seen.setdefault(piece.id, (path, piece.number, piece.content))
    if (place, number) == (path, piece.number) and earlier is piece.content:
        return piece
    if not says_the_same(piece, earlier):
        message = (
            f"Id {piece.id} stands at {place}:{number} with other content. Look at both (git log -S {piece.id}), "
            "delete the line that is wrong, and run fsck again."
        )
        return piece._replace(flaw="id-conflict", message=message)
    if place != path:
        return piece  # a shard belongs to its writer: taking a line out of it would cost that writer a conflict
    return piece._replace(flaw="duplicate-line", message=f"The same line stands at line {number}.", stays=False)


def says_the_same(piece: Piece, content: bytes) -> bool:
    """Return whether ``content`` is the same line, however it is spaced and sorted."""
    if piece.content == content:
        return True
    try:
        return piece.data == decode_line(content)
    except InvalidRecord:
        return False
