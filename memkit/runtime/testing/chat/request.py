"""Read a Chat Completions request strictly: what the vendor answers with 400 is a ``Refusal`` here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import Refusal
from ..interface import Call, Conversation, Message
from ..reading import check_choice, function_name, object_of, parsed, text_of, tool_name, value_of, wrong

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_PARTS = {"user": ("text", "image_url", "input_audio", "file"), "assistant": ("text", "refusal")}


def read_conversation(body: Any) -> Conversation:
    """Return the conversation of a request body, or raise ``Refusal`` with the first thing that is wrong."""
    body = object_of(body, "body")
    model = text_of(body, "model", "model")
    listed = body.get("messages")
    if not isinstance(listed, list) or not listed:
        raise wrong("messages", "a non-empty list of messages is required")
    stream = bool(value_of(body, "stream", bool, "stream"))
    if value_of(body, "stream_options", Mapping, "stream_options") is not None and not stream:
        raise wrong("stream_options", "it is only allowed when 'stream' is true")
    if body.get("n") not in (None, 1):
        raise wrong("n", "this server gives one choice")
    for old in ("functions", "function_call"):
        if old in body:
            raise wrong(old, "it is deprecated: use 'tools' and 'tool_choice'")
    messages = tuple(_message(message, f"messages[{index}]") for index, message in enumerate(listed))
    check_tool_order(messages)
    return Conversation(messages, _tools(body), model, stream)


def _message(data: Any, param: str) -> Message:
    data = object_of(data, param)
    role = data.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise wrong(f"{param}.role", f"unknown role {role!r}; supported are {', '.join(_ROLES)}")
    if role != "assistant" and "tool_calls" in data:
        raise wrong(f"{param}.tool_calls", f"a message of role {role!r} cannot call tools")
    if role != "tool" and "tool_call_id" in data:
        raise wrong(f"{param}.tool_call_id", f"a message of role {role!r} cannot answer a tool call")
    calls = _calls(data["tool_calls"], f"{param}.tool_calls") if data.get("tool_calls") is not None else ()
    call_id = text_of(data, "tool_call_id", f"{param}.tool_call_id") if role == "tool" else None
    if data.get("content") is None and role == "assistant":
        if not calls and not data.get("refusal"):
            raise wrong(f"{param}.content", "an assistant message needs content unless it calls tools")
        return Message("assistant", "", calls)
    return Message(_ROLES[role], _content(data.get("content"), role, f"{param}.content"), calls, call_id)


def _content(content: Any, role: str, param: str) -> str:
    """Return the text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        raise wrong(param, f"a message of role {role!r} needs a string or a non-empty list of parts")
    allowed = _PARTS.get(role, ("text",))
    texts = []
    for index, part in enumerate(content):
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind not in allowed:
            raise wrong(f"{param}[{index}].type", f"{kind!r} is not one of {', '.join(allowed)}")
        if kind == "text":
            if not isinstance(part.get("text"), str):
                raise wrong(f"{param}[{index}].text", "a string is required")
            texts.append(part["text"])
    return "".join(texts)


def _calls(listed: Any, param: str) -> tuple[Call, ...]:
    if not isinstance(listed, list) or not listed:
        raise wrong(param, "a non-empty list is required; leave it out when there are no calls")
    return tuple(_call(call, f"{param}[{index}]") for index, call in enumerate(listed))


def _call(data: Any, param: str) -> Call:
    if not isinstance(data, Mapping) or data.get("type") != "function":
        raise wrong(f"{param}.type", "only calls of type 'function' are supported")
    function = data.get("function")
    if not isinstance(function, Mapping):
        raise wrong(f"{param}.function", "an object is required")
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        raise wrong(f"{param}.function.arguments", "the arguments are a string that holds JSON")
    name = tool_name(function, f"{param}.function.name")
    return Call(name, parsed(arguments), text_of(data, "id", f"{param}.id"), arguments)


def check_tool_order(messages: tuple[Message, ...]) -> None:
    """Raise ``Refusal`` unless every call is answered once, directly after the message that makes it."""
    waiting: dict[str, None] = {}
    seen: set[str] = set()
    for index, message in enumerate(messages):
        if message.role == "tool":
            _take_answer(message, waiting, f"messages[{index}]")
            continue
        _check_answered(waiting, index)
        for call in message.calls:
            if call.id in seen:
                raise wrong(f"messages[{index}].tool_calls", f"duplicate tool call id {call.id!r}")
            seen.add(call.id)
            waiting[call.id] = None
    _check_answered(waiting, len(messages))


def _take_answer(message: Message, waiting: dict[str, None], param: str) -> None:
    if message.call_id not in waiting:
        raise Refusal(
            400,
            "Invalid parameter: messages with role 'tool' must be a response to a preceding message with "
            f"'tool_calls', once each. No call {message.call_id!r} waits for an answer there.",
            param=param,
            code="stray_tool_message",
        )
    del waiting[message.call_id]


def _check_answered(waiting: dict[str, None], index: int) -> None:
    if waiting:
        raise Refusal(
            400,
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}.",
            param=f"messages[{index}]",
            code="unanswered_tool_call",
        )


def _tools(body: Mapping[str, Any]) -> tuple[str, ...]:
    listed = body.get("tools")
    if listed is not None and (not isinstance(listed, list) or not listed):
        raise wrong("tools", "a non-empty list is required; leave it out when there are no tools")
    names: list[str] = []
    for index, tool in enumerate(listed or []):
        name = _tool(tool, f"tools[{index}]")
        if name in names:
            raise wrong(f"tools[{index}].function.name", f"tool names must be unique, {name!r} occurs twice")
        names.append(name)
    for key in ("tool_choice", "parallel_tool_calls"):
        if body.get(key) is not None and not names and body[key] != "none":
            raise wrong(key, "it is only allowed when 'tools' are specified")
    check_choice(body.get("tool_choice"), names)
    return tuple(names)


def _tool(data: Any, param: str) -> str:
    """Return the name of one offered tool whose definition is sound."""
    if not isinstance(data, Mapping) or data.get("type") != "function":
        raise wrong(f"{param}.type", "only tools of type 'function' are supported")
    return function_name(data, param)
