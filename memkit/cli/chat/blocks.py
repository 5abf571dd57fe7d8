"""Markdown that arrives in pieces, cut where what came before can be shown for good."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

FENCE = re.compile(r"(?P<indent> *)(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)")
ITEM = re.compile(r"([-*+]|\d{1,9}[.)])(\s|$)")
_GOES_ON = re.compile(r"[ \t]+\S|([-*+]|\d{1,9}[.)])\s")
_UNDECIDED = re.compile(r"[ \t]*$|[-*+]$|\d{1,9}[.)]?$")
_MOST_INDENTED = 3
"""Spaces before a fence; behind more of them it is text, or belongs to an item of a list."""
_IN_ITEM = 2
"""Spaces from which on a fence may belong to an item."""
_HALF_FENCE = re.compile(r" *(`{1,2}|~{1,2})$")
"""A line that broke off where code was to begin or to end."""


class Piece(NamedTuple):
    """Text that nothing which follows can change any more."""

    kind: Literal["block", "opening", "code", "closing"]
    """A block as a whole, or of fenced code: the opening fence, lines, the closing fence."""
    text: str
    indent: int = 0
    """Spaces before its lines where it goes on with the item of a list that came before."""


class Blocks:
    r"""Cuts a text into paragraphs, lists and lines of code, the same however it arrives; joined, they are the text.

    >>> blocks = Blocks()
    >>> [[piece.text for piece in blocks.feed(text)] for text in ("First.\n", "\nSec", "ond.\n```\nx =", " 1\n")]
    [[], ['First.\n\n'], ['Second.\n', '```\n'], ['x = 1\n']]
    >>> blocks.close()
    []
    """

    def __init__(self) -> None:
        self._block = ""
        self._rest = ""
        """What came of the line that has not ended yet."""
        self._fence = ""
        """What opened the code that runs."""
        self._shows_code = False
        """Whether the code that runs is shown as such, so that its lines are pieces."""
        self._item = 0
        """Spaces before what goes on with the item in which code stood."""
        self._paused = False
        """Whether the block, a list, may end with the next line."""

    def feed(self, text: str) -> list[Piece]:
        """Take in more of the text and return the pieces that it completes."""
        done: list[Piece] = []
        *lines, rest = (self._rest + text).split("\n")
        for line in lines:
            done += self._take(f"{line}\n")
        self._rest = rest
        if self._paused and not _UNDECIDED.match(rest) and not _GOES_ON.match(rest):
            done += self._end()
        return _joined(done)

    def close(self) -> list[Piece]:
        """Return what is left."""
        if _HALF_FENCE.match(self._rest):
            left = [*self._end(), Piece("closing", self._rest, self._item)]
        else:
            left = self._take(self._rest) if self._rest else []
            left += self._end()
        self._rest = self._fence = ""
        self._shows_code, self._item = False, 0
        return _joined(left)

    def _take(self, line: str) -> list[Piece]:
        done: list[Piece] = []
        fence = FENCE.match(line)
        if self._shows_code:
            return [Piece("closing" if self._closes(fence) else "code", line, self._item)]
        if self._paused and line.strip():
            if not _GOES_ON.match(line):
                done += self._end()
            self._paused = False
        if self._fence:
            self._block += line
            self._closes(fence)
            return done
        if self._item and line.strip() and not line.startswith(" " * self._item):
            done += self._end()
            self._item = 0
        if fence and not (fence["marks"][0] == "`" and "`" in fence["info"]):
            self._fence = fence["marks"]
            inner = self._item_of(len(fence["indent"]))
            self._shows_code = bool(inner) or len(fence["indent"]) <= _MOST_INDENTED
            if self._shows_code:
                done += self._end()
                self._item = inner
                return [*done, Piece("opening", line, inner)]
        self._block += line
        if not self._fence and not line.strip() and self._block.strip():
            if self._is_list():
                self._paused = True
            else:
                done += self._end()
        return done

    def _item_of(self, indent: int) -> int:
        """Return how many spaces stand before what belongs to the same item as code does; none where to no item."""
        if self._is_list() and indent >= self._item + _IN_ITEM:
            return indent
        return self._item

    def _closes(self, fence: re.Match[str] | None) -> bool:
        """Return whether a line ends the code that runs, and note it."""
        if fence is None or not fence["marks"].startswith(self._fence) or fence["info"].strip():
            return False
        self._fence, self._shows_code = "", False
        return True

    def _is_list(self) -> bool:
        return bool(ITEM.match(self._block.lstrip("\n")[self._item :]))

    def _end(self) -> list[Piece]:
        block, self._block, self._paused = self._block, "", False
        return [Piece("block", block, self._item)] if block else []


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Return pieces in which lines of code that came together are one."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and joined[-1].kind == piece.kind == "code":
            joined[-1] = joined[-1]._replace(text=joined[-1].text + piece.text)
        else:
            joined.append(piece)
    return joined
