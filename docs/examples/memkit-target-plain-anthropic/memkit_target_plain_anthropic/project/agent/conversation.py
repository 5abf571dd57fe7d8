"""The conversation of this target: the loop room's own agent over a client for Messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agent.assembly import Rooms
from agent.endpoint import endpoint_of
from agent.interface import Conversation
from agent.messages_model import MessagesModel
from agent.session import KeptSession


@contextmanager
def open_conversation(rooms: Rooms) -> Iterator[Conversation]:
    """Open the conversation of ``rooms``, with the turns of its session back in the prompt."""
    with MessagesModel(endpoint_of(rooms.settings)) as model:
        yield KeptSession(rooms.agent(llm_client=model), rooms)
