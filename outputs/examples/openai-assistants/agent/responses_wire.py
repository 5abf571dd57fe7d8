"""Runs over the Responses API, which followed OpenAI's Assistants: one request for each step of the model.

The server is told to store nothing (``store=False``). Each request carries the current thread, so what was paged out or
erased here is not there either. Within a run the model's own items are sent back whole, with their encrypted reasoning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import openai
from memkit_runtime.host.endpoints import Endpoint, clear_faults, malformed, readable
from memkit_runtime.host.sessions import CannotServe
from memkit_runtime.host.wires import sendable_text, whole
from memkit_runtime.loop.interface import ToolSpec

from agent.assistant import Assistant
from agent.response_items import Written, read_items, renumbered, resendable, to_items
from agent.thread import Thread
from agent.wire import Step, ToolOutput

ENCRYPTED = "reasoning.encrypted_content"


class ResponsesWire:
    """Calls one model; sends no sampling parameters, because vendors reject them."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._encrypted = True
        with clear_faults(endpoint, openai):
            self._client = openai.OpenAI(
                api_key=endpoint.api_key,
                base_url=endpoint.address,
                timeout=endpoint.timeout,
                max_retries=endpoint.retries,
            )

    def open(self, assistant: Assistant, thread: Thread) -> ResponsesRun:
        """Return a run of ``assistant`` in ``thread``."""
        return ResponsesRun(self, assistant, thread)

    def ask(self, request: Mapping[str, Any]) -> tuple[list[dict[str, Any]], str]:
        """Return the items of the model's answer and why it ended; raise ``CannotServe`` if the server cannot serve."""
        with clear_faults(self.endpoint, openai), readable(self.endpoint), self._stream(request) as events:
            return self._finished(events)

    def _stream(self, request: Mapping[str, Any]) -> openai.Stream[Any]:
        try:
            return self._opened({**request, "include": [ENCRYPTED]} if self._encrypted else request)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            # A model that does not reason has no reasoning to encrypt, and rejects the request for it.
            if not self._encrypted or not any(word in str(error).lower() for word in ("encrypted", "include")):
                raise
            self._encrypted = False
            return self._opened(request)

    def _opened(self, request: Mapping[str, Any]) -> openai.Stream[Any]:
        stream: openai.Stream[Any] = self._client.responses.create(**request, store=False, stream=True)
        return stream

    def _finished(self, events: Iterable[Any]) -> tuple[list[dict[str, Any]], str]:
        """Return the items of a complete stream, and why the answer ended."""
        items: list[dict[str, Any]] = []
        for event in events:
            kind = getattr(event, "type", "")
            if kind == "response.output_item.done":
                items.append(as_sent(event.item))
            elif kind in ("response.completed", "response.incomplete"):
                # Some servers omit the output from the last event.
                items = [as_sent(item) for item in event.response.output or ()] or items
                cut = getattr(event.response, "incomplete_details", None)
                return items, getattr(cut, "reason", None) or "completed"
            elif kind in ("response.failed", "error"):
                raise CannotServe(f"{self.endpoint.name} failed: {reason_of(event)}")
        raise malformed(self.endpoint, "its last event is missing")

    def __enter__(self) -> Self:
        """Return the wire itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self._client.close()


class ResponsesRun:
    """One run: the server stores nothing of it, so each step sends the current thread."""

    def __init__(self, wire: ResponsesWire, assistant: Assistant, thread: Thread) -> None:
        self._wire = wire
        self._assistant = assistant
        self._thread = thread
        self._written: Written = {}

    def begin(self) -> Step:
        """Send the thread to the model and return the model's step."""
        return self._step(self._assistant.tools)

    def submit(self, outputs: Sequence[ToolOutput], *, closing: bool) -> Step:
        """Send the thread, which contains the outputs, to the model and return its next step."""
        return self._step(() if closing else self._assistant.tools)

    def cancel(self) -> None:
        """Do nothing: the server is not waiting for anything."""

    def _step(self, tools: Sequence[ToolSpec]) -> Step:
        request: dict[str, Any] = {
            "model": self._assistant.model,
            "instructions": sendable_text(self._assistant.instructions()),
            "input": to_items(self._thread.messages(), self._written),
        }
        if tools:
            request["tools"] = [wire_tool(spec) for spec in tools]
        answer, ended = self._wire.ask(request)
        items = renumbered(answer, self._thread.call_ids())
        text, calls, phase = read_items(items)
        if calls:
            self._written[calls[0].id] = resendable(items)
        elif text:
            text = whole(text, ended)
        return Step(text, tuple(calls), phase)


def wire_tool(spec: ToolSpec) -> dict[str, Any]:
    """Return a tool in the protocol's format; the toolbox checks the arguments, so the schema is passed on as is."""
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return {"type": "function", **function, "strict": False}


def as_sent(item: Any) -> dict[str, Any]:
    """Return an item of the SDK as the server wrote it, without nulls."""
    sent: dict[str, Any] = item.to_dict(mode="json", exclude_unset=True, exclude_none=True, warnings=False)
    return sent


def reason_of(event: Any) -> str:
    """Return why a response failed, on one line."""
    error = getattr(getattr(event, "response", event), "error", None) or event
    return " ".join(str(getattr(error, "message", None) or "no reason was given").split())[:500]
