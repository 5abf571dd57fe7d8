"""A thread on the server, and its runs.

A thread contains messages, and the steps in which runs call tools, in chronological order. A run proceeds from queued,
through the model's answer, to its final state, with each change reported as an event.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..interface import Answer, Call, Conversation, Message, Refusal, halves
from ..openai_parts import new_id
from .request import MessageOrder, RunOrder, function_names

Event = tuple[str, dict[str, Any]]
"""The name of a streamed event and its data."""

ENDED = ("completed", "failed", "cancelled", "incomplete", "expired")
_SECONDS = 600
"""The time limit of a run, in seconds; reported but not enforced."""


def now() -> int:
    """Return the current time in the protocol's format."""
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
    """The run that wrote it; None if a client did."""
    status: str = "completed"
    incomplete: str | None = None
    """Why it is incomplete, if it is."""

    @property
    def text(self) -> str:
        """Return the text of the message."""
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
    """The client's answers, by call id."""
    id: str = field(default_factory=lambda: new_id("step"))
    created_at: int = field(default_factory=now)
    status: str = "in_progress"
    ended_at: int | None = None

    def end(self, status: str) -> None:
        """Close the step."""
        self.status, self.ended_at = status, now()

    def body(self, *, bare: bool = False) -> dict[str, Any]:
        """Return the step as clients see it; a bare one is a step whose calls are still being streamed."""
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
    """Return a call and its output in the protocol's format."""
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.tool, "arguments": call.arguments, "output": output},
    }


class Thread:
    """A conversation kept by the server."""

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        self.id = new_id("thread")
        self.created_at = now()
        self.metadata = dict(metadata)
        self.history: list[ThreadMessage | RunStep] = []
        self.runs: dict[str, Run] = {}

    def add(self, order: MessageOrder) -> ThreadMessage:
        """Add a client's message to the thread."""
        message = ThreadMessage(self.id, order, dict(order.metadata))
        self.history.append(message)
        return message

    @property
    def messages(self) -> list[ThreadMessage]:
        """Return the messages, oldest first."""
        return [entry for entry in self.history if isinstance(entry, ThreadMessage)]

    def steps(self, run_id: str | None = None) -> list[RunStep]:
        """Return the steps of a run, or of all runs, oldest first."""
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
        """Return what a model sees of the thread: messages, and calls with their results, including ``outputs``."""
        first = self.messages[-last_messages:][:1] if last_messages is not None else []
        entries = self.history[self.history.index(first[0]) :] if first else self.history
        seen: list[Message] = []
        said: ThreadMessage | None = None
        for entry in entries:
            if isinstance(entry, ThreadMessage):
                said = entry
                seen.append(Message(entry.order.role, entry.text))
            elif entry.calls and all(call.id in (known := {**entry.outputs, **outputs}) for call in entry.calls):
                # Text of the run before its calls belongs to the same message.
                text = seen.pop().text if said is not None and said.run_id == entry.run_id else ""
                seen.append(Message("assistant", text, entry.calls))
                seen += [Message("tool", known[call.id], call_id=call.id) for call in entry.calls]
                said = None
        return seen


# --- runs


class Run:
    """One run of an assistant on a thread."""

    def __init__(self, thread: Thread, assistant: Mapping[str, Any], order: RunOrder) -> None:
        self.id = new_id("run")
        self.thread = thread
        self.order = order
        self.model: str = order.given.get("model") or assistant["model"]
        said = assistant["instructions"] if order.instructions is None else order.instructions
        self.instructions = "\n\n".join(part for part in (said or "", order.additional_instructions) if part)
        self.tools = tuple(assistant["tools"]) if order.tools is None else order.tools
        self.metadata = dict(order.metadata)
        self.status = "queued"
        self.created_at = now()
        self.times: dict[str, int] = {}
        self.last_error: dict[str, str] | None = None
        self.usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        self._answer: Answer | None = None
        """The model's answer that no client has seen yet."""
        self._ready_at = 0.0
        self._calls: RunStep | None = None
        """The step whose calls wait for their outputs."""

    @property
    def active(self) -> bool:
        """Return whether the run locks its thread."""
        return self.status not in ENDED

    def conversation(self, outputs: Mapping[str, str] | None = None, *, stream: bool | None = None) -> Conversation:
        """Return what the model is asked to continue, including ``outputs`` of the calls that the run waits for."""
        system = [Message("system", self.instructions)] if self.instructions else []
        messages = self.thread.conversation(self.order.last_messages, outputs or {})
        streamed = self.order.stream if stream is None else stream
        return Conversation((*system, *messages), function_names(self.tools), self.model, streamed)

    # --- the client's actions

    def check_outputs(self, outputs: Mapping[str, str]) -> None:
        """Reject outputs that the run is not waiting for."""
        if self.status != "requires_action" or self._calls is None:
            raise Refusal(400, f'Runs in status "{self.status}" do not accept tool outputs.')
        wanted = [call.id for call in self._calls.calls]
        if set(wanted) != set(outputs):
            raise Refusal(400, f"Expected tool outputs for call_ids {wanted}, got {list(outputs)}.")

    def take_in(self, outputs: Mapping[str, str]) -> Iterator[Event]:
        """Store the outputs of the calls that the run waits for."""
        step, self._calls = self._calls, None
        if step is not None:
            step.outputs.update(outputs)
            step.end("completed")
            yield "thread.run.step.completed", step.body()

    def hear(self, answer: Answer, asked: Conversation, *, at_once: bool) -> None:
        """Store the model's answer until the client looks at the run, and until the answer's delay is over."""
        self._ready_at = 0.0 if at_once else time.monotonic() + answer.delay
        taken = {call.id for step in self.thread.steps() for call in step.calls}
        self._answer = replace(answer, calls=_named(answer.calls, taken))
        read, said = asked.tokens, answer.tokens
        for key, count in (("prompt_tokens", read), ("completion_tokens", said), ("total_tokens", read + said)):
            self.usage[key] += count

    def cancel(self) -> None:
        """Begin to cancel the run."""
        if not self.active or self.status == "cancelling":
            raise Refusal(400, f"Cannot cancel run with status '{self.status}'.")
        self.status = "cancelling"

    # --- the progress of the run

    def proceed(self) -> Iterator[Event]:
        """Advance by one state, if the run does so by itself."""
        if self.status == "cancelling":
            if self._calls is not None:
                self._calls.end("cancelled")
                yield "thread.run.step.cancelled", self._calls.body()
            yield from self._enter("cancelled")
        elif self.status == "queued" and self._answer is not None:
            yield from self._enter("in_progress")
        elif self.status == "in_progress" and self._answer is not None and time.monotonic() >= self._ready_at:
            answer, self._answer = self._answer, None
            yield from self._say(answer)

    def _say(self, answer: Answer) -> Iterator[Event]:
        """Write the model's message, make its calls, and enter the next state."""
        if answer.text or not (answer.calls or answer.stop):
            yield from self._write(answer)
        if answer.failure is not None:
            self.last_error = {"code": "server_error", "message": answer.failure.message}
            yield from self._enter("failed")
        elif answer.stop == "length":
            yield from self._enter("incomplete")
        elif answer.calls:
            yield from self._call(answer.calls)
        else:
            yield from self._enter("completed")

    def _write(self, answer: Answer) -> Iterator[Event]:
        part = {"type": "text", "text": {"value": answer.text, "annotations": []}}
        message = ThreadMessage(
            self.thread.id, MessageOrder("assistant", (part,)), assistant_id=self.order.assistant_id, run_id=self.id
        )
        step = self._step(message_id=message.id)
        self.thread.history += [step, message]
        yield "thread.run.step.created", step.body()
        yield "thread.run.step.in_progress", step.body()
        message.status = "in_progress"
        yield "thread.message.created", message.body()
        yield "thread.message.in_progress", message.body()
        for text in halves(answer.text):
            delta = {"content": [{"index": 0, "type": "text", "text": {"value": text}}]}
            yield "thread.message.delta", {"id": message.id, "object": "thread.message.delta", "delta": delta}
        message.incomplete = {"length": "max_tokens", "failed": "run_failed"}.get(answer.stop)
        message.status = "incomplete" if message.incomplete else "completed"
        yield f"thread.message.{message.status}", message.body()
        step.end("failed" if answer.stop == "failed" else "completed")
        yield f"thread.run.step.{step.status}", step.body()

    def _call(self, calls: tuple[Call, ...]) -> Iterator[Event]:
        step = self._calls = self._step(calls=calls)
        self.thread.history.append(step)
        yield "thread.run.step.created", step.body(bare=True)
        yield "thread.run.step.in_progress", step.body(bare=True)
        for index, call in enumerate(calls):
            head = wire_call(replace(call, arguments=""), None)
            parts: list[dict[str, Any]] = [{"index": index, **head}]
            parts += [
                {"index": index, "type": "function", "function": {"arguments": text}} for text in halves(call.sent)
            ]
            for part in parts:
                delta = {"step_details": {"type": "tool_calls", "tool_calls": [part]}}
                yield "thread.run.step.delta", {"id": step.id, "object": "thread.run.step.delta", "delta": delta}
        yield from self._enter("requires_action")

    def _step(self, calls: tuple[Call, ...] = (), message_id: str | None = None) -> RunStep:
        return RunStep(self.thread.id, self.id, self.order.assistant_id, calls, message_id)

    def _enter(self, status: str) -> Iterator[Event]:
        self.status = status
        name = {"in_progress": "started_at"}.get(status, f"{status}_at")
        self.times.setdefault(name, now())
        yield f"thread.run.{status}", self.body()

    # --- the client's view

    def body(self) -> dict[str, Any]:
        """Return the run as clients see it."""
        given = self.order.given
        return {
            "id": self.id,
            "object": "thread.run",
            "created_at": self.created_at,
            "assistant_id": self.order.assistant_id,
            "thread_id": self.thread.id,
            "status": self.status,
            "started_at": self.times.get("started_at"),
            "expires_at": self.created_at + _SECONDS if self.active else None,
            "cancelled_at": self.times.get("cancelled_at"),
            "failed_at": self.times.get("failed_at"),
            "completed_at": self.times.get("completed_at"),
            "required_action": self._required_action(),
            "last_error": self.last_error,
            "model": self.model,
            "instructions": self.instructions,
            "tools": list(self.tools),
            "metadata": self.metadata,
            "incomplete_details": {"reason": "max_completion_tokens"} if self.status == "incomplete" else None,
            "usage": None if self.active else self.usage,
            "temperature": given.get("temperature") or 1.0,
            "top_p": given.get("top_p") or 1.0,
            "max_prompt_tokens": given.get("max_prompt_tokens"),
            "max_completion_tokens": given.get("max_completion_tokens"),
            "truncation_strategy": given.get("truncation_strategy") or {"type": "auto", "last_messages": None},
            "response_format": given.get("response_format") or "auto",
            "tool_choice": given.get("tool_choice") or "auto",
            "parallel_tool_calls": given["parallel_tool_calls"],
        }

    def _required_action(self) -> dict[str, Any] | None:
        if self.status != "requires_action" or self._calls is None:
            return None
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
            for call in self._calls.calls
        ]
        return {"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": calls}}


def _named(calls: Iterable[Call], taken: set[str]) -> tuple[Call, ...]:
    """Return ``calls`` with their arguments as text and unique ids, as the protocol requires."""
    named: list[Call] = []
    for call in calls:
        name = new_id("call") if call.id in {"", *taken} else call.id
        taken.add(name)
        named.append(replace(call, id=name, arguments=call.sent))
    return tuple(named)
