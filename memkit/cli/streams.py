"""The three standard streams, usable whatever the caller did to them: closed, full, or of another encoding."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import click


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
