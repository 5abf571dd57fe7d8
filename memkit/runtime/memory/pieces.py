"""What the bytes of a shard hold, also where a merge, an editor or a crash broke them."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .errors import InvalidRecord
from .index_catalogue import corpus_of
from .lines import DECODER, decode_line
from .record import JSON, Record
from .replay import OPERATIONS, Event

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MARKER = re.compile(rb"(<{7,}|\|{7,}|={7,}|>{7,})( .*)?")
"""Git's mark of a conflict. Inside another conflict it is longer than seven signs."""
INSIDE = re.compile(r"[ \t\r]*[,}\]]")
"""What follows an object that is a part of another one."""
MOST_MISSES = 1000
"""So many places of a broken line are tried in vain for the start of a whole one."""


class Piece(NamedTuple):
    """One line of a shard, a part of one that holds several, or what is no line at all."""

    number: int
    """The line of the file, from 1."""
    content: bytes
    """Without the line's end."""
    data: Mapping[str, JSON] | None = None
    """What it says, when it is a valid line."""
    id: str = ""
    flaw: str = ""
    """The code of what is wrong with it."""
    message: str = ""
    stays: bool = True
    """Whether a repair leaves it in the shard."""


def pieces(data: bytes) -> Iterator[Piece]:
    """Yield everything that the bytes of a shard hold, in their order; nothing that can be parsed is missing."""
    *whole, tail = data.split(b"\n")
    for number, line in enumerate(whole, 1):
        yield from _pieces_of(number, line, is_last=False)
    yield from _pieces_of(len(whole) + 1, tail, is_last=True)


def checked_id(data: Mapping[str, JSON]) -> str:
    """Return the id of a parsed line, or raise InvalidRecord saying why it is no line of the archive."""
    corpus_of(data)
    return Event.from_data(data).id if "op" in data else Record.from_data(data).id


def _pieces_of(number: int, line: bytes, *, is_last: bool) -> Iterator[Piece]:
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


def _parsed(number: int, content: bytes, data: Mapping[str, JSON]) -> Piece:
    try:
        return Piece(number, content, data, checked_id(data))
    except InvalidRecord as error:
        if "op" not in data:
            return Piece(number, content, flaw="bad-record", message=str(error), stays=False)
        is_newer = isinstance(data["op"], str) and data["op"] not in OPERATIONS
        message = f"{error} A newer memkit may have written it, so it stays." if is_newer else str(error)
        return Piece(number, content, flaw="bad-event", message=message, stays=is_newer)


def _broken(number: int, content: bytes, reason: str, *, is_last: bool) -> Iterator[Piece]:
    """Yield the whole lines that a broken one holds, after what is left of it."""
    found = list(_whole_lines(content))
    rest = _without(content, found)
    if found:
        marker = bool(MARKER.match(rest))
        left = f" and {len(rest)} bytes of a torn one" if rest and not marker else ""
        message = f"{len(found)} line{'s' if len(found) > 1 else ''}{left} stand here on one line."
        yield Piece(number, b"" if marker else rest, flaw="glued-line", message=message, stays=False)
        for start, end, data in found:
            yield Piece(number, content[start:end], data, checked_id(data))
    elif MARKER.fullmatch(content):
        yield _marker(number, content)
    elif is_last:
        message = f"The last line is torn: {len(content)} bytes without an end. The next write sets them aside."
        yield Piece(number, content, flaw="torn", message=message, stays=False)
    else:
        yield Piece(number, content, flaw="not-json", message=reason, stays=False)


def _marker(number: int, content: bytes) -> Piece:
    message = "A merge left its marker here. Keep the lines of both sides."
    return Piece(number, content, flaw="conflict-marker", message=message, stays=False)


def _whole_lines(content: bytes) -> Iterator[tuple[int, int, Mapping[str, JSON]]]:
    """Yield from where to where valid lines stand in a broken one.

    An object that is only a part of a torn line, which a comma or a bracket follows, is never taken for a line.
    """
    text = content.decode("latin-1")  # one letter a byte, so that places in the text are places in the bytes
    start, missed = text.find('{"'), 0
    while start >= 0 and missed < MOST_MISSES:
        end = _end_of_line(content, text, start)
        if end:
            yield start, end, decode_line(content[start:end])
        else:
            missed += 1
        start = text.find('{"', end or start + 1)


def _end_of_line(content: bytes, text: str, start: int) -> int:
    """Return where the valid line that begins at ``start`` ends, or 0 when none does."""
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
