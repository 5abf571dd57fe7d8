"""The Chat Completions protocol: ``POST /v1/chat/completions``, streamed or not, and ``GET /v1/models``."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

from ..errors import Refusal
from ..interface import Answer, Call, Conversation, Play, Request, Response
from ..sse import halves
from .request import read_conversation

_MODEL = "fake-model"


class ChatCompletions:
    """Speaks Chat Completions."""

    base_path = "/v1"
    variables = ("OPENAI_BASE_URL", "OPENAI_API_KEY")
    keeps_time = False

    def respond(self, request: Request, play: Play) -> Response:
        """Return the response to ``request``."""
        if request.path == "/v1/chat/completions":
            _check_method(request, "POST")
            return _completed(request.body, play)
        if request.path == "/v1/models":
            _check_method(request, "GET")
            return Response(body={"object": "list", "data": [_model(_MODEL)]})
        if request.path.startswith("/v1/models/"):
            _check_method(request, "GET")
            return Response(body=_model(request.path.removeprefix("/v1/models/")))
        raise Refusal(404, f"Invalid URL ({request.method} {request.path}).", code="unknown_url")

    def error_body(self, refusal: Refusal) -> dict[str, Any]:
        """Return the error object of this protocol."""
        error = {"message": refusal.message, "type": refusal.kind, "param": refusal.param, "code": refusal.code}
        return {"error": error}


def _check_method(request: Request, method: str) -> None:
    """Refuse any other method."""
    if request.method != method:
        raise Refusal(405, f"Not allowed to {request.method} on {request.path}: use {method}.")


def _model(name: str) -> dict[str, Any]:
    """Return the description of a model."""
    return {"id": name, "object": "model", "created": 0, "owned_by": "local"}


def _completed(body: Any, play: Play) -> Response:
    """Return the completion of a valid request body."""
    conversation = read_conversation(body)
    answer = play(conversation)
    frame = {
        "id": f"chatcmpl-{uuid.uuid4().hex}",  # clients keep messages of several runs apart by it
        "created": int(time.time()),
        "model": conversation.model,
    }
    calls = tuple(_wire_call(call) for call in answer.calls)
    usage = _usage(conversation, answer)
    if not conversation.stream:
        return Response(body=_whole(frame, answer, calls, usage), cut=answer.cut)
    wants_usage = bool((body.get("stream_options") or {}).get("include_usage"))
    chunks = _chunks(answer.text, calls)
    events = [_event(frame, choice=choice, usage=None, wants_usage=wants_usage) for choice in chunks]
    if wants_usage:
        events.append(_event(frame, choice=None, usage=usage, wants_usage=True))
    return Response(events=(*events, "data: [DONE]"), cut=answer.cut)


def _wire_call(call: Call) -> dict[str, Any]:
    """Return ``call`` in the form of the protocol."""
    arguments = json.dumps(call.args, ensure_ascii=False) if call.arguments is None else call.arguments
    return {
        "id": call.id or f"call_{uuid.uuid4().hex[:24]}",
        "type": "function",
        "function": {"name": call.tool, "arguments": arguments},
    }


def _usage(conversation: Conversation, answer: Answer) -> dict[str, int]:
    """Return token counts, estimated at four characters each."""
    asked = sum(len(message.text) + len(str(message.calls)) for message in conversation.messages)
    said = len(answer.text) + len(str(answer.calls))
    prompt, completion = asked // 4 + 1, said // 4 + 1
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _whole(frame: Any, answer: Answer, calls: tuple[dict[str, Any], ...], usage: dict[str, int]) -> dict[str, Any]:
    """Return a completion that is not streamed."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
    if calls:
        message["tool_calls"] = list(calls)
    else:
        message["content"] = answer.text
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(calls)}
    return {**frame, "object": "chat.completion", "choices": [choice], "usage": usage}


def _finish_reason(calls: tuple[dict[str, Any], ...]) -> str:
    """Return why the model stopped."""
    return "tool_calls" if calls else "stop"


def _chunks(text: str, calls: tuple[dict[str, Any], ...]) -> Iterator[dict[str, Any]]:
    """Yield the choice of each chunk: role, text in parts, each call's head and then its arguments, the end."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None if calls and not text else ""}]
    deltas += [{"content": part} for part in halves(text)]
    for index, call in enumerate(calls):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        head = {"index": index, "id": call["id"], "type": "function", "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [head]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": part}}]} for part in halves(arguments)]
    for delta in deltas:
        yield {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
    yield {"index": 0, "delta": {}, "logprobs": None, "finish_reason": _finish_reason(calls)}


def _event(frame: Any, *, choice: dict[str, Any] | None, usage: dict[str, int] | None, wants_usage: bool) -> str:
    """Return one chunk as a server-sent event."""
    chunk = {**frame, "object": "chat.completion.chunk", "choices": [] if choice is None else [choice]}
    if wants_usage:
        chunk["usage"] = usage
    return f"data: {json.dumps(chunk, ensure_ascii=False)}"
