"""The loop of the rooms for a target whose SDK runs the model and its tools."""

from __future__ import annotations

import threading
from typing import Any

from ..loop.core import AgentLoop
from ..loop.turn import Reply
from .rooms import Rooms


class SdkLoop(AgentLoop):
    """Counts the tool calls of a turn, which an SDK may run side by side; a target's own loop overrides ``act``."""

    def __init__(self, *parts: Any, rooms: Rooms, **more: Any) -> None:
        super().__init__(*parts, **more)
        self.rooms = rooms
        self.made = 0
        """Calls of this turn."""
        self._counting = threading.Lock()

    def may_call(self) -> bool:
        """Return whether the model may call another tool in this turn."""
        return self.made < self.max_tool_calls

    def number_call(self) -> int:
        """Count one tool call and return its number in this turn."""
        with self._counting:
            self.made += 1
            return self.made

    def reply(self, said: str) -> Reply:
        """Return what the model and its tools made of the turn."""
        return Reply(said, min(self.made, self.max_tool_calls), limited=not self.may_call())
