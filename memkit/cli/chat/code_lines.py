"""Fenced code, drawn line by line as it comes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.syntax import Syntax

from memkit.cli.chat.blocks import FENCE

LOOKED_BACK = 100
"""Lines before a new one that decide in which colours it is drawn: enough for a long string, and soon read again."""


def code(text: str, language: str, lines: tuple[int, int] | None = None) -> Syntax:
    """Return code in colours, on the terminal's own background; of it only ``lines`` where they are given."""
    return Syntax(text, language, theme="ansi_dark", background_color="default", word_wrap=True, line_range=lines)


def dedented(text: str, indent: int) -> str:
    r"""Return lines without the spaces that what they belong to has, too, as far as they have them.

    >>> dedented("  one\n    two\nthree", 2)
    'one\n  two\nthree'
    """
    return re.sub(rf"(?m)^ {{1,{indent}}}", "", text) if indent else text


class CodeLines:
    """The code of one fence as far as it came; empty lines wait for one that is not, as the last ones are not drawn."""

    def __init__(self, opening: str) -> None:
        """Begin behind a line that opens a fence."""
        fence = FENCE.match(opening)
        self._indent = len(fence["indent"]) if fence else 0
        self._language = (fence["info"].split() if fence else []) or ["text"]
        self._lines: list[str] = []
        self._drawn = 0

    @property
    def is_begun(self) -> bool:
        """Return whether any of it was drawn."""
        return self._drawn > 0

    def more(self, text: str) -> Iterator[Syntax]:
        """Take in more lines and yield the drawing of those that can be shown now."""
        self._lines += dedented(text.removesuffix("\n"), self._indent).split("\n")
        end = len(self._lines)
        while end > self._drawn and not self._lines[end - 1].strip():
            end -= 1
        if end > self._drawn:
            begin = max(0, self._drawn - LOOKED_BACK)
            known = "\n".join(self._lines[begin:end])
            yield code(known, self._language[0], (self._drawn - begin + 1, end - begin))
            self._drawn = end
