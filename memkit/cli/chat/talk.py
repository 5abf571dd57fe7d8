"""A conversation on a terminal."""

from __future__ import annotations

import contextlib

import click

from memkit.cli.chat.consent import ask_for_consent
from memkit.cli.chat.conversation import Conversation
from memkit.cli.chat.editor import Editor, open_editor
from memkit.cli.chat.leaving import Leaving
from memkit.cli.chat.plain_page import Page
from memkit.cli.chat.turn import ANSWERS, answer, finish_turn, is_slash
from memkit.cli.fitting import fitted
from memkit.cli.output import Front
from memkit.errors import NegativeAnswer
from memkit.terminal import harmless, one_line

COPIED = "/export"
"""The command whose lines are JSON, which somebody may copy."""
HINT = "Ctrl-C again leaves, and so does Ctrl-D."
KEPT = f"Interrupted; what was said so far stays. {HINT}"


def talk(front: Front, conversation: Conversation, page: Page, leaving: Leaving) -> None:
    """Answer what a person types until they leave: with ``/quit`` or Ctrl-D, or with Ctrl-C twice.

    Raises:
        NegativeAnswer: They left, and the disk did not take the last turn.
        KeyboardInterrupt: They left with Ctrl-C, or the program was told to end.
    """
    with contextlib.suppress(EOFError):
        ask_for_consent(front, conversation)
        front.note(fitted(f"Session {conversation.session}. /help lists the commands, /quit leaves."))
        for goal in conversation.agent.open_goals():
            page.aside(f"Still open: {one_line(goal.text, 160)}" + (f" [{goal.id}]" if goal.id else ""))
        for notice in conversation.notices():
            page.aside(notice["message"])
        _finish(front, conversation, page)
        _converse(front, conversation, page, leaving)
    if conversation.agent.session.fault is not None:
        raise NegativeAnswer(conversation.agent.session.fault)


def _finish(front: Front, conversation: Conversation, page: Page) -> None:
    """Let a turn that was cut off go on; where it cannot now, it does with the next message."""
    try:
        finish_turn(conversation)
    except ANSWERS as error:
        front.note(fitted(f"memkit: {error}"))
    page.still()


def _converse(front: Front, conversation: Conversation, page: Page, leaving: Leaving) -> None:
    editor, interrupted = open_editor(conversation), False
    while True:
        text = _read(editor, conversation, page, interrupted, leaving)
        interrupted = text is None
        if text is None or not text.strip():
            continue
        try:
            data = answer(conversation, text)
            if is_slash(text):
                shown = harmless(data["message"])
                click.echo(shown if text.split()[0] == COPIED else fitted(shown))
            interrupted = data["ended"] == "interrupted"
            if conversation.agent.session.fault is not None:
                page.still()
                front.note(f"memkit: {conversation.agent.session.fault}")
        except ANSWERS as error:
            page.still()
            front.note(fitted(f"memkit: {error}"))
        except KeyboardInterrupt:
            interrupted = True
        page.still()
        leaving.check()
        if interrupted:
            page.aside(KEPT)
        if text.strip() == "/quit":
            return


def _read(editor: Editor, conversation: Conversation, page: Page, interrupted: bool, leaving: Leaving) -> str | None:
    """Return the next message; None where Ctrl-C was pressed for the first time."""
    try:
        return editor.read(conversation.prompt)
    except KeyboardInterrupt:
        leaving.check()
        if interrupted:
            raise
        page.aside(HINT)
        return None
