"""The conversation of this target: the loop of the rooms, whose turns are runs of an assistant in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from memkit_runtime.host.command import AgentConversation
from memkit_runtime.host.endpoints import endpoint_of
from memkit_runtime.host.rooms import Rooms

from agent.responses_wire import ResponsesWire
from agent.run_actor import RunActor


@contextmanager
def open_conversation(rooms: Rooms) -> Iterator[AgentConversation]:
    """Open the conversation of ``rooms``, with the turns of its session back in the thread."""
    with (
        ResponsesWire(endpoint_of(rooms.settings)) as wire,
        closing(rooms.session(RunActor(rooms, wire))) as session,
    ):
        yield session
