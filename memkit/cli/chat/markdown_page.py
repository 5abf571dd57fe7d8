"""What a conversation shows on a terminal: Markdown, drawn block by block, each once."""

from __future__ import annotations

from typing import Any

from markdown_it import MarkdownIt
from rich.console import Console
from rich.markdown import CodeBlock, Heading, Markdown
from rich.status import Status
from rich.syntax import Syntax
from rich.text import Text

from memkit.terminal import harmless


class MarkdownPage:
    """Draws the blocks of an answer, dim lines beside it, and a sign of waiting that leaves nothing behind."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, markup=False, emoji=False)
        self._sign: Status | None = None

    def block(self, text: str) -> None:
        """Draw a block of the answer."""
        self.still()
        self._console.print(Answer(harmless(text.strip("\n"))))

    def aside(self, text: str) -> None:
        """Draw a dim line on what happens beside the answer."""
        self.still()
        self._console.print(Text(harmless(f"· {text}"), style="dim"))

    def wait(self, doing: str) -> None:
        """Show what is worked on, until the next thing is drawn."""
        self.still()
        self._sign = self._console.status(Text(harmless(doing), style="dim", no_wrap=True, overflow="ellipsis"))
        self._sign.start()

    def still(self) -> None:
        """Take the sign of waiting away."""
        if self._sign is not None:
            self._sign.stop()
            self._sign = None


class _PlainHeading(Heading):
    """A heading at the left, where the answer begins."""

    def __rich_console__(self, console: Any, options: Any) -> Any:
        """Yield the words in bold."""
        self.text.justify = "left"
        self.text.stylize("bold")
        yield self.text


class _BareCode(CodeBlock):
    """Code in colours, on the terminal's own background."""

    def __rich_console__(self, console: Any, options: Any) -> Any:
        """Yield the code."""
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme="ansi_dark", background_color="default", word_wrap=True)


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
