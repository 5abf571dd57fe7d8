"""A program of which only marked blocks may change: every other byte stays what it is."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

from .errors import BrokenMarkers, DoesNotApply

START, END = "EVOLVE-BLOCK-START", "EVOLVE-BLOCK-END"
_MARKER = re.compile(r"#\W*(EVOLVE-BLOCK-(?:START|END))\b")
_LONE_RETURN = re.compile(r"\r(?!\n)")


@dataclass(frozen=True)
class Blocks:
    """A program's text in turns: what stays, what may change, what stays, …; marker lines stay."""

    fixed: tuple[str, ...]
    """One more than there are blocks."""
    open: tuple[str, ...]

    @property
    def marked(self) -> bool:
        """Tell whether there are markers; without them the whole text may change."""
        return bool(self.fixed[0])

    @cached_property
    def text(self) -> str:
        """Return the whole program."""
        return "".join(part for pair in zip_longest(self.fixed, self.open, fillvalue="") for part in pair)

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Return where each block starts and ends in the text."""
        spans, position = [], 0
        for fixed, changing in zip(self.fixed, self.open, strict=False):
            position += len(fixed)
            spans.append((position, position + len(changing)))
            position += len(changing)
        return tuple(spans)

    def holds(self, start: int, end: int) -> bool:
        """Tell whether one block holds the text from ``start`` to ``end``."""
        return any(low <= start and end <= high for low, high in self.spans)

    def with_open(self, changed: Sequence[str]) -> Blocks:
        """Return the program with other text in its blocks; a block ends with its line."""
        line_end = newline_of(self.text)
        whole = [part if part.endswith("\n") or not part or not self.marked else part + line_end for part in changed]
        return Blocks(self.fixed, tuple(whole))


def read_blocks(text: str) -> Blocks:
    """Return the blocks of a Python program.

    A marker is a comment that starts with ``EVOLVE-BLOCK-START`` or ``EVOLVE-BLOCK-END``, alone on its line or behind
    code; in a string it is text. Without markers the whole program is one block.

    Raises:
        BrokenMarkers: Markers are nested or do not pair up, or the text cannot be split into lines and comments.
    """
    if _LONE_RETURN.search(text):
        raise BrokenMarkers("The program has line ends that are a lone carriage return. Write \\n or \\r\\n.")
    if START not in text and END not in text:
        return Blocks(("", ""), (text,))
    lines = lines_of(text)
    fixed, changing = list[str](), list[str]()
    since, opened = 0, 0
    for number, marker in _markers(text):
        if marker == START:
            if opened:
                raise BrokenMarkers(f"Line {number}: {START} inside the block that starts on line {opened}.")
            fixed.append("".join(lines[since:number]))
            since, opened = number, number
        else:
            if not opened:
                raise BrokenMarkers(f"Line {number}: {END} without {START}.")
            changing.append("".join(lines[since : number - 1]))
            since, opened = number - 1, 0
    if opened:
        raise BrokenMarkers(f"Line {opened}: {START} without {END}.")
    if not changing:  # the words stand in strings or in the middle of comments only
        return Blocks(("", ""), (text,))
    return Blocks((*fixed, "".join(lines[since:])), tuple(changing))


def require_same_outside(given: Blocks, text: str) -> Blocks:
    """Return the blocks of ``text``, which has to be ``given`` but for what its blocks hold.

    Raises:
        DoesNotApply: Text outside of the blocks differs, or the markers do.
    """
    try:
        found = read_blocks(text)
    except BrokenMarkers as problem:
        raise DoesNotApply(f"The markers of the program were changed: {problem}") from None
    if not given.marked:
        if found.marked:
            raise DoesNotApply("The program has no EVOLVE-BLOCK markers; leave it so.")
        return found
    if len(found.open) != len(given.open) or not found.marked:
        count = len(found.open) if found.marked else 0
        raise DoesNotApply(f"The program has {len(given.open)} EVOLVE-BLOCKs and the answer {count}. Keep them all.")
    for before, after in zip(given.fixed, found.fixed, strict=True):
        if before != after:
            raise DoesNotApply(f"Text outside of the EVOLVE-BLOCKs was changed{_first_difference(before, after)}.")
    return found


def newline_of(text: str) -> str:
    """Return how lines of ``text`` end: as its first line does."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def lines_of(text: str) -> list[str]:
    """Return the lines of ``text`` as Python counts them, which ``str.splitlines`` does not."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _markers(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and kind of each marker."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            marker = _MARKER.match(token.string) if token.type == tokenize.COMMENT else None
            if marker:
                yield token.start[0], marker[1]
    except (tokenize.TokenError, SyntaxError) as problem:  # IndentationError is one
        raise BrokenMarkers(f"The program cannot be split into comments and code: {problem.args[0]}.") from None


def _first_difference(before: str, after: str) -> str:
    """Return which line differs first."""
    for old, new in zip_longest(lines_of(before), lines_of(after), fillvalue=""):
        if old != new:
            return (
                f": {old.strip()!r:.80} became {new.strip()!r:.80}" if old.strip() != new.strip() else ": white space"
            )
    return ""
