"""Anthropic's models, through the Messages protocol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from memkit.llm.inquiry import VendorModel, malformed, readable
from memkit.llm.vendor import ModelVendor
from memkit.llm.wire import CallPart, Delta, WireTurn, argument_text, counts, sendable, system_text, text_of, turns_of
from memkit.runtime.loop.interface import Message, ToolSpec

MOST_TOKENS = 8_192
"""The limit of one answer, which the protocol requires."""
STOPS = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "refused"}
"""Why an answer is incomplete, in our words; any other reason means a complete one."""

Block = dict[str, Any]


class AnthropicModel(VendorModel):
    """Calls one of Anthropic's models."""

    VENDOR = ModelVendor("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com")
    CLIENT, DEFAULT = "Anthropic", "claude-sonnet-5-5"

    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Block:
        request: Block = {
            "model": sendable(self.name),
            "max_tokens": MOST_TOKENS,
            "messages": [_wire_turn(turn) for turn in turns_of(messages)],
        }
        if system := system_text(messages):
            request["system"] = system
        if tools:
            request["tools"] = sendable([_wire_tool(spec) for spec in tools])
        return request

    def _whole(self, request: Block) -> Iterator[Delta]:
        timeout = self.vendor.timeout(self.patience, stream=False)
        answer = self._client.messages.create(**request, timeout=timeout)
        with readable(self.vendor):
            for number, block in enumerate(answer.content):
                yield _block_delta(number, block)
            yield Delta(usage=_usage({}, answer.usage), stop=STOPS.get(answer.stop_reason, "done"))

    def _streamed(self, request: Block) -> Iterator[Delta]:
        timeout = self.vendor.timeout(self.patience, stream=True)
        stream = self._client.messages.create(**request, stream=True, timeout=timeout)
        counted: dict[str, Any] = {}
        ended = False
        with stream, readable(self.vendor):
            for event in stream:
                yield _event_delta(event, counted)
                ended = ended or event.type == "message_stop"
        if not ended:
            raise malformed(self.vendor, "the stream has no end")


def _event_delta(event: Any, counted: dict[str, Any]) -> Delta:
    """Return what an event of a stream adds; an event of an unknown kind adds nothing."""
    if event.type == "message_start":
        return Delta(usage=_usage(counted, event.message.usage))
    if event.type == "content_block_start":
        return _block_delta(event.index, event.content_block)
    if event.type == "content_block_delta" and event.delta.type == "text_delta":
        return Delta(text=text_of(event.delta.text))
    if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
        return Delta(calls=(CallPart(event.index, arguments=text_of(event.delta.partial_json)),))
    if event.type == "message_delta":
        reason = event.delta.stop_reason
        stop = STOPS.get(reason, "done") if reason else ""
        return Delta(usage=_usage(counted, event.usage), stop=stop)
    return Delta()


def _block_delta(index: int, block: Any) -> Delta:
    """Return what a block of content adds, a whole one or the beginning of one."""
    if block.type == "text":
        return Delta(text=text_of(block.text))
    if block.type != "tool_use":
        return Delta()
    # A streamed call begins with an empty object, and its arguments follow; a whole one has them here.
    arguments = argument_text(block.input) if block.input else ""
    return Delta(calls=(CallPart(index, text_of(block.id), text_of(block.name), arguments),))


def _usage(counted: dict[str, Any], usage: Any) -> dict[str, int]:
    """Return the counts so far: tokens from the vendor's cache are part of the input, and also counted separately."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    counted.update(counts(**{name: getattr(usage, name, None) for name in names}))
    if "input_tokens" not in counted:
        return {}
    put_in = sum(counted.get(name, 0) for name in names[:3])
    told = {"input": put_in, "output": counted.get("output_tokens")}
    return counts(**told, cached=counted.get("cache_read_input_tokens") or None)


def _wire_turn(turn: WireTurn) -> Block:
    """Return a turn in the protocol's form: results of tools precede the user's words."""
    content: list[Block] = [
        {"type": "tool_result", "tool_use_id": call_id, "content": text} for call_id, text in turn.results
    ]
    if turn.text:
        content.append({"type": "text", "text": turn.text})
    content += [
        {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]} for call in turn.calls
    ]
    return {"role": turn.role, "content": content}


def _wire_tool(spec: ToolSpec) -> Block:
    return {"name": spec.name, "description": spec.description, "input_schema": dict(spec.parameters)}
