"""Commands whose first argument is free, except for a few words that are subcommands."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import click

from memkit.cli.output import MemkitCommand

_FLAGS = ("--json", "--no-input", "--debug")
_VALUED = "--store"


class FirstWordsCommand(MemkitCommand):
    """A command that defers to another one if its first word is in ``words``."""

    words: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Word → (``module:attribute`` of its command, its line in the help)."""

    def command_of(self, word: str) -> click.Command | None:
        """Return the command that a word stands for."""
        if word not in self.words:
            return None
        module, _, attribute = self.words[word][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of this command, or of the subcommand that the first word names."""
        place = _first_word(args)
        command = self.command_of(args[place]) if place < len(args) else None
        if command is None:
            return self._own_context(info_name, args, parent, place, extra)
        return command.make_context(f"{info_name} {args[place]}", [*args[:place], *args[place + 1 :]], parent, **extra)

    def _own_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None, place: int, extra: dict[str, Any]
    ) -> click.Context:
        """Return the context of this command; an error may be due to a misspelt word."""
        first = args[place] if place < len(args) else ""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.NoSuchOption as error:
            meant = misspelt(first, self.words, f"memkit {info_name}")
            if not meant:
                raise
            raise click.UsageError(f"{error.message.rstrip('.')}.{meant}", error.ctx) from None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the words with their descriptions."""
        with formatter.section("Words"):
            formatter.write_dl([(word, text) for word, (_, text) in self.words.items()])
        super().format_epilog(ctx, formatter)


def misspelt(word: str, words: Mapping[str, tuple[str, str]], command: str) -> str:
    """Return `` Did you mean 'memkit plan verify'?`` if one of ``words`` was probably meant, else an empty string."""
    near = difflib.get_close_matches(word, words, n=1)
    return f" Did you mean '{command} {near[0]}'?" if near else ""


def _first_word(args: Sequence[str]) -> int:
    """Return the index of the first argument after the options common to all commands."""
    place = 0
    while place < len(args) and (args[place] in (*_FLAGS, _VALUED) or args[place].startswith(f"{_VALUED}=")):
        place += 2 if args[place] == _VALUED else 1
    return place
