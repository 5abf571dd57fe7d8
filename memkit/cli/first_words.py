"""Commands whose first argument is anything, except for a few words that are commands of their own."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import click

from memkit.cli.output import MemkitCommand

_FLAGS = ("--json", "--no-input", "--debug")
_VALUED = "--store"


class FirstWordsCommand(MemkitCommand):
    """A command that steps aside where its first word is one of ``words``."""

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
        """Return the context of this command, or of the one that the first word stands for."""
        place = _first_word(args)
        command = self.command_of(args[place]) if place < len(args) else None
        if command is None:
            return super().make_context(info_name, args, parent, **extra)
        return command.make_context(f"{info_name} {args[place]}", [*args[:place], *args[place + 1 :]], parent, **extra)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the words with what each does."""
        with formatter.section("Words"):
            formatter.write_dl([(word, text) for word, (_, text) in self.words.items()])


def _first_word(args: Sequence[str]) -> int:
    """Return the place of the first argument behind options that every command takes."""
    place = 0
    while place < len(args) and (args[place] in (*_FLAGS, _VALUED) or args[place].startswith(f"{_VALUED}=")):
        place += 2 if args[place] == _VALUED else 1
    return place
