"""A conversation on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import click

from memkit.cli.chat.conversation import Conversation
from memkit.cli.chat.turn import ANSWERS, answer
from memkit.cli.output import Front, yes_or_no
from memkit.terminal import harmless

CONSENT_QUESTION = "May I remember what you tell me for later sessions? (You can withdraw that at any time.)"


def talk(front: Front, conversation: Conversation) -> None:
    """Answer what a person types, line by line, until they leave."""
    _ask_for_consent(front, conversation)
    click.echo(f"Session {harmless(conversation.session)}. /help lists the commands, /quit leaves.")
    for line in _typed():
        if not line.strip():
            continue
        try:
            data = answer(conversation, line)
        except ANSWERS as error:
            front.note(f"memkit: {error}")
            continue
        click.echo(harmless(data["message"]))
        if line.strip() == "/quit":
            return


def _typed() -> Iterator[str]:
    """Yield what a person types, with line editing where the terminal can, until they end it."""
    import readline  # noqa: F401 - importing it gives input() editing and history

    while True:
        try:
            yield input("> ")
        except EOFError:
            click.echo()
            return


def _ask_for_consent(front: Front, conversation: Conversation) -> None:
    agent = conversation.agent
    known = conversation.workspace.archive.consent(conversation.user)
    if known is None and agent.setting.remembers and agent.setting.long_term and front.interactive:
        agent.consent.record(yes_or_no(CONSENT_QUESTION))
        conversation.changed = True
