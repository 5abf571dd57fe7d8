"""The three standard streams, usable whatever the caller did to them: closed, full, or of another encoding."""

from __future__ import annotations

import difflib
import importlib
import io
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, Self, TextIO

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.evolution.runs.evolution import Progress
from memkit.terminal import one_line


def prepare_streams() -> None:
    """Replace streams that are closed by the null device, and read and write UTF-8 on all of them.

    What cannot be decoded or encoded is written as an escape, so that no text of a store can end a command.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - open until the end
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def given_arguments() -> list[str]:
    """Return the command line's words as UTF-8, also where the locale says otherwise."""
    return [os.fsencode(word).decode("utf-8", "surrogateescape") for word in sys.argv[1:]]


def say(text: str, *, err: bool = False) -> None:
    """Print a last line where somebody can be told, and do nothing where the stream takes none."""
    try:
        click.echo(text, err=err)
        (sys.stderr if err else sys.stdout).flush()
    except OSError:
        discard(err=err)


def discard(*, err: bool = False) -> None:
    """Send what is still buffered to the null device, so that the interpreter does not complain about it at exit."""
    stream = sys.stderr if err else sys.stdout
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        stream.flush()
    except (OSError, ValueError):
        return


# What a person is told about a command line that click could not read.

NUMBERS = {"integer": "whole number", "float": "number"}
"""Click's names of types, and what everybody calls them."""


def usage_line(error: click.UsageError) -> str:
    """Return what is wrong with the command line and what to do, as one line of sentences."""
    said = re.sub(
        r"a valid (integer|float)(?: range)?\b", lambda found: f"a {NUMBERS[found[1]]}", error.format_message()
    )
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option) and error.param.help:
        said = f"{said.removesuffix('.')}: {error.param.help}"
    said += "" if said.endswith((".", "?", ")")) and "extra argument" not in said else "."
    if "unexpected extra argument" in said and error.ctx is not None:
        takes_words = any(isinstance(param, click.Argument) for param in error.ctx.command.params)
        said += " Put several words in quotes." if takes_words else " Everything here is an option."
    return said + (f" Try '{error.ctx.command_path} --help'." if error.ctx is not None else "")


# How far a run of evolution is: a bar that is drawn over on a terminal, now and then a line elsewhere.

_EVERY = 5.0
"""Seconds between two lines, where no program became the best."""
_BAR = 24


class GenerationProgress:
    """Shows each generation; used as a block, it leaves the terminal clean."""

    def __init__(self, front: Front, stream: TextIO) -> None:
        self._front, self._stream = front, stream
        self._is_terminal = stream.isatty()
        self._last = time.monotonic()
        self._is_drawn = False

    def __call__(self, progress: Progress) -> None:
        """Show how the run stands."""
        if self._is_terminal:
            width = shutil.get_terminal_size().columns
            self._stream.write(f"\r\x1b[K{one_line(f'{_bar(progress)} {_words(progress)}', width - 1)}")
            self._stream.flush()
            self._is_drawn = True
            return
        now = time.monotonic()
        if progress.improved or now - self._last >= _EVERY:
            self._last = now
            self._front.note(_words(progress))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._is_drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _bar(progress: Progress) -> str:
    done = round(_BAR * min(1.0, progress.generation / progress.generations))
    return f"[{'#' * done}{'.' * (_BAR - done)}]"


def _words(progress: Progress) -> str:
    best = "nothing scored yet" if progress.best is None else f"best {progress.best:.6g}"
    rate = f", {progress.evaluations / progress.seconds:.0f}/s" if progress.seconds else ""
    spent = "".join(f", {value:g} {name}" for name, value in progress.spent.items() if value)
    done = f"generation {progress.generation} of {progress.generations}"
    return f"{done}: {best}, {progress.evaluations} judged{rate}{spent}"


# Ctrl-C during work that stops at a good moment: the first asks for it, the second ends at once.

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """Tells, when called, whether somebody asked to stop; takes the signals for the time of a block."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._asked = False
        self._before: dict[signal.Signals, object] = {}

    def __call__(self) -> bool:
        """Return whether to stop."""
        return self._asked

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        self._front.note("Stopping after this generation; Ctrl-C again stops at once and repeats it on resume.")

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._take) for number in _SIGNALS}
        return self

    def __exit__(self, *_exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]


# Commands whose first argument is anything, except for a few words that are commands of their own.

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
            return self._own_context(info_name, args, parent, place, extra)
        return command.make_context(f"{info_name} {args[place]}", [*args[:place], *args[place + 1 :]], parent, **extra)

    def _own_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None, place: int, extra: dict[str, Any]
    ) -> click.Context:
        """Return the context of this command; what is wrong with it may be that a word was misspelt."""
        first = args[place] if place < len(args) else ""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.NoSuchOption as error:
            meant = misspelt(first, self.words, f"memkit {info_name}")
            if not meant:
                raise
            raise click.UsageError(f"{error.message.rstrip('.')}.{meant}", error.ctx) from None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the words with what each does."""
        with formatter.section("Words"):
            formatter.write_dl([(word, text) for word, (_, text) in self.words.items()])


def misspelt(word: str, words: Mapping[str, tuple[str, str]], command: str) -> str:
    """Return `` Did you mean 'memkit plan verify'?`` where somebody may have meant one of ``words``, else nothing."""
    near = difflib.get_close_matches(word, words, n=1)
    return f" Did you mean '{command} {near[0]}'?" if near else ""


def _first_word(args: Sequence[str]) -> int:
    """Return the place of the first argument behind options that every command takes."""
    place = 0
    while place < len(args) and (args[place] in (*_FLAGS, _VALUED) or args[place].startswith(f"{_VALUED}=")):
        place += 2 if args[place] == _VALUED else 1
    return place
