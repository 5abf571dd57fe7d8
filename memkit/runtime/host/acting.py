"""Stands in for a model when a target's SDK runs the model and its tools."""

from __future__ import annotations

import threading

from ..loop.core import Intent, Reply, Tools, Turn
from ..loop.interface import Message
from .rooms import Rooms


class SdkActor:
    """Counts the tool calls of a turn, which an SDK may run concurrently; each target's own actor does the rest."""

    def __init__(self, rooms: Rooms) -> None:
        self.rooms = rooms
        self.made = 0
        """The number of calls in this turn."""
        self._counting = threading.Lock()
        self._turn: Turn | None = None

    def act(self, turn: Turn, intent: Intent) -> Reply:
        """Let the SDK run the model and its tools until the model answers."""
        self._turn, self.made = turn, 0
        return self.run(turn.text or "")

    def run(self, words: str) -> Reply:
        """Return the reply of the model and its tools to the user's words."""
        raise NotImplementedError

    def keep(self, message: str) -> None:
        """Take in what the user was told."""

    @property
    def turn(self) -> Turn:
        """Return the running turn."""
        assert self._turn is not None
        return self._turn

    @property
    def toolbox(self) -> Tools:
        """Return the tools of the session."""
        return self.rooms.toolbox

    @property
    def most_calls(self) -> int:
        """Return how many tool calls one turn may make."""
        return self.rooms.config.max_tool_calls

    def add(self, message: Message) -> None:
        """Append a message to the conversation."""
        self.turn.add(message)

    def prompt(self) -> list[Message]:
        """Return what the model sees now."""
        return self.turn.prompt()

    def may_call(self) -> bool:
        """Return whether the model may call another tool in this turn."""
        return self.made < self.most_calls

    def number_call(self) -> int:
        """Count one tool call and return its number in this turn."""
        with self._counting:
            self.made += 1
            return self.made

    def reply(self, said: str) -> Reply:
        """Return the reply of the model and its tools in the turn."""
        return Reply(said, min(self.made, self.most_calls), limited=not self.may_call())
