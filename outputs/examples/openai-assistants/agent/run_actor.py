"""The loop of the rooms with a run of an assistant in place of the model and its tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memkit_runtime.host.acting import SdkActor
from memkit_runtime.host.rooms import Rooms
from memkit_runtime.host.wires import TOO_MANY
from memkit_runtime.loop.core import Reply

from agent.assistant import Assistant
from agent.run import Run
from agent.thread import Thread
from agent.wire import ToolOutput, Wire


class RunActor(SdkActor):
    """Answers each turn with one run; the policies judge every call that the run waits for before its tool runs."""

    def __init__(self, rooms: Rooms, wire: Wire) -> None:
        super().__init__(rooms)
        self.thread = Thread(rooms.session_id, lambda: self.prompt()[1:], self.add)
        self.assistant = Assistant(
            name=rooms.persona.name,
            model=rooms.settings.model,
            instructions=lambda: self.prompt()[0]["content"],
            tools=tuple(self.toolbox.specs()),
            wire=wire,
            most_calls=self.most_calls,
        )
        self._phase: str | None = None

    def run(self, words: str) -> Reply:
        """Run the assistant until it answers."""
        run = self.assistant.run(self.thread)
        try:
            while run.status == "requires_action":
                run.submit_tool_outputs(self._outputs(run))
        finally:
            run.cancel()
        self._phase = run.phase
        self.made = run.calls_made
        return self.reply(run.text)

    def keep(self, message: str) -> None:
        """Store the server's label for the reply."""
        messages: Sequence[Any] = self.rooms.main.messages
        if self._phase and messages and messages[-1]["role"] == "assistant":
            messages[-1]["phase"] = self._phase

    def _outputs(self, run: Run) -> list[ToolOutput]:
        """Run the tools that the run waits for, one after another, up to the limit."""
        return [
            ToolOutput(call.id, self.toolbox.call(call.name, call.args).text if number < self.most_calls else TOO_MANY)
            for number, call in enumerate(run.required_calls, run.calls_made)
        ]
