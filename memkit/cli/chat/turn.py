"""One turn of a conversation: a message for the agent, or a slash command."""

from __future__ import annotations

from typing import Any

from memkit.cli.chat.conversation import Conversation
from memkit.cli.chat.slash import run_slash
from memkit.cli.output import Front
from memkit.errors import MemkitError, UsageError
from memkit.htn.errors import HtnError
from memkit.loop.errors import LoopError
from memkit.memory.errors import ArchiveError

CHANGES = frozenset({"archival_memory_insert", "core_memory_append", "core_memory_replace", "retract", "consent"})
"""Memory operations that write to the archive."""

ANSWERS = (MemkitError, ArchiveError, HtnError, LoopError)
"""Errors that answer one turn and do not end the conversation."""


def run_one_turn(front: Front, conversation: Conversation, text: str) -> None:
    """Answer ``text`` and end the run."""
    data = answer(conversation, text)
    notices = conversation.notices()
    for notice in notices if not front.json else ():
        front.note(f"({notice['message']})")
    front.answer(data, data["message"], diagnostics=notices)


def answer(conversation: Conversation, text: str) -> dict[str, Any]:
    """Answer one message or slash command and return its data."""
    if not text.strip():
        raise UsageError("There is nothing to answer. Say something: memkit chat -p TEXT.")
    if text.lstrip().startswith("/"):
        shown = run_slash(conversation, text)
        return conversation.agent.toolbox.report(shown) | {"session": conversation.session}
    data = dict(conversation.agent.step(text).data) | {"session": conversation.session}
    conversation.changed |= any(operation["op"] in CHANGES for operation in data["memory_operations"])
    return data
