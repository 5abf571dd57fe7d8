"""The thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from memkit_runtime.loop.interface import CallData, Message, ToolCall

from agent.wire import Step, ToolOutput


class Thread:
    """The conversation of a session as the model sees it now: bounded, oldest first, with recalled data in its place.

    What leaves the main context leaves the thread, and a call leaves together with its output.
    """

    def __init__(self, id: str, messages: Callable[[], Sequence[Message]], add: Callable[[Message], None]) -> None:
        self.id = id
        self._messages = messages
        self._add = add

    def messages(self) -> list[Any]:
        """Return the messages that the model is to see next."""
        return list(self._messages())

    def call_ids(self) -> set[str]:
        """Return the ids of its calls."""
        return {call["id"] for message in self.messages() for call in message.get("tool_calls", ())}

    def add_step(self, step: Step, outputs: Sequence[ToolOutput]) -> None:
        """Add the model's text and calls, and the tools' outputs."""
        said: Any = {"role": "assistant", "content": step.text, "tool_calls": [_call_data(call) for call in step.calls]}
        if step.phase:
            said["phase"] = step.phase
        self._add(said)
        for call, output in zip(step.calls, outputs, strict=True):
            self._add({"role": "tool", "tool_call_id": output.call_id, "name": call.name, "content": output.output})


def _call_data(call: ToolCall) -> CallData:
    # Arguments that are not a JSON object were rejected; the message that says so follows.
    return {"id": call.id, "name": call.name, "args": {} if isinstance(call.args, str) else dict(call.args)}
