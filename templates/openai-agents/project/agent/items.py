"""Conversion between the rooms' messages and the SDK's items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from memkit_runtime.host.wires import STOPPED, sendable_name
from memkit_runtime.loop.bound import read_arguments
from memkit_runtime.loop.interface import CallData, Message

REASONING = "reasoning"
"""Key under which a message carries, until its turn ends, the encrypted reasoning that led to it."""
MADE_HERE = "message"
"""The id of every model message that is sent back; the SDK requires one."""


def to_items(messages: Iterable[Message]) -> list[Any]:
    """Return ``messages`` as items; a message with tool calls becomes its text and one item per call."""
    return [item for message in messages for item in _items(message)]


def _items(message: Message) -> list[dict[str, Any]]:
    text = message.get("content") or ""
    if message["role"] == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": text}]
    if message["role"] != "assistant":
        return [{"role": message["role"], "content": text}]
    said: dict[str, Any] = {
        "id": MADE_HERE,
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    calls = [_call_item(call) for call in message.get("tool_calls") or ()]
    thought: list[dict[str, Any]] = message.get(REASONING) or []  # type: ignore[assignment]
    return [*thought, said, *calls] if text else [*thought, *calls]


def _call_item(call: CallData) -> dict[str, Any]:
    arguments = json.dumps(call["args"], ensure_ascii=False)
    return {"type": "function_call", "call_id": call["id"], "name": sendable_name(call["name"]), "arguments": arguments}


def to_messages(items: Iterable[Any]) -> list[Any]:
    """Return ``items`` as messages: the text and the calls of one answer form one message."""
    messages: list[Any] = []
    names: dict[str, str] = {}
    thought: dict[str, Any] = {}
    for item in items:
        kind = item.get("type", "message")
        if kind == "reasoning" and item.get("encrypted_content"):
            thought = {REASONING: [*thought.get(REASONING, []), item]}
        elif kind == "function_call":
            names[item["call_id"]] = item["name"]
            if not messages or messages[-1]["role"] != "assistant" or thought:
                messages.append({"role": "assistant", "content": "", **thought})
                thought = {}
            messages[-1].setdefault("tool_calls", []).append(_call_data(item))
        elif kind == "function_call_output":
            call_id = item["call_id"]
            answer = {"role": "tool", "tool_call_id": call_id, "content": _text(item["output"])}
            messages.append({**answer, "name": names.get(call_id, "")})
        elif kind == "message":
            messages.append({"role": item["role"], "content": _text(item["content"]), **thought})
            thought = {}
    return messages


def _call_data(item: Any) -> CallData:
    # Arguments that are not a JSON object were rejected; no server would accept them back.
    return CallData(id=item["call_id"], name=item["name"], args=read_arguments(item["arguments"]) or {})


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in content)


def without_reasoning(messages: Iterable[Any]) -> None:
    """Remove from ``messages`` the reasoning that only its own run needs."""
    for message in messages:
        message.pop(REASONING, None)


def answered(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return ``messages`` with an answer to every tool call; a killed run leaves calls without one."""
    known = {message["tool_call_id"] for message in messages if message["role"] == "tool"}
    complete: list[dict[str, Any]] = []
    for message in messages:
        complete.append(message)
        for call in message.get("tool_calls", ()):
            if call["id"] not in known:
                answer = {"role": "tool", "tool_call_id": call["id"], "name": call["name"], "content": STOPPED}
                complete.append(answer)
    return complete
