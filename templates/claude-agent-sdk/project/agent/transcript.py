"""The main context as a session that the command line resumes.

The command line's own session only grows, and would continue with the prompt of its first turn. So it gets
a new one for every turn: the current main context, in the original order and roles.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from claude_agent_sdk import SessionKey, SessionStore, SessionStoreEntry
from memkit_runtime.host.wires import sendable_name
from memkit_runtime.loop.interface import CallData, Message
from memkit_runtime.memory.gate.secrets import masked_tree

from agent.tools import PREFIX

EARLIER = "(What was said before stands in the summary.)"
"""Replaces the user's words before an answer that outlived them; a conversation begins with the user."""


class MainContextStore:
    """Offers the messages of the main context for resuming, masked; what the command line writes is not kept."""

    def __init__(self, messages: Sequence[Message], offered: Sequence[str]) -> None:
        self._messages = messages
        self._names = {name: f"{PREFIX}{name}" for name in offered}

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Discard what happens in the run: the main context records it itself."""

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return the messages as entries of a transcript, each naming its predecessor."""
        entries: list[Any] = []
        parent: str | None = None
        for message in to_wire(self._messages, self._names):
            entry = {
                "type": message["role"],
                "message": masked_tree(message),
                "uuid": str(uuid.uuid4()),
                "parentUuid": parent,
                "sessionId": key["session_id"],
                "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "isSidechain": False,
            }
            parent = entry["uuid"]
            entries.append(entry)
        return entries


def store_of(messages: Sequence[Message], offered: Sequence[str]) -> SessionStore:
    """Return the store of ``messages``; the SDK checks a store's abilities, and needs no more than these."""
    return cast(SessionStore, MainContextStore(messages, offered))


def to_wire(messages: Sequence[Message], names: dict[str, str]) -> list[dict[str, Any]]:
    """Return ``messages`` in the protocol's format: calls and results are blocks, and the user begins."""
    wire: list[dict[str, Any]] = []
    for message in messages:
        role, blocks = "assistant" if message["role"] == "assistant" else "user", list(_blocks(message, names))
        if not blocks:
            continue
        if not wire and role == "assistant":
            wire.append({"role": "user", "content": [_text(EARLIER)]})
        if wire and wire[-1]["role"] == role:
            wire[-1]["content"] += blocks
        else:
            wire.append({"role": role, "content": blocks})
    return wire


def blocks_of(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the content of one message with what ``messages`` of the user say."""
    return [block for message in messages for block in _blocks(message, {})]


def _blocks(message: Message, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    text = message.get("content") or ""
    if message["role"] == "tool":
        yield {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text}
        return
    if text.strip():
        yield _text(text)
    for call in message.get("tool_calls") or ():
        yield _call(call, names)


def _call(call: CallData, names: dict[str, str]) -> dict[str, Any]:
    name = names.get(call["name"]) or sendable_name(call["name"])
    return {"type": "tool_use", "id": call["id"], "name": name, "input": dict(call["args"])}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
