"""A model behind Chat Completions, streamed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import openai
from memkit_runtime.host.endpoints import Endpoint, clear_faults, malformed, readable
from memkit_runtime.host.wires import CallNumbers, sendable_name, sendable_text, whole
from memkit_runtime.loop.bound import read_arguments
from memkit_runtime.loop.interface import Completion, Message, ToolCall, ToolSpec


class ChatModel:
    """Calls one model; sends no sampling parameters, because vendors reject them."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        with clear_faults(endpoint, openai):
            self._client = openai.OpenAI(
                api_key=endpoint.api_key,
                base_url=endpoint.address,
                timeout=endpoint.timeout,
                max_retries=endpoint.retries,
            )

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the next text or tool calls; raise ``CannotServe`` if the server cannot serve."""
        return self.stream(messages, tools, _unheard)

    def stream(self, messages: Sequence[Message], tools: Sequence[ToolSpec], say: Callable[[str], None]) -> Completion:
        """Return the same, passing the text to ``say`` piece by piece as it arrives."""
        request: dict[str, Any] = {"model": self._endpoint.model, "messages": [wire_message(one) for one in messages]}
        if tools:
            request["tools"] = [wire_tool(spec) for spec in tools]
        with clear_faults(self._endpoint, openai):
            stream = self._client.chat.completions.create(
                **request, stream=True, stream_options={"include_usage": True}
            )
            with stream, readable(self._endpoint):
                completion = gathered(stream, say)
        if completion is None:
            raise malformed(self._endpoint, "nothing arrived")
        return completion

    def __enter__(self) -> Self:
        """Return the model itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self._client.close()


@dataclass
class Parts:
    """One tool call as it arrives."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def add(self, delta: Any) -> None:
        """Add one part."""
        self.id = self.id or delta.id or ""
        if delta.function is not None:
            self.name += delta.function.name or ""
            self.arguments.append(delta.function.arguments or "")

    def call(self) -> ToolCall:
        """Return the whole call; anything but a JSON object stays text, for the toolbox to reject."""
        text = "".join(self.arguments)
        given = read_arguments(text)
        return ToolCall(self.id, self.name, text if given is None else given)


def _unheard(text: str) -> None:
    """Ignore a part of an answer."""


@dataclass
class Text:
    """The text as it arrives, and its listener."""

    say: Callable[[str], None]
    parts: list[str] = field(default_factory=list)
    _waiting: str = ""

    def add(self, part: str) -> None:
        """Add one part; the first half of a character is passed on with the second."""
        self.parts.append(part)
        self._waiting += part
        if self._waiting and not "\ud800" <= self._waiting[-1] <= "\udbff":
            self.say(sendable_text(self._waiting))
            self._waiting = ""

    def end(self, stop: str | None) -> str:
        """Return all of the text, in a form that can be sent back, with a note if ``stop`` says that some is missing."""
        said = sendable_text("".join(self.parts))
        ended = whole(said, stop) if said else said
        self.say(ended[len(said) :])
        return ended


def gathered(chunks: Iterable[Any], say: Callable[[str], None] = _unheard) -> Completion | None:
    """Return the completion that a stream of chunks adds up to; None if it contains none."""
    arrived = False
    text = Text(say)
    calls: dict[int, Parts] = {}
    numbers = CallNumbers()
    usage: dict[str, int] = {}
    stop: str | None = None
    for chunk in chunks:
        if chunk.usage is not None:
            usage = {"input": chunk.usage.prompt_tokens, "output": chunk.usage.completion_tokens}
        for choice in chunk.choices:
            arrived, stop = True, choice.finish_reason or stop
            text.add(choice.delta.content or choice.delta.refusal or "")
            for delta in choice.delta.tool_calls or ():
                calls.setdefault(numbers.number_of(delta.index, delta.id), Parts()).add(delta)
    said = Completion(text.end("tool_calls" if calls else stop), tuple(parts.call() for parts in calls.values()), usage)
    return said if arrived else None


def wire_message(message: Message) -> dict[str, Any]:
    """Return a message in the protocol's format."""
    wire: dict[str, Any] = {"role": message["role"], "content": message.get("content") or ""}
    if calls := message.get("tool_calls"):
        wire["tool_calls"] = [wire_call(call) for call in calls]
    if "tool_call_id" in message:
        wire["tool_call_id"] = message["tool_call_id"]
    elif "name" in message:
        wire["name"] = message["name"]
    return wire


def wire_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool call in the protocol's format."""
    arguments = json.dumps(call["args"], ensure_ascii=False)
    return {
        "id": call["id"],
        "type": "function",
        "function": {"name": sendable_name(call["name"]), "arguments": arguments},
    }


def wire_tool(spec: ToolSpec) -> dict[str, Any]:
    """Return a tool in the protocol's format."""
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return {"type": "function", "function": function}
