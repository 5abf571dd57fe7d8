"""What a conversation shows on a terminal: Markdown, drawn block by block, code line by line, each once."""

from __future__ import annotations

import math
from typing import Any

from markdown_it import MarkdownIt
from rich.console import Console, RenderableType
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.segment import SegmentLines
from rich.status import Status
from rich.text import Text

from memkit.cli.chat.blocks import ITEM, Blocks, Piece
from memkit.cli.chat.code_lines import CodeLines, code, dedented
from memkit.terminal import harmless

LEVEL = 3
"""Columns by which rich sets in each level of a list."""


class MarkdownPage:
    """Draws an answer as it comes, dim lines beside it, and a sign of waiting that leaves nothing behind."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, markup=False, emoji=False)
        self._sign: Status | None = None
        self._blocks = Blocks()
        self._code: CodeLines | None = None
        """The code that runs."""
        self._is_apart = False
        """Whether an empty line belongs between what was drawn of the answer and what comes."""
        self._is_in_item = False
        """Whether what was drawn last belongs to the item of a list, which may go on without an empty line."""

    def say(self, text: str) -> None:
        """Draw what of the answer is complete now."""
        for piece in self._blocks.feed(text):
            self._take(piece)

    def end(self, *, is_remark: bool = False) -> None:
        """Draw what is left of the answer."""
        self.still()
        for piece in self._blocks.close():
            self._take(piece)
        self._code = None
        self._is_apart = self._is_in_item = False

    def aside(self, text: str) -> None:
        """Draw a dim line on what happens beside the answer."""
        self.still()
        self._console.print(Text(harmless(f"· {text}"), style="dim"))

    def wait(self, doing: str) -> None:
        """Show what is worked on, below the answer as it grows, until it ends or something else is drawn."""
        self.still()
        self._sign = self._console.status(Text(harmless(doing), style="dim", no_wrap=True, overflow="ellipsis"))
        self._sign.start()

    def still(self) -> None:
        """Take the sign of waiting away."""
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
            self._draw(self._below_item(Answer(dedented(text, piece.indent).strip("\n")), piece.indent))
            self._is_apart = True

    def _set_apart(self, *, goes_on: bool) -> None:
        """Leave an empty line before what comes, unless it goes on with an item of a list, or its list."""
        if self._is_apart and not goes_on:
            self._console.print()
        self._is_apart = False
        self._is_in_item |= goes_on

    def _below_item(self, drawing: RenderableType, indent: int) -> RenderableType:
        """Return a drawing below the words of the item to which it belongs."""
        if not indent:
            return drawing
        left = math.ceil(indent / LEVEL) * LEVEL
        return Padding(drawing, (0, 0, 0, min(left, self._console.width // 2)))

    def _draw(self, block: RenderableType) -> None:
        """Draw a block without the empty lines that some have around them."""
        rows = self._console.render_lines(block, pad=False)
        full = [number for number, row in enumerate(rows) if any(segment.text.strip() for segment in row)]
        if full:
            self._console.print(SegmentLines(rows[full[0] : full[-1] + 1], new_lines=True))


class _PlainHeading(Heading):
    """A heading at the left, where the answer begins."""

    def __rich_console__(self, console: Any, options: Any) -> Any:
        """Yield the words in bold."""
        self.text.justify = "left"
        self.text.stylize("bold")
        yield self.text


class _BareCode(CodeBlock):
    """Code that belongs to something else, such as an item of a list."""

    def __rich_console__(self, console: Any, options: Any) -> Any:
        """Yield the code."""
        yield code(str(self.text).rstrip(), self.lexer_name)


class Answer(Markdown):
    """Markdown in which nothing that a model wrote disappears or turns into something else.

    Tags, entities and definitions of links stay the text they are, the target of a link is shown, and a line ends where
    it ended.
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
