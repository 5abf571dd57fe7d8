"""Chat Completions: ``POST /v1/chat/completions``, parsed strictly, streamed or not, and ``GET /v1/models``."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from .interface import Answer, Call, Conversation, Message, Play, Refusal, Request, Response, halves
from .openai_parts import (
    OpenAIWire,
    check_choice,
    check_method,
    error_body,
    function_name,
    object_of,
    parsed,
    text_of,
    tool_name,
    unknown_address,
    value_of,
    wrong,
)

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_PARTS = {"user": ("text", "image_url", "input_audio", "file"), "assistant": ("text", "refusal")}


def read_conversation(body: Any) -> Conversation:
    """Return the conversation of a request body; raise ``Refusal`` for the first fault."""
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
            if message.call_id not in waiting:
                raise Refusal(
                    400,
                    "Invalid parameter: messages with role 'tool' must be a response to a preceding message with "
                    f"'tool_calls', once each. No call {message.call_id!r} waits for an answer there.",
                    param=f"messages[{index}]",
                    code="stray_tool_message",
                )
            del waiting[message.call_id]
            continue
        _check_answered(waiting, index)
        for call in message.calls:
            if call.id in seen:
                raise wrong(f"messages[{index}].tool_calls", f"duplicate tool call id {call.id!r}")
            seen.add(call.id)
            waiting[call.id] = None
    _check_answered(waiting, len(messages))


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
        param = f"tools[{index}]"
        if not isinstance(tool, Mapping) or tool.get("type") != "function":
            raise wrong(f"{param}.type", "only tools of type 'function' are supported")
        name = function_name(tool, param)
        if name in names:
            raise wrong(f"tools[{index}].function.name", f"tool names must be unique, {name!r} occurs twice")
        names.append(name)
    for key in ("tool_choice", "parallel_tool_calls"):
        if body.get(key) is not None and not names and body[key] != "none":
            raise wrong(key, "it is only allowed when 'tools' are specified")
    check_choice(body.get("tool_choice"), names)
    return tuple(names)


class ChatCompletions(OpenAIWire):
    """Speaks Chat Completions."""

    def serve(self, request: Request, play: Play) -> Response:
        """Return the response to ``request``."""
        if request.path != "/v1/chat/completions":
            raise unknown_address(request)
        check_method(request, "POST")
        return _completed(request.body, play)


def _completed(body: Any, play: Play) -> Response:
    conversation = read_conversation(body)
    answer = play(conversation)
    frame = {
        "id": f"chatcmpl-{uuid.uuid4().hex}",  # clients distinguish the messages of several runs by it
        "created": int(time.time()),
        "model": conversation.model,
    }
    calls = tuple(_wire_call(call) for call in answer.calls)
    prompt, completion = conversation.tokens, answer.tokens
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    failure = answer.failure
    if failure is not None and not conversation.stream:
        raise failure
    if not conversation.stream:
        return Response(body=_whole(frame, answer, calls, usage), cut=answer.cut)
    wants_usage = bool((body.get("stream_options") or {}).get("include_usage"))
    chunks = _chunks(answer, calls)
    events = [_event(frame, choice=choice, usage=None, wants_usage=wants_usage) for choice in chunks]
    if failure is not None:  # replaces the chunk that would say why the model stopped
        return Response(events=(*events[:-1], f"data: {json.dumps(error_body(failure))}"), cut=answer.cut)
    if wants_usage:
        events.append(_event(frame, choice=None, usage=usage, wants_usage=True))
    return Response(events=(*events, "data: [DONE]"), cut=answer.cut)


def _wire_call(call: Call) -> dict[str, Any]:
    return {
        "id": call.id or f"call_{uuid.uuid4().hex[:24]}",
        "type": "function",
        "function": {"name": call.tool, "arguments": call.sent},
    }


def _whole(frame: Any, answer: Answer, calls: tuple[dict[str, Any], ...], usage: dict[str, int]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
    if calls:
        message["tool_calls"] = list(calls)
    else:
        message["content"] = answer.text
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(answer)}
    return {**frame, "object": "chat.completion", "choices": [choice], "usage": usage}


def _finish_reason(answer: Answer) -> str:
    return "length" if answer.stop == "length" else "tool_calls" if answer.calls else "stop"


def _chunks(answer: Answer, calls: tuple[dict[str, Any], ...]) -> Iterator[dict[str, Any]]:
    """Yield the choice of each chunk: role, text in parts, each call's head and then its arguments, the end."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None if calls and not answer.text else ""}]
    deltas += [{"content": part} for part in halves(answer.text)]
    for index, call in enumerate(calls):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        head = {"index": index, "id": call["id"], "type": "function", "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [head]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": part}}]} for part in halves(arguments)]
    for delta in deltas:
        yield {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
    yield {"index": 0, "delta": {}, "logprobs": None, "finish_reason": _finish_reason(answer)}


def _event(frame: Any, *, choice: dict[str, Any] | None, usage: dict[str, int] | None, wants_usage: bool) -> str:
    chunk = {**frame, "object": "chat.completion.chunk", "choices": [] if choice is None else [choice]}
    if wants_usage:
        chunk["usage"] = usage
    return f"data: {json.dumps(chunk, ensure_ascii=False)}"


WIRE = ChatCompletions
