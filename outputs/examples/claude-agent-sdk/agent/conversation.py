"""The conversation of this target: the loop of the rooms, whose model and tools run in the Claude command line."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager

from memkit_runtime.host.command import AgentConversation
from memkit_runtime.host.endpoints import ANTHROPIC, endpoint_of
from memkit_runtime.host.rooms import Rooms

from agent.claude_actor import ClaudeActor
from agent.workplace import open_workplace

# This package reports, in one line, what a person can act on.
logging.getLogger("claude_agent_sdk").addHandler(logging.NullHandler())


@contextmanager
def open_conversation(rooms: Rooms) -> Iterator[AgentConversation]:
    """Open the conversation of ``rooms``, with the turns of its session back in the prompt."""
    endpoint = endpoint_of(rooms.settings, ANTHROPIC)
    with asyncio.Runner() as events, open_workplace() as workplace:
        claude = ClaudeActor(rooms, endpoint=endpoint, events=events, workplace=workplace)
        with closing(rooms.session(claude, vendor=ANTHROPIC)) as session:
            yield session
