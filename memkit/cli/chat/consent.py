"""The question whether anything may be remembered, asked once, in words."""

from __future__ import annotations

import shlex

from memkit.cli.chat.conversation import Conversation
from memkit.cli.fitting import fitted
from memkit.cli.output import Front
from memkit.cli.typed import typed_line
from memkit.runtime.loop.consent import consent_in

QUESTION = """\
Before we begin: may I remember what you tell me?

  yes  I keep facts, wishes, goals and what we said, as text in this store,
       and use them when we talk again.
  no   I answer, and nothing of it stays when we are done.

It stays yours. /memory shows what I hold, "don't store anything" ends it,
and this erases it: memkit memory erase --user {user}
"""
AGAIN = "Please answer yes or no; you can change your mind at any time."
YES, NO = ("y", "yes"), ("n", "no")


def ask_for_consent(front: Front, conversation: Conversation) -> None:
    """Ask a user who never said, and keep the answer; raises ``EOFError`` when they leave instead."""
    agent = conversation.agent
    if agent.is_off_record or not (agent.setting.long_term and front.interactive):
        return
    if conversation.workspace.archive.consent(conversation.user) is not None:
        return
    front.note(fitted(QUESTION.format(user=shlex.quote(conversation.user))))
    while (answer := _meaning(typed_line("May I? yes or no: "))) is None:
        front.note(fitted(AGAIN))
    agent.consent.record(answer)
    conversation.changed = True


def _meaning(answer: str) -> bool | None:
    word = answer.strip().strip(".!").lower()
    if word in YES or word in NO:
        return word in YES
    return consent_in(answer)
