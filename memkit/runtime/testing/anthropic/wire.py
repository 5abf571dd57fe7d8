"""The paths of the protocol (messages, token counts, models, Claude Code's greeting) and its answers."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from ..interface import Answer, Call, Conversation, Play, Refusal, Request, Response, event, halves
from .request import error_of, read_conversation, wrong

FAILED = "failed"
OVERLOADED = "Overloaded"


def message_of(answer: Answer, conversation: Conversation) -> dict[str, Any]:
    """Return the whole message; a failed one is not a message, and the client may ask again."""
    if answer.stop == FAILED:
        raise Refusal(529, answer.message or OVERLOADED, retry=True)
    text = [{"type": "text", "text": answer.text}] if answer.text else []
    calls = [{**_head(call, conversation), "input": _input(call)} for call in answer.calls]
    usage = {"output_tokens": answer.tokens}
    return {
        **_frame(conversation),
        "content": [*text, *calls],
        "stop_reason": _stop_reason(answer),
        "usage": _usage(conversation) | usage,
    }


def events_of(answer: Answer, conversation: Conversation) -> tuple[str, ...]:
    """Return the events of the streamed message; text and arguments arrive in two parts each."""
    return tuple(event(data["type"], data) for data in _events(answer, conversation))


def _events(answer: Answer, conversation: Conversation) -> Iterator[dict[str, Any]]:
    begun = {**_frame(conversation), "content": [], "stop_reason": None, "usage": _usage(conversation)}
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if answer.text:
        parts = [{"type": "text_delta", "text": part} for part in halves(answer.text)]
        blocks.append(({"type": "text", "text": ""}, parts))
    for call in answer.calls:
        parts = [{"type": "input_json_delta", "partial_json": part} for part in ["", *halves(_arguments(call))]]
        blocks.append(({**_head(call, conversation), "input": {}}, parts))
    for index, (block, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}
    if answer.stop == FAILED:
        yield {"type": "error", "error": error_of(529, answer.message or OVERLOADED)}
        return
    ended = {"stop_reason": _stop_reason(answer), "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": answer.tokens}}
    yield {"type": "message_stop"}


def _frame(conversation: Conversation) -> dict[str, Any]:
    name = f"msg_{uuid.uuid4().hex[:24]}"
    return {"id": name, "type": "message", "role": "assistant", "model": conversation.model, "stop_sequence": None}


def _head(call: Call, conversation: Conversation) -> dict[str, Any]:
    name = _offered_name(call.tool, conversation.tools)
    return {"type": "tool_use", "id": call.id or f"toolu_{uuid.uuid4().hex[:24]}", "name": name}


def _offered_name(name: str, tools: Sequence[str]) -> str:
    """Return the name under which a tool is offered: MCP servers' tools are prefixed with ``mcp__SERVER__``."""
    if name in tools:
        return name
    prefixed = [tool for tool in tools if tool.startswith("mcp__") and tool.endswith(f"__{name}")]
    return prefixed[0] if len(prefixed) == 1 else name


def _arguments(call: Call) -> str:
    """Return the arguments as text; a call without any sends none, as the vendor does."""
    if call.arguments is not None:
        return call.arguments
    return json.dumps(call.args, ensure_ascii=False) if call.args else ""


def _input(call: Call) -> Any:
    """Return the arguments as a value; text that is not JSON stays text, to test clients with unusable input."""
    try:
        return json.loads(_arguments(call) or "{}")
    except ValueError:
        return call.arguments


def _stop_reason(answer: Answer) -> str:
    if answer.stop == "length":
        return "max_tokens"
    return "tool_use" if answer.calls else "end_turn"


def _usage(conversation: Conversation) -> dict[str, int]:
    """Return the counts known before the answer begins."""
    cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {"input_tokens": conversation.tokens, **cached, "output_tokens": 1}


_MODEL = "fake-model"
_VERSION = re.compile(r"20\d\d-\d\d-\d\d\Z")


class Messages:
    """Speaks the Messages protocol."""

    base_path = ""
    """This vendor's clients append ``/v1`` themselves."""
    variables = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
    keeps_time = False

    def respond(self, request: Request, play: Play) -> Response:
        """Return the response to ``request``."""
        if request.path == "/v1/messages":
            _check_method(request, "POST")
            return _answered(request, play)
        if request.path == "/v1/messages/count_tokens":
            _check_method(request, "POST")
            asked = read_conversation(request.body, _version(request), counting=True)
            return _response(body={"input_tokens": asked.tokens})
        if request.path == "/v1/models":
            _check_method(request, "GET")
            return _response(body={"data": [_model(_MODEL)], "has_more": False, "first_id": _MODEL, "last_id": _MODEL})
        if request.path.startswith("/v1/models/"):
            _check_method(request, "GET")
            return _response(body=_model(request.path.removeprefix("/v1/models/")))
        if request.path in ("/", "/api/hello"):  # the Claude command line checks here whether a server is present
            _check_method(request, "HEAD", "GET")
            return _response(body={"message": "hello"})
        raise Refusal(404, f"Not found: {request.method} {request.path}")

    def error_body(self, refusal: Refusal) -> dict[str, Any]:
        """Return the error object of this protocol."""
        return {"type": "error", "error": error_of(refusal.status, refusal.message), "request_id": _request_id()}


def _check_method(request: Request, *methods: str) -> None:
    if request.method not in methods:
        raise Refusal(405, f"Method Not Allowed: {request.method} on {request.path}, use {' or '.join(methods)}")


def _version(request: Request) -> str:
    version = request.headers.get("anthropic-version")
    if not version:
        raise wrong("anthropic-version", "header is required")
    if not _VERSION.match(version):
        raise wrong("anthropic-version", f"{version!r} is not a valid version, which is a date")
    return version


def _answered(request: Request, play: Play) -> Response:
    conversation = read_conversation(request.body, _version(request))
    answer = play(conversation)
    if conversation.stream:
        return _response(events=events_of(answer, conversation), cut=answer.cut)
    return _response(body=message_of(answer, conversation), cut=answer.cut)


def _response(**parts: Any) -> Response:
    """Return a response with the header by which the vendor identifies a request."""
    return Response(headers={"request-id": _request_id()}, **parts)


def _request_id() -> str:
    return f"req_{uuid.uuid4().hex[:24]}"


def _model(name: str) -> dict[str, Any]:
    return {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
