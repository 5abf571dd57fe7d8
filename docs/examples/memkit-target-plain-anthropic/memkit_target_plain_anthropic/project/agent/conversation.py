"""The conversation of this target: the loop room's own agent over a client for Messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from memkit_runtime.host.command import AgentConversation
from memkit_runtime.host.endpoints import ANTHROPIC, endpoint_of
from memkit_runtime.host.rooms import Rooms

from agent.messages_model import MessagesModel


@contextmanager
def open_conversation(rooms: Rooms) -> Iterator[AgentConversation]:
    """Open the conversation of ``rooms``, with the turns of its session back in the prompt."""
    with (
        MessagesModel(endpoint_of(rooms.settings, ANTHROPIC)) as model,
        closing(rooms.session(model, vendor=ANTHROPIC)) as session,
    ):
        yield session
