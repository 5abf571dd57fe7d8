"""A model behind Anthropic's Messages, streamed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import anthropic
from memkit_runtime.host.endpoints import Endpoint, clear_faults, malformed
from memkit_runtime.loop.bound import read_arguments
from memkit_runtime.loop.interface import Completion, Message, ToolCall, ToolSpec

from agent.wire_messages import wire_messages, wire_tool

MAX_TOKENS = 4096
"""Of one answer; the protocol wants a number."""


class MessagesModel:
    """Asks one model; sends no sampling parameters, because vendors reject them."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._tools: list[dict[str, Any]] = []
        with clear_faults(endpoint, anthropic):
            self._client = anthropic.Anthropic(
                api_key=endpoint.api_key,
                base_url=endpoint.address,
                timeout=endpoint.timeout,
                max_retries=endpoint.retries,
            )

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the next text or tool calls; raises ``CannotServe`` when the server cannot serve."""
        system, spoken = wire_messages(messages)
        request: dict[str, Any] = {"model": self._endpoint.model, "max_tokens": MAX_TOKENS, "messages": spoken}
        self._tools = [wire_tool(spec) for spec in tools] or self._tools
        if self._tools:
            # Calls in the conversation need their tools beside them, also where no further call is wanted.
            request |= {"tools": self._tools, "tool_choice": {"type": "auto" if tools else "none"}}
        with (
            clear_faults(self._endpoint, anthropic),
            self._client.messages.create(**request, system=system, stream=True) as stream,
        ):
            completion = gathered(stream)
        if completion is None:
            raise malformed(self._endpoint, "no end")
        return completion

    def __enter__(self) -> MessagesModel:
        """Return the model itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self._client.close()


def gathered(events: Iterable[Any]) -> Completion | None:
    """Return the completion that a stream of events adds up to, or None for one without an end."""
    texts: list[str] = []
    begun: dict[int, tuple[str, str, list[str]]] = {}
    ended = False
    for event in events:
        if event.type == "content_block_start" and event.content_block.type == "tool_use":
            begun[event.index] = (event.content_block.id, event.content_block.name, [])
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            texts.append(event.delta.text)
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            begun[event.index][2].append(event.delta.partial_json)
        ended = ended or event.type == "message_stop"
    calls = tuple(_call(*begun[index]) for index in sorted(begun))
    return Completion("".join(texts), calls) if ended else None


def _call(call_id: str, name: str, parts: list[str]) -> ToolCall:
    """Return the whole call; arguments that are no JSON object stay text, for the toolbox to refuse."""
    text = "".join(parts)
    given = read_arguments(text)
    return ToolCall(call_id, name, text if given is None else given)
