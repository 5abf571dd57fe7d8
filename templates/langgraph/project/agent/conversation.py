"""The conversation of this target: the loop of the rooms, whose model and tools run as a LangGraph agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import openai
from memkit_runtime.host.command import AgentConversation
from memkit_runtime.host.endpoints import Endpoint, clear_faults, endpoint_of
from memkit_runtime.host.rooms import Rooms
from pydantic import SecretStr

from agent.checkpoints import Checkpoints, path_of
from agent.graph_actor import GraphActor
from agent.strict_chat import StrictChatOpenAI


@contextmanager
def open_conversation(rooms: Rooms) -> Iterator[AgentConversation]:
    """Open the conversation of ``rooms``; a checkpointed session continues where it stopped."""
    endpoint = endpoint_of(rooms.settings)
    path = path_of(rooms.settings.state_folder, rooms.user_id, rooms.session_id)
    with closing(Checkpoints(path)) as checkpoints:
        graph = GraphActor(rooms, chat_model=chat_model(endpoint), endpoint=endpoint, checkpoints=checkpoints)
        with closing(rooms.session(graph, messages=False)) as session:
            session.agent.turn_id = max(session.agent.turn_id, graph.take_up())
            yield session


def chat_model(endpoint: Endpoint) -> StrictChatOpenAI:
    """Return the chat model; no sampling parameters, because vendors reject them."""
    with clear_faults(endpoint, openai):
        return StrictChatOpenAI(
            endpoint=endpoint,
            model=endpoint.model,
            api_key=SecretStr(endpoint.api_key),
            base_url=endpoint.address,
            timeout=endpoint.timeout,
            max_retries=endpoint.retries,
            streaming=True,
            stream_usage=True,
            use_responses_api=False,
        )
