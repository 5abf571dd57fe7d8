"""The Chat Completions protocol: ``POST /v1/chat/completions``, streamed or not, and ``GET /v1/models``."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

from ..errors import Refusal
from ..interface import Answer, Call, Conversation, Play, Request, Response
from ..openai_parts import VARIABLES, check_method, error_body, models_at, unknown_address
from ..sse import halves
from .request import read_conversation


class ChatCompletions:
    """Speaks Chat Completions."""

    base_path = "/v1"
    variables = VARIABLES
    keeps_time = False

    def respond(self, request: Request, play: Play) -> Response:
        """Return the response to ``request``."""
        if request.path == "/v1/chat/completions":
            check_method(request, "POST")
            return _completed(request.body, play)
        models = models_at(request)
        if models is None:
            raise unknown_address(request)
        return Response(body=models)

    def error_body(self, refusal: Refusal) -> dict[str, Any]:
        """Return the error object of this protocol."""
        return error_body(refusal)


def _completed(body: Any, play: Play) -> Response:
    conversation = read_conversation(body)
    answer = play(conversation)
    frame = {
        "id": f"chatcmpl-{uuid.uuid4().hex}",  # clients keep messages of several runs apart by it
        "created": int(time.time()),
        "model": conversation.model,
    }
    calls = tuple(_wire_call(call) for call in answer.calls)
    usage = _usage(conversation, answer)
    failure = answer.failure
    if failure is not None and not conversation.stream:
        raise failure
    if not conversation.stream:
        return Response(body=_whole(frame, answer, calls, usage), cut=answer.cut)
    wants_usage = bool((body.get("stream_options") or {}).get("include_usage"))
    chunks = _chunks(answer, calls)
    events = [_event(frame, choice=choice, usage=None, wants_usage=wants_usage) for choice in chunks]
    if failure is not None:  # in the place of the chunk that would say why the model stopped
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


def _usage(conversation: Conversation, answer: Answer) -> dict[str, int]:
    prompt, completion = conversation.tokens, answer.tokens
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


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
