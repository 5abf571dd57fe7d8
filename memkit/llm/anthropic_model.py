"""Anthropic's models, through the Messages protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memkit.llm.vendor import Vendor, no_argument
from memkit.loop.interface import Completion, Message, ToolCall, ToolSpec

VENDOR = Vendor("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com")
DEFAULT = "claude-sonnet-5-5"
MOST_TOKENS = 8_192
"""Of one answer; the protocol wants a bound."""

Block = dict[str, Any]


class AnthropicModel:
    """Asks one model; sends no sampling parameters, because the vendor rejects them."""

    def __init__(self, model: str = DEFAULT) -> None:
        self.name = model
        self._client = VENDOR.client("Anthropic")

    @classmethod
    def open(cls, argument: str, model: str | None = None, folder: Path | None = None) -> AnthropicModel:
        """Return the model called ``model``; raises ``EnvironmentFault`` where it cannot be asked."""
        no_argument(VENDOR.provider, argument)
        return cls(model or DEFAULT)

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the next text or tool calls; raises ``EnvironmentFault`` when the server cannot serve."""
        request: dict[str, Any] = {"model": self.name, "max_tokens": MOST_TOKENS, "messages": wire_turns(messages)}
        system = "\n\n".join(one["content"] for one in messages if one["role"] == "system" and one.get("content"))
        if system:
            request["system"] = system
        if tools:
            request["tools"] = [
                {"name": spec.name, "description": spec.description, "input_schema": dict(spec.parameters)}
                for spec in tools
            ]
        with VENDOR.clear_faults():
            answer = self._client.messages.create(**request)
        with VENDOR.readable():
            return _completion(answer)


def _completion(answer: Any) -> Completion:
    texts = [block.text for block in answer.content if block.type == "text"]
    calls = tuple(
        ToolCall(block.id, block.name, block.input if isinstance(block.input, dict) else str(block.input))
        for block in answer.content
        if block.type == "tool_use"
    )
    usage = {"input": int(answer.usage.input_tokens), "output": int(answer.usage.output_tokens)}
    return Completion("".join(texts), calls, usage)


def wire_turns(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the conversation in the form of the protocol: user and assistant in turn, results inside user turns."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = [] if message["role"] == "system" else list(_blocks(message))
        if blocks and turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: Message) -> Iterator[Block]:
    text = message.get("content") or ""
    if message["role"] == "tool":
        yield {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text}
        return
    if text.strip():
        yield {"type": "text", "text": text.rstrip()}
    for call in message.get("tool_calls", ()):
        args = call["args"] if isinstance(call["args"], Mapping) else {}
        yield {"type": "tool_use", "id": call["id"], "name": call["name"], "input": dict(args)}
