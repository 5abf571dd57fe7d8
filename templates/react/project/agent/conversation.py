"""The conversation of this target: the runtime's own agent loop over a Chat Completions client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from memkit_runtime.host.command import AgentConversation
from memkit_runtime.host.endpoints import endpoint_of
from memkit_runtime.host.rooms import Rooms

from agent.chat_model import ChatModel


@contextmanager
def open_conversation(rooms: Rooms) -> Iterator[AgentConversation]:
    """Open the conversation of ``rooms``, with the turns of its session back in the prompt."""
    with (
        ChatModel(endpoint_of(rooms.settings)) as model,
        closing(rooms.session(model)) as session,
    ):
        yield session
