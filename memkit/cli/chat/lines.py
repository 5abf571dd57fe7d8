"""A conversation through a pipe: each line of standard input is a turn, each answer a line of JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from memkit.cli.chat.conversation import Conversation
from memkit.cli.chat.turn import ANSWERS, OK, answer, code_of
from memkit.cli.output import diagnostic, envelope, harmless_json
from memkit.errors import UsageError
from memkit.runtime.loop.events import Event

MOST = 1_000_000
"""Characters of one message."""
TOO_LONG = f"A message may have {MOST:,} characters, and this one has more. Nothing of it was answered."


def answer_lines(conversation: Conversation) -> None:
    """Answer each line with a line; one that cannot be answered says so and does not stop those after it."""
    code = 0
    for number, line in input_lines():
        try:
            if line is None:
                raise UsageError(TOO_LONG)
            data = answer(conversation, line)
            ended = code_of(conversation, data)
            _print(envelope("chat", data, ok=ended in OK, diagnostics=conversation.notices()))
            code = code or (0 if ended in OK else ended)
            if data["ended"] == "interrupted":
                raise KeyboardInterrupt
        except ANSWERS as error:
            finding = diagnostic(str(getattr(error, "code", "error")), str(error), line=number)
            _print(envelope("chat", None, ok=False, diagnostics=[finding]))
            code = code or error.exit_code
        if line is not None and line.strip() == "/quit":
            break
    raise click.exceptions.Exit(code)


def input_lines() -> Iterator[tuple[int, str | None]]:
    """Yield the lines of standard input that hold something, numbered; None for one too long, which is passed over."""
    number = 0
    while line := sys.stdin.readline(MOST + 1):
        number += 1
        if len(line) > MOST and not line.endswith("\n"):
            while (rest := sys.stdin.readline(MOST)) and not rest.endswith("\n"):
                pass
            yield number, None
        elif line.strip():
            yield number, line.rstrip("\n")


def whole_input() -> str:
    """Return all of standard input as one message; raises ``UsageError`` where it is too long for one."""
    text = sys.stdin.read(MOST + 1)
    if len(text) > MOST:
        raise UsageError(TOO_LONG)
    return text


def print_event(event: Event) -> None:
    """Print an event of a turn as a line of JSON."""
    _print(harmless_json({"schema": "memkit.chat.event/1", "kind": event.kind, "data": dict(event.data)}))


def _print(line: str) -> None:
    click.echo(line)
    sys.stdout.flush()
