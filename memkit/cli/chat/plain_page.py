"""What a conversation prints as plain text: in a pipe, without colours, on a terminal that knows no more."""

from __future__ import annotations

from typing import Protocol

import click

from memkit.terminal import harmless


class Page(Protocol):
    """Where a turn is shown while it happens."""

    def block(self, text: str) -> None:
        """Show a block of the answer."""

    def aside(self, text: str) -> None:
        """Show a line on what happens beside the answer."""

    def wait(self, doing: str) -> None:
        """Show that something is worked on, until the next thing is shown."""

    def still(self) -> None:
        """Take the sign of waiting away."""


class PlainPage:
    """Prints text as it is, but for what a terminal would obey."""

    def block(self, text: str) -> None:
        """Print a block of the answer."""
        click.echo(harmless(text.strip("\n")))

    def aside(self, text: str) -> None:
        """Print a line on what happens beside the answer, on standard error."""
        click.echo(harmless(f"· {text}"), err=True)

    def wait(self, doing: str) -> None:
        """Print nothing: a sign that cannot be taken away again is no sign."""

    def still(self) -> None:
        """Do nothing, since nothing is shown."""
