"""Commands whose first argument is anything, except for a few words that are commands of their own."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, ClassVar

import click

from memkit.cli.output import MemkitCommand

_FLAGS = ("--json", "--no-input", "--debug")


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
        first = next((word for word in args if word not in _FLAGS), "")
        command = self.command_of(first)
        if command is None:
            return super().make_context(info_name, args, parent, **extra)
        rest = list(args)
        rest.remove(first)
        return command.make_context(f"{info_name} {first}", rest, parent, **extra)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the words with what each does."""
        with formatter.section("Words"):
            formatter.write_dl([(word, text) for word, (_, text) in self.words.items()])
