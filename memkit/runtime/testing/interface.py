"""Common to all protocols of the local server: a conversation comes in; an answer, or a failure, goes out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class ScriptError(Exception):
    """A script that cannot be played; the message names the faulty part and the correct form.

    >>> FakeServer(script=[{"txet": "Hello"}])
    Traceback (most recent call last):
        ...
    memkit.runtime.testing.interface.ScriptError: answer 1 has an unknown key 'txet'. Did you mean 'text'?
    """

    exit_code = 2
    code = "script"


class Refusal(Exception):
    """The answer to a request that is not served, with the status and the reason for the client.

    >>> from urllib.error import HTTPError
    >>> from urllib.request import urlopen
    >>> with FakeServer() as server:
    ...     try:
    ...         urlopen(server.base_url + "/modules")
    ...     except HTTPError as error:
    ...         error.code
    ...     server.refused
    404
    ['Invalid URL (GET /v1/modules).']
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        retry: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.code = code
        self.param = param
        self.headers = {} if retry else {"x-should-retry": "false"}  # vendor clients then fail at once
        self.headers.update(headers or {})


@dataclass(frozen=True)
class Call:
    """One tool call made by the fake model or contained in a conversation.

    >>> Call("search", {"text": "tea"}).sent
    '{"text": "tea"}'
    >>> Call("search", arguments='{"text": "te').sent  # JSON that breaks off, to see what a client makes of it
    '{"text": "te'
    """

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    """Assigned by the server if empty."""
    arguments: str | None = None
    """The argument text as sent, if it should differ from the JSON of ``args`` (to test clients with broken JSON)."""

    @property
    def sent(self) -> str:
        """Return the argument text as sent."""
        return json.dumps(self.args, ensure_ascii=False) if self.arguments is None else self.arguments


@dataclass(frozen=True)
class Message:
    """One message of a conversation, in a form common to all protocols.

    >>> Message("assistant", calls=(Call("search", {"text": "tea"}, id="call-1"),)).calls[0].tool
    'search'
    >>> Message("tool", "Ada likes tea", call_id="call-1").call_id
    'call-1'
    """

    role: str
    """system, user, assistant or tool."""
    text: str = ""
    calls: tuple[Call, ...] = ()
    call_id: str | None = None
    """The call that a tool message answers."""


@dataclass(frozen=True)
class Conversation:
    """The input of a model: what it is asked to continue.

    >>> asked = Conversation((Message("user", "Which tea?"), Message("tool", "Ada likes oolong", call_id="call-1")))
    >>> asked.last.role, asked.last_text("user"), asked.last_text("assistant")
    ('tool', 'Which tea?', None)
    """

    messages: tuple[Message, ...]
    tools: tuple[str, ...] = ()
    model: str = ""
    stream: bool = False

    @property
    def last(self) -> Message:
        """Return the message to answer."""
        return self.messages[-1]

    @property
    def tokens(self) -> int:
        """Return the tokens of the request, estimated at four characters each."""
        return sum(len(message.text) + len(str(message.calls)) for message in self.messages) // 4 + 1

    def last_text(self, role: str) -> str | None:
        """Return the text of the newest message of ``role``, or None if there is none."""
        return next((message.text for message in reversed(self.messages) if message.role == role), None)


@dataclass(frozen=True)
class Answer:
    """The fake model's answer: text, tool calls or both; or an HTTP error.

    >>> busy, said = Answer(status=429, message="Slow down.", headers={"retry-after": "1"}), Answer("Oolong.")
    >>> server = FakeServer(script=[busy, said])
    >>> server.unused, said.tokens
    (2, 3)
    >>> server.stop()
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    status: int | None = None
    """An error status instead of an answer."""
    message: str = ""
    """The reason given with ``status`` or ``stop``."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent with ``status``, for example ``retry-after``."""
    delay: float = 0.0
    """Seconds to wait before the first byte."""
    cut: bool = False
    """Whether to close the connection half-way through the answer."""
    stop: str = ""
    """Why the answer ends early: ``length`` (at the token limit) or ``failed`` (an error of the model)."""

    @property
    def tokens(self) -> int:
        """Return the tokens of the answer, estimated at four characters each."""
        return (len(self.text) + len(str(self.calls))) // 4 + 1

    @property
    def failure(self) -> Refusal | None:
        """Return why the model failed; None if it did not."""
        if self.stop != "failed":
            return None
        return Refusal(500, self.message or "The script lets the answer fail.", kind="server_error", retry=True)


@dataclass(frozen=True)
class Request:
    """One HTTP request with a parsed body."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    """Query parameters; of a repeated one, the last."""


@dataclass(frozen=True)
class Response:
    """One HTTP response: a JSON body, or server-sent events if ``events`` is given."""

    status: int = 200
    body: Any = None
    events: tuple[str, ...] | None = None
    """Complete event blocks without their blank line."""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    delay: float = 0.0
    """Seconds to wait before it is sent."""


@dataclass(frozen=True)
class LoggedRequest:
    """One request that the server received, with its outcome.

    >>> from urllib.request import urlopen
    >>> with FakeServer() as server:
    ...     _ = urlopen(server.base_url + "/models").read()
    >>> seen = server.requests[0]
    >>> seen.method, seen.path, seen.status, seen.conversation
    ('GET', '/v1/models', 200, None)
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    status: int
    error: str | None = None
    """Why the request was not served."""
    conversation: Conversation | None = None
    """What the model was asked to continue, in a form common to all protocols; None if it was not asked."""


Play = Callable[[Conversation], Answer]
"""Returns the answer to a conversation."""


class Wire(Protocol):
    """One vendor protocol: parses its requests strictly and writes its responses."""

    base_path: str
    """The ending of the base URL that clients of this protocol expect."""
    variables: tuple[str, str]
    """The environment variables from which the vendor's clients take base URL and key."""
    keeps_time: bool
    """Whether an answer's delay shows in the server's state, so that requests are answered at once."""

    def respond(self, request: Request, play: Play) -> Response:
        """Return the response to ``request``; raise ``Refusal`` if it violates the protocol."""

    def error_body(self, refusal: Refusal) -> Any:
        """Return the JSON body that reports ``refusal`` to a client."""


def event(name: str, data: Any) -> str:
    """Return a named event without its final blank line."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}"


def halves(text: str) -> list[str]:
    """Return ``text`` in two parts, or fewer if it has fewer characters."""
    middle = (len(text) + 1) // 2
    return [part for part in (text[:middle], text[middle:]) if part]
