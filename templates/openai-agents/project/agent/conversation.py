"""The conversation of this target: the loop of the rooms, whose model and tools run in the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager

import openai
from agents import set_tracing_disabled
from memkit_runtime.host.command import AgentConversation
from memkit_runtime.host.endpoints import Endpoint, clear_faults, endpoint_of
from memkit_runtime.host.rooms import Rooms

from agent.model import AgentModel
from agent.runner_actor import RunnerActor

# The SDK uploads conversations to OpenAI, whatever the base URL, unless told not to.
set_tracing_disabled(True)
# This package reports, in one line, what a person can act on.
logging.getLogger("openai.agents").addHandler(logging.NullHandler())


@contextmanager
def open_conversation(rooms: Rooms) -> Iterator[AgentConversation]:
    """Open the conversation of ``rooms``; a stored session continues where it stopped."""
    endpoint = endpoint_of(rooms.settings)
    with asyncio.Runner() as events, opened_client(endpoint, events) as client:
        model = AgentModel(endpoint, client)
        actor = RunnerActor(rooms, model=model, endpoint=endpoint, events=events)
        with closing(actor), closing(rooms.session(actor, messages=False)) as session:
            actor.take_up()
            yield session


@contextmanager
def opened_client(endpoint: Endpoint, events: asyncio.Runner) -> Iterator[openai.AsyncOpenAI]:
    """Return the client of the endpoint, which lives as long as the event loop of its connections."""
    with clear_faults(endpoint, openai):
        client = openai.AsyncOpenAI(
            api_key=endpoint.api_key, base_url=endpoint.address, timeout=endpoint.timeout, max_retries=endpoint.retries
        )
    try:
        yield client
    finally:
        events.run(client.close())
