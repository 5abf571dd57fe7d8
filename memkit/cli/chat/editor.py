"""How a person types on a terminal: with history, completion and several lines where the terminal can."""

from __future__ import annotations

from typing import Protocol

from memkit.cli.chat.conversation import TerminalConversation
from memkit.cli.display import is_able_terminal
from memkit.cli.output import GOES_ON, typed_line


class Editor(Protocol):
    """Reads what a person types."""

    def read(self, prompt: str) -> str:
        """Return the next message; raises ``EOFError`` at the end, ``KeyboardInterrupt`` at Ctrl-C."""


class PlainEditor:
    """Reads lines as the terminal itself edits them."""

    def read(self, prompt: str) -> str:
        """Return a line, and those that follow it after a backslash."""
        line = typed_line(prompt)
        while line.endswith(GOES_ON):
            line = f"{line.removesuffix(GOES_ON)}\n{typed_line('… ')}"
        return line


def open_editor(conversation: TerminalConversation) -> Editor:
    """Return the editor that fits the terminal."""
    if is_able_terminal():
        from memkit.cli.chat.line_editor import LineEditor

        return LineEditor(conversation)
    return PlainEditor()
