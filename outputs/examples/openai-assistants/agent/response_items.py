"""Conversion between the rooms' messages and the items of the Responses API."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memkit_runtime.host.wires import sendable_name, sendable_text
from memkit_runtime.loop.bound import read_arguments
from memkit_runtime.loop.interface import CallData, ToolCall

Item = dict[str, Any]
Written = dict[str, list[Item]]
"""The server's items of each step of a run, by the id of the step's first call."""


def to_items(messages: Iterable[Mapping[str, Any]], written: Written) -> list[Item]:
    """Return ``messages`` as items: the server's own for this run, and otherwise made from what is stored."""
    return [item for message in messages for item in _as_written(message, written) or _made(message)]


def _as_written(message: Mapping[str, Any], written: Written) -> list[Item]:
    """Return the server's items, unless the main context shortened the message or no server would accept them back."""
    called = message.get("tool_calls")
    items = written.get(called[0]["id"], []) if called else []
    text, calls, _ = read_items(items)
    given = [{"id": call.id, "name": call.name, "args": _arguments(call)} for call in calls]
    same = text == message.get("content") and given == called
    return items if same and all(map(_can_be_sent, items)) else []


def _can_be_sent(item: Item) -> bool:
    try:
        json.dumps(item, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    if item.get("type") != "function_call":
        return True
    name = str(item.get("name") or "")
    return sendable_name(name) == name and isinstance(item.get("arguments"), str)


def _made(message: Mapping[str, Any]) -> list[Item]:
    text = sendable_text(message.get("content") or "")
    if message["role"] == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": text}]
    phase = {"phase": message["phase"]} if "phase" in message else {}
    said = {"role": message["role"], "content": text, **phase}
    calls = [_call_item(call) for call in message.get("tool_calls") or ()]
    return [said, *calls] if text or not calls else calls


def _call_item(call: CallData) -> Item:
    arguments = json.dumps(call["args"], ensure_ascii=False)
    return {"type": "function_call", "call_id": call["id"], "name": sendable_name(call["name"]), "arguments": arguments}


def read_items(items: Iterable[Item]) -> tuple[str, list[ToolCall], str | None]:
    """Return the text in ``items``, the calls, and the phase that the server assigned to the text."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    phase: str | None = None
    for item in items:
        if item.get("type") == "message":
            texts += [str(part.get("text") or part.get("refusal") or "") for part in _parts(item)]
            phase = item.get("phase", phase)
        elif item.get("type") == "function_call":
            text = str(item.get("arguments") or "")
            given = read_arguments(text)
            # Anything but a JSON object stays text, for the toolbox to reject.
            calls.append(
                ToolCall(str(item.get("call_id") or ""), str(item.get("name") or ""), text if given is None else given)
            )
    return sendable_text("".join(texts)), calls, phase


def _parts(item: Item) -> list[Mapping[str, Any]]:
    content = item.get("content")
    return [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []


def _arguments(call: ToolCall) -> dict[str, Any]:
    return {} if isinstance(call.args, str) else dict(call.args)


def renumbered(items: Sequence[Item], taken: Iterable[str]) -> list[Item]:
    """Return ``items`` with call ids unique in the thread; some servers restart their ids."""
    used = set(taken)
    fresh: list[Item] = []
    for item in items:
        if item.get("type") == "function_call":
            if not isinstance(item.get("call_id"), str) or item["call_id"] in ("", *used):
                item = {**item, "call_id": f"call_{uuid.uuid4().hex}"}
            used.add(item["call_id"])
        fresh.append(item)
    return fresh


def resendable(items: Iterable[Item]) -> list[Item]:
    """Return ``items`` without reasoning that is only an id: a server that stores nothing would not find it."""
    return [
        item
        for item in items
        if item.get("type") != "reasoning" or item.get("encrypted_content") or item.get("content")
    ]
