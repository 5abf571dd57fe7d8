"""What a conversation prints as plain text: without colours, on a terminal that knows no more."""

from __future__ import annotations

from typing import Protocol

import click

from memkit.cli.fitting import fitted
from memkit.terminal import harmless


class Page(Protocol):
    """Where a turn is shown while it happens."""

    def say(self, text: str) -> None:
        """Show more of the answer."""

    def end(self, *, is_remark: bool = False) -> None:
        """Show what is held back of the answer, or of what a model remarked before a call: it is complete."""

    def aside(self, text: str) -> None:
        """Show a line on what happens beside the answer."""

    def wait(self, doing: str) -> None:
        """Show that something is worked on, until the next thing is shown."""

    def still(self) -> None:
        """Make room for something else, such as a question."""


class PlainPage:
    """Prints text as it comes and as it is, but for what a terminal would obey."""

    def __init__(self) -> None:
        self._is_within_line = False

    def say(self, text: str) -> None:
        """Print more of the answer."""
        text = text if self._is_within_line else text.lstrip("\n")
        click.echo(harmless(text), nl=False)
        self._is_within_line |= bool(text)

    def end(self, *, is_remark: bool = False) -> None:
        """End the line."""
        if self._is_within_line:
            self._is_within_line = False
            click.echo()

    def aside(self, text: str) -> None:
        """Print a line on what happens beside the answer, on standard error."""
        self.end()
        click.echo(fitted(harmless(f"· {text}")), err=True)

    def wait(self, doing: str) -> None:
        """Print nothing: a sign that cannot be taken away again is no sign."""

    def still(self) -> None:
        """End the line."""
        self.end()
