"""An answer on a terminal while it comes: each part once, and at the end whatever the turn added."""

from __future__ import annotations

from typing import TextIO

from agent.terminal import harmless
from loop.events import Event


class Showing:
    """Listens to the turns of a conversation; a model that does not stream is shown when its turn is over."""

    def __init__(self, result: TextIO) -> None:
        self._result = result
        self._shown = ""
        """What was shown of the model's present answer."""

    def __call__(self, event: Event) -> None:
        """Show the text that an event brings."""
        if event.kind == "text":
            self._shown += event.data["delta"]
            print(harmless(event.data["delta"]), end="", file=self._result, flush=True)
        elif event.kind == "model_answered" and event.data["tool_calls"]:
            self._end_line()

    def settle(self, message: str) -> None:
        """Show of the whole message what was not shown while it came."""
        said = self._shown.strip()
        if not message.startswith(said):
            self._end_line()
            said = ""
        rest = message[len(said) :]
        self._shown = ""
        print(harmless(rest), file=self._result, flush=True)

    def _end_line(self) -> None:
        if self._shown.strip():
            print(file=self._result, flush=True)
        self._shown = ""
