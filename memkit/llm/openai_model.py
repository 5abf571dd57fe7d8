"""OpenAI's models, and those of every server that speaks Chat Completions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memkit.llm.vendor import Vendor, no_argument
from memkit.loop.arguments import read_arguments
from memkit.loop.interface import Completion, Message, ToolCall, ToolSpec

VENDOR = Vendor("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1")
DEFAULT = "gpt-5.4-mini"


class OpenAIModel:
    """Asks one model; sends no sampling parameters, because newer models reject them."""

    def __init__(self, model: str = DEFAULT) -> None:
        self.name = model
        self._client = VENDOR.client("OpenAI")

    @classmethod
    def open(cls, argument: str, model: str | None = None, folder: Path | None = None) -> OpenAIModel:
        """Return the model called ``model``; raises ``EnvironmentFault`` where it cannot be asked."""
        no_argument(VENDOR.provider, argument)
        return cls(model or DEFAULT)

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the next text or tool calls; raises ``EnvironmentFault`` when the server cannot serve."""
        request: dict[str, Any] = {"model": self.name, "messages": [_wire_message(one) for one in messages]}
        if tools:
            request["tools"] = [_wire_tool(spec) for spec in tools]
        with VENDOR.clear_faults():
            answer = self._client.chat.completions.create(**request)
        with VENDOR.readable():
            return _completion(answer)


def _completion(answer: Any) -> Completion:
    said, usage = answer.choices[0].message, answer.usage
    calls = tuple(_call(call) for call in said.tool_calls or ())
    spent = {"input": int(usage.prompt_tokens), "output": int(usage.completion_tokens)} if usage else {}
    return Completion(said.content or said.refusal or "", calls, spent)


def _call(call: Any) -> ToolCall:
    """Return a call; arguments that are no JSON object stay text, for whoever asked to refuse."""
    given = read_arguments(call.function.arguments)
    return ToolCall(call.id, call.function.name, call.function.arguments if given is None else given)


def _wire_message(message: Message) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message["role"], "content": message.get("content") or ""}
    if calls := message.get("tool_calls"):
        wire["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["args"], ensure_ascii=False)},
            }
            for call in calls
        ]
    if "tool_call_id" in message:
        wire["tool_call_id"] = message["tool_call_id"]
    elif "name" in message:
        wire["name"] = message["name"]
    return wire


def _wire_tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return {"type": "function", "function": function}
