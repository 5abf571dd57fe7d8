"""Display of a conversation on a terminal: Markdown, drawn once, block by block and code line by line."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from markdown_it import MarkdownIt
from rich.console import Console, RenderableType
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.segment import SegmentLines
from rich.status import Status
from rich.syntax import Syntax
from rich.text import Text

from memkit.runtime.host.terminal import harmless

# Markdown that arrives in pieces, split where the text before is final.

FENCE = re.compile(r"(?P<indent> *)(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)")
ITEM = re.compile(r"([-*+]|\d{1,9}[.)])(\s|$)")
_GOES_ON = re.compile(r"[ \t]+\S|([-*+]|\d{1,9}[.)])\s")
_UNDECIDED = re.compile(r"[ \t]*$|[-*+]$|\d{1,9}[.)]?$")
_MOST_INDENTED = 3
"""The most spaces before a fence; with more it is text, or belongs to an item of a list."""
_IN_ITEM = 2
"""Number of spaces from which a fence may belong to an item."""
_HALF_FENCE = re.compile(r" *(`{1,2}|~{1,2})$")
"""A line that ended in the middle of a code mark."""


class Piece(NamedTuple):
    """Text that later input can no longer change."""

    kind: Literal["block", "opening", "code", "closing"]
    """A whole block, or a part of fenced code: the opening fence, lines, the closing fence."""
    text: str
    indent: int = 0
    """Spaces before its lines if it continues an earlier item of a list."""


class Blocks:
    r"""Splits a text into paragraphs, lists and lines of code, however it arrives; joined, they give the text.

    >>> blocks = Blocks()
    >>> [[piece.text for piece in blocks.feed(text)] for text in ("First.\n", "\nSec", "ond.\n```\nx =", " 1\n")]
    [[], ['First.\n\n'], ['Second.\n', '```\n'], ['x = 1\n']]
    >>> blocks.close()
    []
    """

    def __init__(self) -> None:
        self._block = ""
        self._rest = ""
        """The part that has arrived of the current line."""
        self._fence = ""
        """The fence that opened the current code."""
        self._shows_code = False
        """Whether the current code is displayed as code, so that its lines are pieces."""
        self._item = 0
        """Spaces before the continuation of the item that held code."""
        self._paused = False
        """Whether the block, a list, may end with the next line."""

    def feed(self, text: str) -> list[Piece]:
        """Add more of the text and return the pieces that it completes."""
        done: list[Piece] = []
        *lines, rest = (self._rest + text).split("\n")
        for line in lines:
            done += self._take(f"{line}\n")
        self._rest = rest
        if self._paused and not _UNDECIDED.match(rest) and not _GOES_ON.match(rest):
            done += self._end()
        return _joined(done)

    def close(self) -> list[Piece]:
        """Return the remaining pieces."""
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
        """Return the indent of text in the same item as code; zero if it belongs to none."""
        if self._is_list() and indent >= self._item + _IN_ITEM:
            return indent
        return self._item

    def _closes(self, fence: re.Match[str] | None) -> bool:
        """Return whether a line ends the current code, and record it."""
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
    """Return the pieces with lines of code that arrived together joined into one."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and joined[-1].kind == piece.kind == "code":
            joined[-1] = joined[-1]._replace(text=joined[-1].text + piece.text)
        else:
            joined.append(piece)
    return joined


# Fenced code, drawn line by line as it arrives.

LOOKED_BACK = 100
"""Lines before a new one that decide its colours: enough for a long string, and quick to read again."""


def code(text: str, language: str, lines: tuple[int, int] | None = None) -> Syntax:
    """Return highlighted code on the terminal's own background; only ``lines`` of it, if given."""
    return Syntax(text, language, theme="ansi_dark", background_color="default", word_wrap=True, line_range=lines)


def dedented(text: str, indent: int) -> str:
    r"""Return lines without the indent of the item they belong to, as far as they have it.

    >>> dedented("  one\n    two\nthree", 2)
    'one\n  two\nthree'
    """
    return re.sub(rf"(?m)^ {{1,{indent}}}", "", text) if indent else text


class CodeLines:
    """The code of one fence so far; empty lines wait for a non-empty one, because trailing ones are not drawn."""

    def __init__(self, opening: str) -> None:
        """Begin after a line that opens a fence."""
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
        """Add more lines and yield drawings of those that can be displayed now."""
        self._lines += dedented(text.removesuffix("\n"), self._indent).split("\n")
        end = len(self._lines)
        while end > self._drawn and not self._lines[end - 1].strip():
            end -= 1
        if end > self._drawn:
            begin = max(0, self._drawn - LOOKED_BACK)
            known = "\n".join(self._lines[begin:end])
            yield code(known, self._language[0], (self._drawn - begin + 1, end - begin))
            self._drawn = end


# Display of a conversation on a terminal: Markdown, drawn once, block by block and code line by line.

LEVEL = 3
"""Columns by which rich indents each level of a list."""


class MarkdownPage:
    """Draws an answer as it arrives, dim lines beside it, and a progress sign that leaves nothing behind."""

    def __init__(self, console: Console | None = None, *, is_markdown: bool = True) -> None:
        self._drawn = SafeMarkdown if is_markdown else Text
        self._console = console or Console(highlight=False, markup=False, emoji=False)
        self._sign: Status | None = None
        self._blocks = Blocks()
        self._code: CodeLines | None = None
        """The current code."""
        self._is_apart = False
        """Whether an empty line belongs between the drawn part of the answer and the next."""
        self._is_in_item = False
        """Whether the last drawn block belongs to a list item, which may continue without an empty line."""

    def say(self, text: str) -> None:
        """Draw the part of the answer that is complete."""
        for piece in self._blocks.feed(text):
            self._take(piece)

    def end(self, *, is_remark: bool = False) -> None:
        """Draw the rest of the answer."""
        self.still()
        for piece in self._blocks.close():
            self._take(piece)
        self._code = None
        self._is_apart = self._is_in_item = False

    def aside(self, text: str) -> None:
        """Draw a dim line about an event beside the answer."""
        self.still()
        self._console.print(Text(harmless(f"· {text}"), style="dim"))

    def wait(self, doing: str) -> None:
        """Show the current activity below the answer until it ends or something else is drawn."""
        self.still()
        self._sign = self._console.status(Text(harmless(doing), style="dim", no_wrap=True, overflow="ellipsis"))
        self._sign.start()

    def still(self) -> None:
        """Remove the progress sign."""
        if self._sign is not None:
            self._sign.stop()
            self._sign = None

    def _take(self, piece: Piece) -> None:
        text = harmless(piece.text)
        if piece.kind == "opening":
            self._code = CodeLines(text)
        elif piece.kind == "closing":
            self._is_apart |= self._code is not None and self._code.is_begun
            self._code = None
        elif self._code is not None:
            for drawing in self._code.more(text):
                self._set_apart(goes_on=piece.indent > 0)
                self._console.print(self._below_item(drawing, piece.indent))
        elif text.strip():
            self._set_apart(
                goes_on=piece.indent > 0 or (self._is_in_item and ITEM.match(text.lstrip("\n")) is not None)
            )
            self._is_in_item = piece.indent > 0
            self._draw(self._below_item(self._drawn(dedented(text, piece.indent).strip("\n")), piece.indent))
            self._is_apart = True

    def _set_apart(self, *, goes_on: bool) -> None:
        """Leave an empty line before the next block, unless it continues a list or one of its items."""
        if self._is_apart and not goes_on:
            self._console.print()
        self._is_apart = False
        self._is_in_item |= goes_on

    def _below_item(self, drawing: RenderableType, indent: int) -> RenderableType:
        """Return a drawing below the words of the item that it belongs to."""
        if not indent:
            return drawing
        left = math.ceil(indent / LEVEL) * LEVEL
        return Padding(drawing, (0, 0, 0, min(left, self._console.width // 2)))

    def _draw(self, block: RenderableType) -> None:
        """Draw a block without the empty lines around it."""
        rows = self._console.render_lines(block, pad=False)
        full = [number for number, row in enumerate(rows) if any(segment.text.strip() for segment in row)]
        if full:
            self._console.print(SegmentLines(rows[full[0] : full[-1] + 1], new_lines=True))


class _PlainHeading(Heading):
    """A heading aligned left with the answer."""

    def __rich_console__(self, console: Any, options: Any) -> Any:
        """Yield the words in bold."""
        self.text.justify = "left"
        self.text.stylize("bold")
        yield self.text


class _BareCode(CodeBlock):
    """Code inside another block, such as an item of a list."""

    def __rich_console__(self, console: Any, options: Any) -> Any:
        """Yield the code."""
        yield code(str(self.text).rstrip(), self.lexer_name)


class SafeMarkdown(Markdown):
    """Markdown that neither drops nor reinterprets anything a model wrote.

    Tags, entities and link definitions stay plain text, link targets are shown, and line breaks are kept.
    """

    elements = {  # noqa: RUF012 - as rich declares it
        **Markdown.elements, "heading_open": _PlainHeading, "fence": _BareCode, "code_block": _BareCode,
    }  # fmt: skip

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False, justify="default")
        parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
        self.parsed = parser.disable(["entity", "reference", "html_block", "html_inline", "image"]).parse(text)
        for token in self.parsed:
            for child in token.children or ():
                if child.type == "softbreak":
                    child.type = "hardbreak"
