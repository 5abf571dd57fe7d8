"""The terminal that a person types on, and the lines that are asked for there, on standard error."""

from __future__ import annotations

import os
import sys

import click

from memkit.terminal import harmless


def is_able_terminal() -> bool:
    """Return whether standard output is a terminal on which more can be done than print lines."""
    return sys.stdout.isatty() and (os.environ.get("TERM") or "dumb") not in ("dumb", "unknown")


def typed_line(question: str) -> str:
    """Return what is typed after ``question``, without its end of line; raises ``EOFError`` when nothing comes."""
    click.echo(harmless(question), nl=False, err=True)
    line = sys.stdin.readline()
    if not line:
        click.echo(err=True)
        raise EOFError
    return line.rstrip("\r\n")


def forget_typed_ahead() -> None:
    """Drop what was typed before a question was shown, so that nothing typed for another purpose answers it."""
    try:
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (ImportError, OSError, ValueError, termios.error):
        return  # no terminal, or none that can be asked
