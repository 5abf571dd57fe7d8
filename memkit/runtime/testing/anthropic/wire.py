"""The paths of the protocol: messages, the count of their tokens, models, and the Claude command line's hello."""

from __future__ import annotations

import re
import uuid
from typing import Any

from ..errors import Refusal
from ..interface import Play, Request, Response
from .faults import error_of, wrong
from .reply import events_of, message_of
from .request import read_conversation

_MODEL = "fake-model"
_VERSION = re.compile(r"20\d\d-\d\d-\d\d\Z")


class Messages:
    """Speaks the Messages protocol."""

    base_path = ""
    """Clients of this vendor add ``/v1`` themselves."""
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
        if request.path in ("/", "/api/hello"):  # the Claude command line looks here whether anybody is there
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
    """Return a response with the header by which the vendor finds a request again."""
    return Response(headers={"request-id": _request_id()}, **parts)


def _request_id() -> str:
    return f"req_{uuid.uuid4().hex[:24]}"


def _model(name: str) -> dict[str, Any]:
    return {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
