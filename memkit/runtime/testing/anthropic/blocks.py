"""Read the content of a message, which is a text or a list of typed blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..interface import Call
from .faults import mapping, text_of, wrong

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")
_IN_RESULT = ("text", "image", "document", "search_result", "tool_reference")
_ALLOWED = {
    "user": ("text", "tool_result", "image", "document", "search_result", "container_upload"),
    "assistant": ("text", "tool_use", "thinking", "redacted_thinking"),
    "system": ("text",),
}
"""Types of block by the role of the message; those that a vendor's own server tools write are not spoken here."""


@dataclass(frozen=True)
class ToolResult:
    """What a client says became of a call."""

    call_id: str
    text: str


Block = str | Call | ToolResult
"""What a script sees of a block; others, such as images and thoughts, are checked and left out."""


def read_content(content: Any, role: str, place: str) -> list[Block]:
    """Return the blocks of a message's content; raises ``Refusal`` where they break the protocol."""
    if isinstance(content, str):
        return [content] if content else []
    if not isinstance(content, list):
        raise wrong(place, "Input should be a valid string or a list of content blocks")
    blocks: list[Block] = []
    for index, data in enumerate(content):
        block = _block(data, role, f"{place}.{index}")
        if block is not None:
            blocks.append(block)
    return blocks


def _block(data: Any, role: str, place: str) -> Block | None:
    """Return one block, None for a kind that a script does not see."""
    kind = _kind(data, _ALLOWED[role], place)
    if kind == "text":
        return _text(data, place)
    if kind == "tool_use":
        return _call(data, place)
    if kind == "tool_result":
        return _result(data, place)
    return None


def _kind(data: Any, allowed: tuple[str, ...], place: str) -> str:
    kind = mapping(data, place).get("type")
    if kind not in allowed:
        tags = ", ".join(map(repr, allowed))
        raise wrong(place, f"Input tag {kind!r} found using 'type' does not match any of the expected tags: {tags}")
    return str(kind)


def _text(data: Mapping[str, Any], place: str) -> str:
    text = text_of(data, "text", f"{place}.", empty=True)
    if not text:
        raise wrong(place, "text content blocks must be non-empty")
    if not text.strip():
        raise wrong(place, "text content blocks must contain non-whitespace text")
    return text


def _call(data: Mapping[str, Any], place: str) -> Call:
    name, call_id = text_of(data, "name", f"{place}."), text_of(data, "id", f"{place}.")
    if not TOOL_NAME.match(name):
        raise wrong(f"{place}.name", f"String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$', got {name!r}")
    if not _CALL_ID.match(call_id):
        raise wrong(f"{place}.id", f"String should match pattern '^[a-zA-Z0-9_-]+$', got {call_id!r}")
    return Call(name, mapping(data.get("input"), f"{place}.input"), call_id)


def _result(data: Mapping[str, Any], place: str) -> ToolResult:
    """Return the result of a ``tool_result`` block; its content may be missing or empty."""
    call_id, content = text_of(data, "tool_use_id", f"{place}."), data.get("content", "")
    if not isinstance(data.get("is_error", False), bool):
        raise wrong(f"{place}.is_error", "Input should be a valid boolean")
    if isinstance(content, str):
        return ToolResult(call_id, content)
    if not isinstance(content, list):
        raise wrong(f"{place}.content", "Input should be a valid string or a list of content blocks")
    texts = []
    for index, part in enumerate(content):
        if _kind(part, _IN_RESULT, f"{place}.content.{index}") == "text":
            texts.append(_text(part, f"{place}.content.{index}"))
    return ToolResult(call_id, "".join(texts))
