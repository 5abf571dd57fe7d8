"""Kinds of arguments that several commands take."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, TextIO

import click

from memkit.errors import UsageError
from memkit.terminal import harmless

# The terminal that a person types on, and the lines that are asked for there, on standard error.

GOES_ON = "\\"
"""At the end of a line it says that another one follows."""


def is_able_terminal(stream: TextIO | None = None) -> bool:
    """Return whether standard output, or ``stream``, is a terminal on which more can be done than print lines.

    A screen reader (``ACCESSIBLE``) reads lines; what is drawn anew it would read again and again.
    """
    able = (os.environ.get("TERM") or "dumb") not in ("dumb", "unknown") and not os.environ.get("ACCESSIBLE")
    return able and (stream or sys.stdout).isatty()


def typed_line(question: str) -> str:
    """Return what is typed after ``question``, without its end of line; raises ``EOFError`` when nothing comes."""
    click.echo(harmless(question), nl=False, err=True)
    line = sys.stdin.readline()
    if not line:
        click.echo(err=True)
        raise EOFError
    return line.rstrip("\r\n")


def given_text(text: str) -> str:
    """Return a text of the command line, or for "-" what standard input holds; raises ``UsageError`` for no text."""
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise UsageError(f"Standard input is not UTF-8 at byte {error.start}.") from None


def forget_typed_ahead() -> None:
    """Drop what was typed before a question was shown, so that nothing typed for another purpose answers it."""
    try:
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (ImportError, OSError, ValueError, termios.error):
        return  # no terminal, or none that can be asked


# Named values on the command line: ``k=v`` is text, ``k:=JSON`` has a type.


def read_pairs(pairs: Sequence[str], option: str, reserved: Sequence[str] = ()) -> dict[str, Any]:
    """Return ``k=v`` as text and ``k:=JSON`` as data; raises ``UsageError`` for what is neither, or is reserved."""
    values: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        typed = key.endswith(":")
        key = key.removesuffix(":")
        if not sign or not key:
            raise UsageError(f"{option} {pair!r} is not K=V or K:=JSON.")
        if key in values:
            raise UsageError(f"{option} {key} is given twice.")
        if key in reserved:
            raise UsageError(f"{option} {key}: that is what the conversation makes of it, and no host can set it.")
        values[key] = _json(value, pair, option) if typed else value
    return values


def _json(value: str, pair: str, option: str) -> Any:
    try:
        return json.loads(value, parse_constant=_refuse_constant, object_pairs_hook=_without_twins)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is a ValueError
        raise UsageError(f"{option} {pair!r}: what follows := is not JSON ({error}). For text write K=V.") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")


def _without_twins(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        twin = next(key for place, (key, _) in enumerate(members) if key in dict(members[:place]))
        raise ValueError(f"the key {twin!r} stands there twice")
    return found


# Numbers that options take.


class Positive(click.FloatRange):
    """A finite number above 0."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; ``inf`` and ``nan``, which a range lets through, are bad usage."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


POSITIVE = Positive()


# Lines that are broken between words where a terminal would break them anywhere.

COLUMN = re.compile(r"\s*\S.*?\s{2,}(?=\S)")
"""What stands before the last column of a line, by the gap behind it."""


def fitted(text: str) -> str:
    """Return ``text`` as the terminal shows it best; unchanged where it goes into a file or a pipe."""
    if not sys.stdout.isatty():
        return text
    import shutil

    width = shutil.get_terminal_size().columns
    return "\n".join(broken(line, width) for line in text.split("\n"))


def broken(line: str, width: int) -> str:
    """Return a line in pieces of at most ``width`` characters, what follows the first below its second column.

    A word that is longer stays whole, so that it can be copied.

    >>> print(broken("/core  Show core memory.", 20))
    /core  Show core
           memory.
    """
    if len(line) <= width:
        return line
    column = COLUMN.match(line)
    if column and len(column[0]) <= width // 2:
        first, below = column[0], " " * len(column[0])
    else:
        first = line[: len(line) - len(line.lstrip())]
        below = f"{first}  "
    pieces = textwrap.wrap(
        line[len(first) :],
        width,
        initial_indent=first,
        subsequent_indent=below,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(pieces)
