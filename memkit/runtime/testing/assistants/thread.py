"""A thread as the server keeps it: messages, and the steps in which runs call tools, in the order they happened."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..interface import Call, Message
from ..openai_parts import new_id
from .request import MessageOrder

if TYPE_CHECKING:
    from .run import Run


def now() -> int:
    """Return the time as the protocol writes it."""
    return int(time.time())


@dataclass
class ThreadMessage:
    """One message of a thread."""

    thread_id: str
    order: MessageOrder
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=lambda: new_id("msg"))
    created_at: int = field(default_factory=now)
    assistant_id: str | None = None
    run_id: str | None = None
    """Which run wrote it; None where a client did."""
    status: str = "completed"
    incomplete: str | None = None
    """Why it ends early."""

    @property
    def text(self) -> str:
        """Return the words of the message."""
        return "".join(part["text"]["value"] for part in self.order.content if part["type"] == "text")

    def body(self) -> dict[str, Any]:
        """Return the message as clients see it."""
        started = self.status == "in_progress"
        return {
            "id": self.id,
            "object": "thread.message",
            "created_at": self.created_at,
            "assistant_id": self.assistant_id,
            "thread_id": self.thread_id,
            "run_id": self.run_id,
            "role": self.order.role,
            "content": [] if started else list(self.order.content),
            "attachments": list(self.order.attachments),
            "metadata": self.metadata,
            "status": self.status,
            "completed_at": self.created_at if self.status == "completed" else None,
            "incomplete_at": self.created_at if self.incomplete else None,
            "incomplete_details": {"reason": self.incomplete} if self.incomplete else None,
        }


@dataclass
class RunStep:
    """One step of a run: a message that it writes, or tools that it calls."""

    thread_id: str
    run_id: str
    assistant_id: str
    calls: tuple[Call, ...] = ()
    message_id: str | None = None
    outputs: dict[str, str] = field(default_factory=dict)
    """What the client answered, by the id of the call."""
    id: str = field(default_factory=lambda: new_id("step"))
    created_at: int = field(default_factory=now)
    status: str = "in_progress"
    ended_at: int | None = None

    def end(self, status: str) -> None:
        """Close the step."""
        self.status, self.ended_at = status, now()

    def body(self, *, bare: bool = False) -> dict[str, Any]:
        """Return the step as clients see it; a bare one is that whose calls are still being streamed."""
        return {
            "id": self.id,
            "object": "thread.run.step",
            "created_at": self.created_at,
            "run_id": self.run_id,
            "assistant_id": self.assistant_id,
            "thread_id": self.thread_id,
            "type": "tool_calls" if self.calls else "message_creation",
            "status": self.status,
            "cancelled_at": self.ended_at if self.status == "cancelled" else None,
            "completed_at": self.ended_at if self.status == "completed" else None,
            "expired_at": None,
            "failed_at": self.ended_at if self.status == "failed" else None,
            "last_error": None,
            "metadata": {},
            "step_details": self._details(bare),
            "usage": None,
        }

    def _details(self, bare: bool) -> dict[str, Any]:
        if not self.calls:
            return {"type": "message_creation", "message_creation": {"message_id": self.message_id}}
        calls = [wire_call(call, self.outputs.get(call.id)) for call in self.calls]
        return {"type": "tool_calls", "tool_calls": [] if bare else calls}


def wire_call(call: Call, output: str | None) -> dict[str, Any]:
    """Return a call and its output in the form of the protocol."""
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.tool, "arguments": call.arguments, "output": output},
    }


class Thread:
    """A conversation that the server keeps."""

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        self.id = new_id("thread")
        self.created_at = now()
        self.metadata = dict(metadata)
        self.history: list[ThreadMessage | RunStep] = []
        self.runs: dict[str, Run] = {}

    def add(self, order: MessageOrder) -> ThreadMessage:
        """Put a client's message into the thread."""
        message = ThreadMessage(self.id, order, dict(order.metadata))
        self.history.append(message)
        return message

    @property
    def messages(self) -> list[ThreadMessage]:
        """Return the messages, oldest first."""
        return [entry for entry in self.history if isinstance(entry, ThreadMessage)]

    def steps(self, run_id: str | None = None) -> list[RunStep]:
        """Return the steps of a run, or of all of them, oldest first."""
        return [entry for entry in self.history if isinstance(entry, RunStep) and run_id in (None, entry.run_id)]

    def body(self) -> dict[str, Any]:
        """Return the thread as clients see it."""
        return {
            "id": self.id,
            "object": "thread",
            "created_at": self.created_at,
            "metadata": self.metadata,
            "tool_resources": {},
        }

    def conversation(self, last_messages: int | None, outputs: Mapping[str, str]) -> list[Message]:
        """Return what a model sees of the thread: messages, and calls with their results, ``outputs`` among them."""
        first = self.messages[-last_messages:][:1] if last_messages is not None else []
        entries = self.history[self.history.index(first[0]) :] if first else self.history
        seen: list[Message] = []
        said: ThreadMessage | None = None
        for entry in entries:
            if isinstance(entry, ThreadMessage):
                said = entry
                seen.append(Message(entry.order.role, entry.text))
            elif entry.calls and all(call.id in (known := {**entry.outputs, **outputs}) for call in entry.calls):
                # What the run said before its calls belongs to the same message.
                text = seen.pop().text if said is not None and said.run_id == entry.run_id else ""
                seen.append(Message("assistant", text, entry.calls))
                seen += [Message("tool", known[call.id], call_id=call.id) for call in entry.calls]
                said = None
        return seen
