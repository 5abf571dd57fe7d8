"""What the command line expects of a target: something that answers turn after turn."""

from __future__ import annotations

from typing import Protocol

from loop.core import AgentResponse


class Conversation(Protocol):
    """One session of one user."""

    def step(self, text: str) -> AgentResponse:
        """Answer one message of the user."""
        ...
