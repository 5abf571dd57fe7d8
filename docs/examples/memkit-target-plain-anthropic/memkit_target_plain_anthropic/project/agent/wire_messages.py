"""The conversation of the rooms in the form of Anthropic's Messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memkit_runtime.host.wires import sendable_name
from memkit_runtime.loop.interface import Message, ToolSpec

PAGED_OUT = "(What was said before was paged out.)"
"""In the place of the first words, where the oldest message left is not the user's."""


def wire_messages(messages: Sequence[Message]) -> tuple[str, list[dict[str, Any]]]:
    """Return the system prompt, and the rest as turns of user and assistant that take turns, the user first."""
    system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = [] if message["role"] == "system" else _blocks(message)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    if not turns or turns[0]["role"] != "user":
        turns.insert(0, {"role": "user", "content": [_text(PAGED_OUT)]})
    return system, turns


def wire_tool(spec: ToolSpec) -> dict[str, Any]:
    """Return a tool in the form of the protocol."""
    return {"name": spec.name, "description": spec.description, "input_schema": dict(spec.parameters)}


def _blocks(message: Message) -> list[dict[str, Any]]:
    """Return the content of a message; a text without a word is refused by the protocol and says nothing."""
    text = message.get("content") or ""
    if message["role"] == "tool":
        return [{"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text}]
    calls = [
        {"type": "tool_use", "id": call["id"], "name": sendable_name(call["name"]), "input": call["args"]}
        for call in message.get("tool_calls") or ()
    ]
    return [*([_text(text)] if text.strip() else []), *calls]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
