"""Parses a Messages request strictly: what the vendor answers with 400 is a ``Refusal`` here, in the vendor's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..interface import Call, Conversation, Message, Refusal

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
"""Any other client error is an ``invalid_request_error``, any other server error an ``api_error``."""


def kind_of(status: int) -> str:
    """Return the vendor's error type for ``status``."""
    return KINDS.get(status, "api_error" if status >= 500 else KINDS[400])


def error_of(status: int, message: str) -> dict[str, str]:
    """Return the content of ``error``, in a response or a stream."""
    return {"type": kind_of(status), "message": message}


def wrong(place: str, reason: str) -> Refusal:
    """Return the refusal of the value at ``place``, a path such as ``messages.0.content``."""
    return Refusal(400, f"{place}: {reason}", param=place)


def mapping(value: Any, place: str) -> Mapping[str, Any]:
    """Return ``value`` if it is an object."""
    if not isinstance(value, Mapping):
        raise wrong(place, "Input should be a valid dictionary")
    return value


def text_of(data: Mapping[str, Any], key: str, place: str, *, empty: bool = False) -> str:
    """Return the required text in ``data`` under ``key``."""
    value = data.get(key)
    if key not in data:
        raise wrong(f"{place}{key}", "Field required")
    if not isinstance(value, str):
        raise wrong(f"{place}{key}", "Input should be a valid string")
    if not value and not empty:
        raise wrong(f"{place}{key}", "String should have at least 1 character")
    return value


TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")
_IN_RESULT = ("text", "image", "document", "search_result", "tool_reference")
_ALLOWED = {
    "user": ("text", "tool_result", "image", "document", "search_result", "container_upload"),
    "assistant": ("text", "tool_use", "thinking", "redacted_thinking"),
    "system": ("text",),
}
"""Block types by message role; those written by the vendor's own server tools are not supported."""


@dataclass(frozen=True)
class ToolResult:
    """A client's result for a call."""

    call_id: str
    text: str


Block = str | Call | ToolResult
"""The blocks that a script sees; others, such as images and thoughts, are checked and omitted."""


def read_content(content: Any, role: str, place: str) -> list[Block]:
    """Return the blocks of a message's content; raise ``Refusal`` if they violate the protocol."""
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


_KEYS = {"user": {"role", "content"}, "assistant": {"role", "content"}, "system": {"role", "content", "output_config"}}
"""The keys of a message by role; the Claude command line uses ``system`` for what applies from there on."""


def read_history(listed: Any, system: str) -> tuple[Message, ...]:
    """Return the messages in the common form; raise ``Refusal`` for the first fault.

    System messages among them are added to ``system``, the first message of the common form: so a script finds the
    user's words or a tool's result last, whatever a client appends.
    """
    if not isinstance(listed, list):
        raise wrong("messages", "Field required" if listed is None else "Input should be a valid list")
    if not listed:
        raise wrong("messages", "at least one message is required")
    turns = [_turn(data, index, last=index == len(listed) - 1) for index, data in enumerate(listed)]
    first = next((role for role, _ in turns if role != "system"), None)
    if first != "user":
        raise wrong("messages", 'first message must use the "user" role')
    _check_pairs(turns)
    messages = [message for role, blocks in turns for message in _messages(role, blocks)]
    said = "\n".join(text for text in (system, *(one.text for one in messages if one.role == "system")) if text)
    spoken = tuple(message for message in messages if message.role != "system")
    return (Message("system", said), *spoken) if said else spoken


def _turn(data: Any, index: int, *, last: bool) -> tuple[str, list[Block]]:
    place = f"messages.{index}"
    role = mapping(data, place).get("role")
    if not isinstance(role, str) or role not in _KEYS:
        raise wrong(f"{place}.role", f"Input should be 'user' or 'assistant', got {role!r}")
    if "content" not in data:
        raise wrong(f"{place}.content", "Field required")
    extra = sorted(set(data) - _KEYS[role])
    if extra:
        raise wrong(f"{place}.{extra[0]}", "Extra inputs are not permitted")
    blocks = read_content(data["content"], role, f"{place}.content")
    if not data["content"] and not (role == "assistant" and last) and "output_config" not in data:
        raise wrong(place, "all messages must have non-empty content except for the optional final assistant message")
    final = blocks[-1] if blocks else None
    if role == "assistant" and last and isinstance(final, str) and final != final.rstrip():
        raise wrong("messages", "final assistant content cannot end with trailing whitespace")
    return role, blocks


def _messages(role: str, blocks: list[Block]) -> Iterator[Message]:
    """Yield the common form of one message: each result is a separate message, text and calls form one."""
    yield from (Message("tool", block.text, call_id=block.call_id) for block in blocks if isinstance(block, ToolResult))
    text = "\n".join(block for block in blocks if isinstance(block, str))
    calls = tuple(block for block in blocks if isinstance(block, Call))
    if text or calls or not any(isinstance(block, ToolResult) for block in blocks):
        yield Message(role, text, calls)


def _check_pairs(turns: list[tuple[str, list[Block]]]) -> None:
    """Raise ``Refusal`` unless every call is answered once, in the next user message, before anything else."""
    waiting: list[str] = []
    seen: set[str] = set()
    asked_in = 0
    for index, (role, blocks) in enumerate(turns):
        if role == "user":
            _check_answers(blocks, waiting, asked_in, index)
            waiting = []
            continue
        _check_unanswered(waiting, asked_in)
        waiting, asked_in = _calls(blocks, seen, index), index
    _check_unanswered(waiting, asked_in)


def _calls(blocks: list[Block], seen: set[str], index: int) -> list[str]:
    """Return the ids of the calls in ``blocks``, none of which may have occurred before."""
    ids = [block.id for block in blocks if isinstance(block, Call)]
    for call_id in ids:
        if call_id in seen:
            raise wrong(f"messages.{index}", f"`tool_use` ids must be unique, {call_id} occurs twice")
        seen.add(call_id)
    return ids


def _check_answers(blocks: list[Block], waiting: list[str], asked_in: int, index: int) -> None:
    """Reject results that answer no call, answer one twice, omit one or follow something else."""
    answered: list[str] = []
    for place, block in enumerate(blocks):
        if not isinstance(block, ToolResult):
            continue
        if block.call_id in answered:
            raise wrong(
                f"messages.{index}.content.{place}",
                "each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {block.call_id}",
            )
        if block.call_id not in waiting:
            raise wrong(
                f"messages.{index}.content.{place}",
                f"unexpected `tool_use_id` found in `tool_result` blocks: {block.call_id}. Each `tool_result` block "
                "must have a corresponding `tool_use` block in the previous message.",
            )
        answered.append(block.call_id)
    in_front = blocks[: len(answered)]
    left = waiting if any(not isinstance(block, ToolResult) for block in in_front) else set(waiting) - set(answered)
    _check_unanswered([call_id for call_id in waiting if call_id in left], asked_in)


def _check_unanswered(waiting: list[str], asked_in: int) -> None:
    if waiting:
        raise Refusal(
            400,
            f"messages.{asked_in}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(waiting)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message, in front of everything else that it holds.",
            param=f"messages.{asked_in}",
        )


WITHOUT_SAMPLING = "2026-10-21"
"""From this version on, requests with a sampling parameter are rejected."""
_SAMPLING = {"temperature": 1.0, "top_p": 1.0, "top_k": float("inf")}
"""Sampling parameters of earlier versions, with their maximum values."""
_CACHED_BLOCKS = 4
_CHOICES = ("auto", "any", "none", "tool")
_EVERYWHERE = {"model", "messages", "system", "tools", "tool_choice", "thinking"}
_EVERYWHERE |= {"cache_control", "context_management", "mcp_servers", "output_config", "output_format", "speed"}
_ONLY_MESSAGES = {"max_tokens", "stream", "metadata", "stop_sequences", "service_tier", "container", "inference_geo"}
_ONLY_MESSAGES |= {"diagnostics", *_SAMPLING}


def read_conversation(body: Any, version: str, *, counting: bool = False) -> Conversation:
    """Return the conversation of a request body; raise ``Refusal`` for the first fault.

    Args:
        body: The parsed JSON.
        version: The protocol version, a date.
        counting: Whether the request only counts tokens, so that it says nothing about the answer.
    """
    if not isinstance(body, Mapping):
        raise wrong("body", "the request body is not a JSON object")
    _check_fields(body, version, counting=counting)
    model = text_of(body, "model", "")
    if not counting:
        value = body.get("max_tokens")
        if "max_tokens" not in body:
            raise wrong("max_tokens", "Field required")
        if isinstance(value, bool) or not isinstance(value, int):
            raise wrong("max_tokens", "Input should be a valid integer")
        if value < 1:
            raise wrong("max_tokens", "Input should be greater than or equal to 1")
    stream = body.get("stream", False)
    if not isinstance(stream, bool):
        raise wrong("stream", "Input should be a valid boolean")
    system = read_content(body.get("system") or "", "system", "system")
    history = read_history(body.get("messages"), "\n".join(block for block in system if isinstance(block, str)))
    tools = _tools(body.get("tools"))
    _check_choice(body.get("tool_choice"), tools)
    _check_cached(body)
    return Conversation(history, tools, model, stream)


def _check_fields(body: Mapping[str, Any], version: str, *, counting: bool) -> None:
    """Reject unknown fields, and sampling parameters according to ``version``."""
    known = _EVERYWHERE if counting else _EVERYWHERE | _ONLY_MESSAGES
    for name in body:
        if name not in known:
            raise wrong(str(name), "Extra inputs are not permitted")
    for name, most in _SAMPLING.items():
        value = body.get(name)
        if value is None:
            continue
        if version >= WITHOUT_SAMPLING:
            raise wrong(name, f"sampling parameters are not supported from version {WITHOUT_SAMPLING} on")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
            raise wrong(name, f"Input should be a number from 0 to {most:g}")


CLIENTS_OWN: Mapping[str, str] = {"memory_20250818": "memory"}
"""Tools that the vendor defines and the client runs, with their fixed names."""


def _tools(listed: Any) -> tuple[str, ...]:
    if listed is None:
        return ()
    if not isinstance(listed, list):
        raise wrong("tools", "Input should be a valid list")
    names: list[str] = []
    for index, tool in enumerate(listed):
        name = _tool(tool, f"tools.{index}")
        if name in names:
            raise wrong("tools", f"Tool names must be unique, {name!r} occurs twice")
        names.append(name)
    return tuple(names)


def _tool(data: Any, place: str) -> str:
    kind = mapping(data, place).get("type", "custom")
    if CLIENTS_OWN.get(str(kind)) is not None and data.get("name") == CLIENTS_OWN[str(kind)]:
        return str(data["name"])
    if kind not in ("custom", None):
        raise wrong(f"{place}.type", f"this server runs no tool of type {kind!r}: offer tools of your own")
    name = text_of(data, "name", f"{place}.custom.")
    if not TOOL_NAME.match(name):
        raise wrong(f"{place}.custom.name", f"String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$', got {name!r}")
    if not isinstance(data.get("description", ""), str):
        raise wrong(f"{place}.custom.description", "Input should be a valid string")
    if "input_schema" not in data:
        raise wrong(f"{place}.custom.input_schema", "Field required")
    _check_schema(mapping(data["input_schema"], f"{place}.custom.input_schema"), f"{place}.custom.input_schema")
    return name


def _check_schema(schema: Mapping[str, Any], place: str) -> None:
    """Reject anything but the JSON schema of an object."""
    if schema.get("type") != "object":
        raise wrong(f"{place}.type", f"Input should be 'object', got {schema.get('type')!r}")
    properties = mapping(schema.get("properties") or {}, f"{place}.properties")
    required = schema.get("required") or []
    if not isinstance(required, list) or not set(map(str, required)) <= set(properties):
        raise wrong(f"{place}.required", "it must list names that 'properties' holds")


def _check_choice(choice: Any, tools: tuple[str, ...]) -> None:
    if choice is None:
        return
    kind = mapping(choice, "tool_choice").get("type")
    if kind not in _CHOICES:
        raise wrong("tool_choice.type", f"Input should be one of {', '.join(_CHOICES)}, got {kind!r}")
    if not tools and kind != "none":
        raise wrong("tool_choice", "it may only be specified while providing `tools`")
    if kind == "tool" and choice.get("name") not in tools:
        raise wrong("tool_choice.name", f"Tool {choice.get('name')!r} not found in provided tools")


def _check_cached(body: Mapping[str, Any]) -> None:
    """Reject more cache breakpoints than the vendor accepts."""
    found = sum(_cached(body.get(name)) for name in ("system", "tools", "messages"))
    if found > _CACHED_BLOCKS:
        raise wrong(
            "cache_control", f"A maximum of {_CACHED_BLOCKS} blocks with cache_control may be provided. Found {found}."
        )


def _cached(value: Any) -> int:
    """Return the number of blocks in ``value`` marked for caching; a tool's schema and arguments contain none."""
    if isinstance(value, list):
        return sum(map(_cached, value))
    if not isinstance(value, Mapping):
        return 0
    return (value.get("cache_control") is not None) + _cached(value.get("content"))
