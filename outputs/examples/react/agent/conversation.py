"""The conversation of this target: the loop room's own agent over a Chat Completions client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from agent.assembly import Rooms
from agent.chat_model import ChatModel
from agent.endpoint import endpoint_of
from agent.interface import Conversation
from agent.session import KeptSession


@contextmanager
def open_conversation(rooms: Rooms) -> Iterator[Conversation]:
    """Open the conversation of ``rooms``, with the turns of its session back in the prompt."""
    with (
        ChatModel(endpoint_of(rooms.settings)) as model,
        closing(KeptSession(rooms.agent(llm_client=model), rooms)) as session,
    ):
        yield session
