"""A conversation through a pipe: each line of standard input is a turn, each answer a line of JSON."""

from __future__ import annotations

import sys

import click

from memkit.cli.chat.conversation import Conversation
from memkit.cli.chat.turn import ANSWERS, answer
from memkit.cli.output import diagnostic, envelope


def answer_lines(conversation: Conversation) -> None:
    """Answer each line with a line; one that cannot be answered says so and does not stop those after it."""
    code = 0
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            data = answer(conversation, line.rstrip("\n"))
            click.echo(envelope("chat", data, ok=True, diagnostics=conversation.notices()))
        except ANSWERS as error:
            finding = diagnostic(str(getattr(error, "code", "error")), str(error))
            click.echo(envelope("chat", None, ok=False, diagnostics=[finding]))
            code = code or error.exit_code
        sys.stdout.flush()
        if line.strip() == "/quit":
            break
    raise click.exceptions.Exit(code)
