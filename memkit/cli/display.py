"""Display of results on a terminal: aligned, coloured by meaning, with short ids and ages, a page at a time.

In a pipe or a file, on ``TERM=dumb`` and for a screen reader (``ACCESSIBLE``) a row is just its plain text:
what programs read does not depend on the viewer. ``NO_COLOR`` removes only the colours; ``FORCE_COLOR`` enables
everything without a terminal. The reasons are in docs/decisions/0091-a-terminal-people-like.md.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, TextIO

from memkit.runtime.host.terminal import broken, harmless, is_able_terminal, is_coloured, one_line, tainted

if TYPE_CHECKING:
    from memkit.runtime.memory.record.record import Record

Meaning = Literal["text", "name", "id", "time", "number", "good", "care", "bad", "aside"]
"""The meaning of a cell, which decides its colour: ``care`` deserves a look, ``aside`` may be skipped."""
CODES: Mapping[Meaning, str] = {
    "name": "1", "id": "36", "time": "2", "good": "32", "care": "33", "bad": "1;31", "aside": "2",
}  # fmt: skip
"""The terminal's own sixteen colours, which its owner chose to be readable; numbers and text have none."""
SIGNS: Mapping[str, Meaning] = {
    "ok": "good", "allow": "good", "clear": "good", "granted": "good", "+": "good", "succeeded": "good",
    "warn": "care", "ask": "care", "look": "care", "!": "care", "warning": "care", "unknown": "care",
    "no": "bad", "deny": "bad", "stop": "bad", "fail": "bad", "survived": "bad", "error": "bad", "-": "bad",
    "withdrawn": "bad", "failed": "bad",
}  # fmt: skip
"""The meaning of a line's first word, for commands that declare that their lines begin with a sign."""
NARROWEST = 24
"""The least columns for a text beside the others; with fewer it goes below them."""
BELOW = "    "


class ListCell(NamedTuple):
    """One cell of a row."""

    plain: str
    """The text for a pipe, with the spaces that align it there."""
    meaning: Meaning = "text"
    exact: str = ""
    """The full time or text, if ``plain`` is shorter; for an id, how it may be shortened."""


class ListRow(str):
    """A line of a list: a ``str`` with the text for a pipe, and cells for drawing it on a terminal."""

    __slots__ = ("cells", "indent")
    cells: tuple[ListCell, ...]
    indent: int

    def __new__(cls, *cells: ListCell, indent: int = 0, plain: str | None = None) -> Self:
        """Return the row; a pipe gets ``plain``, or else the cells with two spaces between them."""
        text = "  ".join(cell.plain for cell in cells) if plain is None else plain
        row = super().__new__(cls, " " * indent + text)
        row.cells, row.indent = cells, indent
        return row

    def below(self, indent: int) -> ListRow:
        """Return the same row indented by so many columns."""
        return ListRow(*self.cells, indent=self.indent + indent, plain=self[self.indent :])


class SignedLine(str):
    """A line that begins with a status sign such as ``ok`` or ``!``; in a pipe it is just that line."""

    __slots__ = ()


def signed(lines: Iterable[str]) -> list[str]:
    """Return lines whose first word is a status, so that a terminal colours it."""
    return [line if isinstance(line, ListRow) else SignedLine(line) for line in lines]


def field_row(name: str, value: str, width: int) -> ListRow:
    """Return a name, right-aligned to a width, and its value."""
    return ListRow(ListCell(f"{name:>{width}}", "aside"), ListCell(value))


OPEN = "open question"
"""Marks a record that cannot be true together with another one; 'memory list --open' shows both."""


def with_key(record: Record, most: int) -> str:
    """Return the text of a record on one line, after its key."""
    key = record.to_data().get("key")
    return (f"{one_line(str(key), 80)} = " if key else "") + one_line(record.text, most)


def record_line(record: Record, *, is_open: bool = False) -> ListRow:
    """Return a record as one line of a list; ``is_open`` marks it as part of an open question."""
    marks = [tainted(record.taint), OPEN if is_open else ""]
    return ListRow(
        ListCell(one_line(record.id), "id"),
        ListCell(record.created_at[:10], "time", record.created_at),
        ListCell(one_line(record.user_id, 40), "name"),
        ListCell(f"{record.type:<10}", "aside"),
        ListCell(with_key(record, 100)),
        *(ListCell(f"({mark})", "care") for mark in marks if mark),
    )


class Presentation(NamedTuple):
    """The surroundings that rows are drawn for."""

    width: int
    """Columns of the terminal."""
    colour: bool
    now: datetime
    shorten: Callable[[Sequence[str]], Mapping[str, str]]
    """Ids → the prefixes that stand for them; an id not included stays whole."""

    def text(self, lines: Iterable[str]) -> str:
        """Return lines as the terminal displays them best; those that are not rows stay as they are."""
        listed = list(lines)
        ids = [_id(cell) for line in listed for cell in _cells(line) if cell.meaning == "id" and not cell.exact]
        short = self.shorten(ids) if ids else {}
        drawn: list[str] = []
        for _, group in groupby(listed, key=lambda line: line.indent if isinstance(line, ListRow) else None):
            block = list(group)
            drawn += self._block([_head_and_tail(row) for row in block if isinstance(row, ListRow)], short)
            drawn += [self._line(line) for line in block if not isinstance(line, ListRow)]
        return "\n".join(drawn)

    def _line(self, line: str) -> str:
        shown = harmless(line)
        if "\n" in line:
            return shown  # a document, unchanged
        if not line.lstrip().startswith("memkit "):  # a command to copy stays on its line
            shown = _in_lines(shown, self.width)
        indent, word = shown[: len(shown) - len(shown.lstrip())], shown.split(maxsplit=1)[:1]
        meaning = SIGNS.get(word[0].rstrip(":").lower()) if word and isinstance(line, SignedLine) else None
        if meaning is None:
            return shown
        return f"{indent}{self.painted(word[0], meaning)}{shown[len(indent) + len(word[0]) :]}"

    def painted(self, text: str, meaning: Meaning) -> str:
        """Return text in the colour of its meaning."""
        code = CODES.get(meaning) if self.colour and text.strip() else None
        return f"\x1b[{code}m{text}\x1b[0m" if code else text

    def _block(self, rows: Sequence[RowParts], short: Mapping[str, str]) -> list[str]:
        """Return adjacent rows with their columns aligned."""
        shown = [[self._shown(cell, short) for cell in row.head] for row in rows]
        columns = max(map(len, shown), default=0)
        widths = [max((columns_of(row[at]) for row in shown if at < len(row)), default=0) for at in range(columns)]
        drawn: list[str] = []
        for row, texts in zip(rows, shown, strict=True):
            pieces = [
                self._aligned(text, cell, width) for text, cell, width in zip(texts, row.head, widths, strict=False)
            ]
            words = [(word, cell.meaning) for cell in row.tail for word in self._shown(cell, short).split()]
            drawn += self._lines_of(row.indent, pieces, widths, words)
        return drawn

    def _aligned(self, text: str, cell: ListCell, width: int) -> str:
        gap = " " * (width - columns_of(text))
        right = cell.meaning == "number" or cell.plain != cell.plain.lstrip()
        return gap + self.painted(text, cell.meaning) if right else self.painted(text, cell.meaning) + gap

    def _lines_of(
        self, inset: int, pieces: Sequence[str], widths: Sequence[int], words: Sequence[tuple[str, Meaning]]
    ) -> list[str]:
        """Return a row: its text beside the columns, or below them if there is no room."""
        indent = " " * inset
        start = len(indent) + sum(widths[: len(pieces)]) + 2 * len(pieces)
        if not words:
            return self._filled([(piece, "text") for piece in pieces], indent, indent + BELOW, gap="  ")
        if self.width - start >= NARROWEST or not pieces:
            head = indent + "".join(f"{piece}  " for piece in pieces)
            return self._filled(words, head, " " * start)
        head_lines = self._filled([(piece.rstrip(), "text") for piece in pieces], indent, indent + BELOW, gap="  ")
        return [*head_lines, *self._filled(words, indent + BELOW, indent + BELOW)]

    def _filled(self, words: Sequence[tuple[str, Meaning]], first: str, below: str, gap: str = " ") -> list[str]:
        """Return words in lines of the terminal's width; a longer word stays whole, so that it can be copied."""
        lines: list[list[tuple[str, Meaning]]] = [[(first, "text")]]
        start = used = columns_of(first)
        for word, meaning in words:
            size = columns_of(word)
            if used > start and used + len(gap) + size > self.width:
                lines.append([(below, "text")])
                start = used = columns_of(below)
            between = gap if used > start else ""
            lines[-1].append((between + word, meaning))
            used += len(between) + size
        return ["".join(self._runs(line)).rstrip() for line in lines]

    def _runs(self, pieces: Sequence[tuple[str, Meaning]]) -> Iterator[str]:
        """Yield the pieces of a line, adjacent ones of the same meaning in one colour."""
        for meaning, run in groupby(pieces, key=lambda piece: piece[1]):
            yield self.painted("".join(text for text, _ in run), meaning)

    def _shown(self, cell: ListCell, short: Mapping[str, str]) -> str:
        text = harmless(cell.plain.strip())
        if cell.meaning == "time" and text:
            return age(cell.exact or text, self.now)
        if cell.meaning == "id":
            return harmless(cell.exact) or short.get(_id(cell), text)
        return harmless(cell.exact) or text


WHOLE = re.compile(r"(['`])memkit [^'`\n]*\1|\b[a-z0-9]+ [0-9]\.[0-9]{3}\b")
"""Text that stays on one line: a command to copy, and a name with its number."""


def _in_lines(sentence: str, width: int) -> str:
    """Return a sentence in lines of at most ``width`` columns; unbreakable text may exceed it."""
    if columns_of(sentence) <= width:
        return sentence
    return broken(WHOLE.sub(lambda found: found[0].replace(" ", "\0"), sentence), width).replace("\0", " ")


def spoken(message: str, stream: TextIO, sign: Meaning = "text") -> str:
    """Return a message as ``stream`` displays it best: wrapped to a terminal's width, its first word coloured."""
    if is_able_terminal(stream):
        import shutil

        width = shutil.get_terminal_size().columns
        message = "\n".join(_in_lines(line, width) for line in message.split("\n"))
    first, gap, rest = message.partition(" ")
    code = CODES.get(sign) if is_coloured(stream) else None
    return f"\x1b[{code}m{first}\x1b[0m{gap}{rest}" if code else message


class RowParts(NamedTuple):
    """A row for drawing: the aligned columns, and the text that wraps."""

    indent: int
    head: tuple[ListCell, ...]
    tail: tuple[ListCell, ...]


def _head_and_tail(row: ListRow) -> RowParts:
    place = next((at for at, cell in enumerate(row.cells) if cell.meaning == "text"), len(row.cells))
    return RowParts(row.indent, row.cells[:place], row.cells[place:])


def _cells(line: str) -> tuple[ListCell, ...]:
    return line.cells if isinstance(line, ListRow) else ()


def _id(cell: ListCell) -> str:
    return cell.plain.strip(" []")


def columns_of(text: str) -> int:
    """Return how many columns a text takes on a terminal, without its colour codes."""
    if text.isascii() and "\x1b" not in text:
        return len(text)
    from rich.cells import cell_len  # wide and combining characters; loaded only if there are any

    return cell_len(re.sub(r"\x1b\[[0-9;]*m", "", text))


# Ages.

_UNITS = (("year", 31_557_600), ("month", 2_629_800), ("day", 86_400), ("hour", 3_600), ("minute", 60))
_DAYS_APART = 60
"""The most days that an age is given in days: a month would be too vague."""


def age(at: str, now: datetime) -> str:
    """Return how long ago, or how far in the future, a time is; anything else stays as it is.

    >>> from datetime import UTC
    >>> now = datetime(2026, 3, 3, 11, tzinfo=UTC)
    >>> age("2026-03-01T10:00:00Z", now), age("2026-03-03T10:59:50Z", now), age("2027-06-01", now)
    ('2 days ago', 'just now', 'in 1 year')
    """
    from memkit.runtime.memory.record.lines import InvalidRecord, parse_time

    try:
        seconds = (now - parse_time(at)).total_seconds()
    except InvalidRecord:
        return at
    size = abs(seconds)
    if size < _UNITS[-1][1]:
        return "just now"
    unit, length = next(
        (unit, length)
        for unit, length in _UNITS
        if size >= length and (unit != "month" or size >= _DAYS_APART * 86_400)
    )
    count = int(size // length)
    told = f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{told} ago" if seconds > 0 else f"in {told}"


def beginnings(ids: Iterable[str], least: int = 6) -> dict[str, str]:
    """Return for each of several ids the shortest prefix that no other one has.

    >>> beginnings(["01M8ABCDEF", "01M8ABCDXY", "01N0000000"])
    {'01M8ABCDEF': '01M8ABCDE', '01M8ABCDXY': '01M8ABCDX', '01N0000000': '01N000'}
    """
    ordered = sorted(set(ids))
    shared = [0, *(_shared(*pair) for pair in pairwise(ordered)), 0]
    return {id: id[: max(least, shared[at] + 1, shared[at + 1] + 1)] for at, id in enumerate(ordered)}


def _shared(one: str, other: str) -> int:
    return next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))


# A page at a time.


def show(text: str, *, may_wait: bool = True) -> None:
    """Write a text to standard output; if it is longer than the terminal, through ``PAGER``, which waits."""
    import shutil

    from memkit.runtime.host.terminal import AGENTS

    size = shutil.get_terminal_size()
    is_long = may_wait and text.count("\n") + 1 >= size.lines
    is_agents = any(os.environ.get(name) for name in AGENTS)  # a pager would wait for a key that it never presses
    if is_long and is_able_terminal() and sys.stdin.isatty() and not is_agents and _paged(text):
        return
    sys.stdout.write(f"{text}\n")


def _paged(text: str) -> bool:
    """Pass a text to the pager and wait until it is closed; False if there is none."""
    import shlex
    import shutil
    import signal
    import subprocess

    try:
        words = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:
        return False
    program = shutil.which(words[0]) if words else None
    if program is None:
        return False
    # As in git: short texts are not held, colours are shown, and the text stays on the screen.
    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    sys.stdout.flush()
    with subprocess.Popen([program, *words[1:]], stdin=subprocess.PIPE, env=environment) as pager:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pager, which has the terminal
        try:
            pager.communicate(f"{text}\n".encode())  # ignores a pager that was closed early
        finally:
            signal.signal(signal.SIGINT, before)
    return True
