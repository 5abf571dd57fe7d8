"""Parses the bytes of a shard, even if a merge, an editor or a crash broke them, and reports the faults.

Faults are reported by file and line, for a person to look at and for ``fsck --fix`` to repair.
"""

import re
from array import array
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from ..interface import ShardProblem
from ..record.events import OPERATIONS, Event
from ..record.lines import DECODER, JSON, InvalidRecord, SealDamaged, Sealer, decode_line, is_sealed
from ..record.record import check_record, corpus_of, is_to_hide, unplaced
from .log import Log

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MARKER = re.compile(rb"(<{7,}|\|{7,}|={7,}|>{7,})( .*)?")
"""Git's conflict marker. Inside another conflict it is longer than seven characters."""
INSIDE = re.compile(r"[ \t\r]*[,}\]]")
"""What follows an object that is part of another one."""
MOST_MISSES = 1000
"""The most places of a broken line that are tried in vain as the start of a whole one."""


class ShardPiece(NamedTuple):
    """One line of a shard, a part of a line that holds several, or bytes that are no line at all."""

    number: int
    """The line number in the file, from 1."""
    content: bytes
    """Without the line end."""
    data: Mapping[str, JSON] | None = None
    """The parsed content, if it is a valid line."""
    id: str = ""
    flaw: str = ""
    """The code of its fault."""
    message: str = ""
    stays: bool = True
    """Whether a repair leaves it in the shard."""


def pieces(data: bytes) -> Iterator[ShardPiece]:
    """Yield everything that the bytes of a shard contain, in order; nothing that can be parsed is missing."""
    *whole, tail = data.split(b"\n")
    for number, line in enumerate(whole, 1):
        yield from _pieces_of(number, line, is_last=False)
    yield from _pieces_of(len(whole) + 1, tail, is_last=True)


def checked_id(data: Mapping[str, JSON]) -> str:
    """Return the id of a parsed line; raise InvalidRecord saying why it is not a line of the archive."""
    corpus_of(data)
    if "op" in data:
        return Event.from_data(data).id
    check_record(data)
    return str(data["id"])


def flawed(line: bytes, reason: str) -> tuple[str, str]:
    """Return the code of an unreadable line's fault, and a sentence about it."""
    found = (piece for piece in _pieces_of(1, line, is_last=False) if piece.flaw)
    return next(((piece.flaw, piece.message) for piece in found), ("not-json", reason))


def _pieces_of(number: int, line: bytes, *, is_last: bool) -> Iterator[ShardPiece]:
    content = line.removeprefix(BYTE_ORDER_MARK).strip()
    if not content:
        return
    if MARKER.fullmatch(content) and b"{" not in content:
        yield _marker(number, content)
        return
    try:
        data = decode_line(content)
    except InvalidRecord as error:
        yield from _broken(number, content, str(error), is_last=is_last)
        return
    yield _parsed(number, content, data)


def _parsed(number: int, content: bytes, data: Mapping[str, JSON]) -> ShardPiece:
    try:
        return ShardPiece(number, content, data, checked_id(data))
    except InvalidRecord as error:
        if "op" not in data:
            return ShardPiece(number, content, flaw="bad-record", message=str(error), stays=False)
        is_newer = isinstance(data["op"], str) and data["op"] not in OPERATIONS
        message = f"{error} A newer memkit may have written it, so it is kept." if is_newer else str(error)
        return ShardPiece(number, content, flaw="bad-event", message=message, stays=is_newer)


def _broken(number: int, content: bytes, reason: str, *, is_last: bool) -> Iterator[ShardPiece]:
    """Yield the whole lines within a broken one, after what is left of it."""
    found = list(_whole_lines(content))
    rest = _without(content, found)
    if found:
        marker = bool(MARKER.match(rest))
        left = f" and {len(rest)} bytes of a torn one" if rest and not marker else ""
        message = f"{len(found)} line{'s' if len(found) > 1 else ''}{left} are joined on one line."
        yield ShardPiece(number, b"" if marker else rest, flaw="glued-line", message=message, stays=False)
        for start, end, data in found:
            yield ShardPiece(number, content[start:end], data, checked_id(data))
    elif MARKER.fullmatch(content):
        yield _marker(number, content)
    elif is_last:
        message = f"The last line is torn: {len(content)} bytes without a line end. The next write sets them aside."
        yield ShardPiece(number, content, flaw="torn", message=message, stays=False)
    else:
        yield ShardPiece(number, content, flaw="not-json", message=reason, stays=False)


def _marker(number: int, content: bytes) -> ShardPiece:
    message = "This is a conflict marker of a merge. Keep the lines of both sides."
    return ShardPiece(number, content, flaw="conflict-marker", message=message, stays=False)


def _whole_lines(content: bytes) -> Iterator[tuple[int, int, Mapping[str, JSON]]]:
    """Yield the spans of valid lines within a broken one.

    An object that is only a part of a torn line, being followed by a comma or a bracket, is never taken for a line.
    """
    text = content.decode("latin-1")  # one character per byte, so that positions in the text are positions in the bytes
    start, missed = text.find('{"'), 0
    while start >= 0 and missed < MOST_MISSES:
        end = _end_of_line(content, text, start)
        if end:
            yield start, end, decode_line(content[start:end])
        else:
            missed += 1
        start = text.find('{"', end or start + 1)


def _end_of_line(content: bytes, text: str, start: int) -> int:
    """Return the end of the valid line that begins at ``start``, or 0 if there is none."""
    try:
        _, end = DECODER.raw_decode(text, start)
        checked_id(decode_line(content[start:end]))
    except (ValueError, RecursionError, InvalidRecord):
        return 0
    return 0 if INSIDE.match(text, end) else end


def _without(content: bytes, found: list[tuple[int, int, Mapping[str, JSON]]]) -> bytes:
    ends = [0, *(end for _, end, _ in found)]
    starts = [*(start for start, _, _ in found), len(content)]
    rest = (content[end:start].strip().removeprefix(BYTE_ORDER_MARK) for end, start in zip(ends, starts, strict=True))
    return b" ".join(part for part in rest if part)


ABOUT_A_RECORD = (
    "confirm", "contradict", "reject", "approve", "forget", "update", "evidence", "retire", "supersede", "restore",
)  # fmt: skip


class Examined(NamedTuple):
    """A shard, its content, and its faults."""

    path: str
    """Relative to the store."""
    data: bytes
    pieces: tuple[ShardPiece, ...]
    problems: tuple[ShardProblem, ...]


def problems(log: Log) -> list[ShardProblem]:
    """Return all faults in the shards of a log, in order."""
    return [problem for shard in examined(log) for problem in shard.problems]


def examined(log: Log) -> Iterator[Examined]:
    """Yield every shard of a log, parsed; ids are compared with those of all earlier shards.

    Only earlier lines with recurring ids are held, which are determined first: most ids occur once.
    """
    repeated = _repeated_ids(log)
    seen: dict[str, tuple[str, int, bytes]] = {}
    for shard in sorted(log.shards()):
        path = f"archive/{shard}"
        try:
            data = log.read(shard)
        except OSError as error:
            problem = ShardProblem("unreadable", path, 0, f"The shard cannot be read ({error.strerror}).")
            yield Examined(path, b"", (), (problem,))
            continue
        found = tuple(
            _compared(piece, path, seen) if repeated is None or hash(piece.id.encode()) in repeated else piece
            for piece in pieces(data)
        )
        flaws = [ShardProblem(piece.flaw, path, piece.number, piece.message) for piece in found if piece.flaw]
        yield Examined(path, data, found, (*_encoding_problems(path, data), *flaws))


SPELLED_ID = re.compile(rb'"id"\s*:\s*"([^"\\]*)"')
ODD_ID = re.compile(rb'"id"\s*:\s*"[^"\\]*\\|\\u006[49]', re.IGNORECASE)
"""An id, or the key itself, in a spelling that comparing bytes does not reveal."""


def _repeated_ids(log: Log) -> set[int] | None:
    """Return the hashes of the ids that may occur in several lines; None if that cannot be determined."""
    hashes = array("q")
    for shard in sorted(log.shards()):
        try:
            data = log.read(shard)
        except OSError:
            continue  # ``examined`` reports it
        if ODD_ID.search(data):
            return None
        hashes.extend(map(hash, SPELLED_ID.findall(data)))
    return {one for one, other in pairwise(sorted(hashes)) if one == other}


class DanglingEvents:
    """Events about a record, edit or waiting proposal that is in no shard.

    That alone is no damage: a pull may bring an event before its record. It is worth a look when nothing more is
    to come.
    """

    def __init__(self) -> None:
        self._known: set[int] = set()
        """Hashes of the ids of all lines."""
        self._waiting: list[tuple[int, ShardProblem]] = []

    def look_at(self, shard: Examined) -> None:
        """Take in the content of a shard, keeping only what may have to be reported."""
        for piece in shard.pieces:
            data = piece.data or {}
            if data.get("op") in ABOUT_A_RECORD and (target := hash(data["target"])) not in self._known:
                message = f"{data['op']} is about {data['target']!r:.60}, but no shard has that record."
                self._waiting.append((target, ShardProblem("dangling-event", shard.path, piece.number, message)))
            if data:
                self._known.add(hash(piece.id))

    def problems(self) -> list[ShardProblem]:
        """Return the events whose record did not arrive."""
        return [problem for target, problem in self._waiting if target not in self._known]


def _encoding_problems(path: str, data: bytes) -> Iterator[ShardProblem]:
    if data.startswith(BYTE_ORDER_MARK) or b"\n" + BYTE_ORDER_MARK in data:
        line = data.count(b"\n", 0, data.find(BYTE_ORDER_MARK)) + 1
        yield ShardProblem("bom", path, line, "A byte order mark hides the first line from memory.")
    if b"\r\n" in data:
        line = data.count(b"\n", 0, data.find(b"\r\n")) + 1
        yield ShardProblem("crlf", path, line, "Lines end with CR LF here; they must end with LF.")


def _compared(piece: ShardPiece, path: str, seen: dict[str, tuple[str, int, bytes]]) -> ShardPiece:
    """Return a piece with the fault that the same id elsewhere gives it."""
    if piece.data is None:
        return piece
    place, number, earlier = seen.setdefault(piece.id, (path, piece.number, piece.content))
    if (place, number) == (path, piece.number) and earlier is piece.content:
        return piece
    if not says_the_same(piece, earlier):
        message = (
            f"Id {piece.id} is at {place}:{number} with different content. Compare both (git log -S {piece.id}), "
            "delete the wrong line, and run fsck again."
        )
        return piece._replace(flaw="id-conflict", message=message)
    if place != path:
        return piece  # a shard belongs to its writer: removing a line would cause that writer a conflict
    return piece._replace(flaw="duplicate-line", message=f"The same line is at line {number}.", stays=False)


def says_the_same(piece: ShardPiece, content: bytes) -> bool:
    """Return whether ``content`` says the same, regardless of spacing, key order and position."""
    if piece.content == content:
        return True
    try:
        return piece.data is not None and unplaced(piece.data) == unplaced(decode_line(content))
    except InvalidRecord:
        return False


class Sealed(NamedTuple):
    """The number of sealed lines in a log, and the faults among them."""

    lines: int
    unreadable: int
    """Lines whose key is not here, which is no damage."""
    problems: tuple[ShardProblem, ...]


def sealed_lines(log: Log, sealer: Sealer) -> Sealed:
    """Return the state of a log's sealed lines, each damaged one by file and line."""
    lines, unreadable, problems = 0, 0, []
    for path, number, data in (item for item in _parsed_lines(log, b'"sealed"') if is_sealed(item[2])):
        lines += 1
        try:
            unreadable += is_sealed(sealer.open(data))
        except SealDamaged as error:
            problems.append(ShardProblem("sealed-damaged", path, number, str(error)))
    return Sealed(lines, unreadable, tuple(problems))


def clear_lines(log: Log) -> int:
    """Return how many lines of a log hold text of one user in clear."""
    return sum(is_to_hide(data) and not is_sealed(data) for _, _, data in _parsed_lines(log, b""))


def _parsed_lines(log: Log, holding: bytes) -> Iterator[tuple[str, int, Mapping[str, JSON]]]:
    """Yield the parseable lines that contain some bytes, with file and number."""
    for shard in sorted(log.shards()):
        data = log.read(shard)
        for number, line in enumerate(data.split(b"\n") if holding in data else (), start=1):
            if line.strip() and holding in line:
                try:
                    yield f"archive/{shard}", number, decode_line(line)
                except InvalidRecord:
                    continue  # ``check`` reports it
