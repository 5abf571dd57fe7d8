"""Markdown that arrives in pieces, cut where what came before can be shown for good."""

from __future__ import annotations

import re

_FENCE = re.compile(r" *(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)")
_ITEM = re.compile(r"([-*+]|\d{1,9}[.)])(\s|$)")
_GOES_ON = re.compile(r"[ \t]+\S|([-*+]|\d{1,9}[.)])\s")
_UNDECIDED = re.compile(r"[ \t]*$|[-*+]$|\d{1,9}[.)]?$")


class Blocks:
    r"""Cuts a text into paragraphs, lists and fenced code, the same however it arrives; joined, they are the text.

    >>> blocks = Blocks()
    >>> blocks.feed("First.\n"), blocks.feed("\nSec"), blocks.feed("ond."), blocks.close()
    ([], ['First.\n\n'], [], 'Second.')
    """

    def __init__(self) -> None:
        self._block = ""
        self._rest = ""
        """What came of the line that has not ended yet."""
        self._fence = ""
        """What opened the code that runs."""
        self._paused = False
        """Whether the block, a list, may end with the next line."""

    def feed(self, text: str) -> list[str]:
        """Take in more of the text and return the blocks that it completes."""
        done: list[str] = []
        *lines, rest = (self._rest + text).split("\n")
        for line in lines:
            done += self._take(f"{line}\n")
        self._rest = rest
        if self._paused and not _UNDECIDED.match(rest) and not _GOES_ON.match(rest):
            done.append(self._end())
        return done

    def close(self) -> str:
        """Return what is left, which is the last block."""
        left = self._block + self._rest
        self._block = self._rest = self._fence = ""
        self._paused = False
        return left

    def _take(self, line: str) -> list[str]:
        done = []
        if self._paused and line.strip():
            if not _GOES_ON.match(line):
                done.append(self._end())
            self._paused = False
        self._block += line
        fence = _FENCE.match(line)
        if self._fence:
            if fence and fence["marks"].startswith(self._fence) and not fence["info"].strip():
                self._fence = ""
            return done
        if fence and not (fence["marks"][0] == "`" and "`" in fence["info"]):
            self._fence = fence["marks"]
        elif not line.strip() and self._block.strip():
            if _ITEM.match(self._block.lstrip("\n")):
                self._paused = True
            else:
                done.append(self._end())
        return done

    def _end(self) -> str:
        block, self._block, self._paused = self._block, "", False
        return block
