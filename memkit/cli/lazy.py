"""Groups that know the name and help line of every command in them, and import a command when it runs."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

from memkit.cli.output import MemkitGroup, suggestion

Commands = Mapping[str, tuple[str, str]]
"""Command name → (``module:attribute``, its line in the help)."""


class LazyGroup(MemkitGroup):
    """A group made of a table: its help and its completion import nothing but the table."""

    def __init__(self, *args: Any, table: Commands, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names in the order in which a newcomer meets them."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command, or None for an unknown name."""
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.table[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command to run; click would import all of them to suggest one for a misspelt name."""
        if args and args[0] not in self.table and not args[0].startswith("-"):
            ctx.fail(f"No such command '{args[0]}'.{suggestion(args[0], self.table)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command table without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Return completions for command names and options without importing a command."""
        from click.shell_completion import CompletionItem

        fitting = {name: text for name, (_, text) in self.table.items() if name.startswith(incomplete)}
        names = [CompletionItem(name, help=text) for name, text in fitting.items()]
        return names + click.Command.shell_complete(self, ctx, incomplete)
