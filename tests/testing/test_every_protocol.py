"""What holds for every protocol: how a client finds the server, and how an answer ends early."""

from __future__ import annotations

import socket
from typing import Any

import anthropic
import openai
import pytest

from memkit.runtime.testing import FakeServer
from memkit.runtime.testing.server import PROTOCOLS

WORDS = "Once upon a time"
Said = tuple[str, str]
"""What the client read, and why it ended there."""


def chat(server: FakeServer, *, stream: bool) -> Said:
    """Ask by Chat Completions."""
    with openai.OpenAI(max_retries=0) as client:
        request: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        if not stream:
            (choice,) = client.chat.completions.create(**request).choices
            return choice.message.content or "", choice.finish_reason
        chunks = list(client.chat.completions.create(**request, stream=True))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    return text, str(chunks[-1].choices[0].finish_reason)


def messages(server: FakeServer, *, stream: bool) -> Said:
    """Ask by Messages."""
    with anthropic.Anthropic(max_retries=0) as client:
        request: Any = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "Hi"}]}
        if not stream:
            message = client.messages.create(**request)
        else:
            with client.messages.stream(**request) as streamed:
                message = streamed.get_final_message()
    return message.content[0].text, str(message.stop_reason)  # type: ignore[union-attr]


def responses(server: FakeServer, *, stream: bool) -> Said:
    """Ask by Responses."""
    with openai.OpenAI(max_retries=0) as client:
        if not stream:
            response: Any = client.responses.create(model="m", input="Hi")
        else:
            response = list(client.responses.create(model="m", input="Hi", stream=True))[-1].response  # type: ignore[union-attr]
    if response.status == "failed":
        raise openai.OpenAIError(response.error.message)
    return response.output_text, response.incomplete_details.reason


ASK = {"chat": chat, "anthropic": messages, "responses": responses}
LENGTH = {"chat": "length", "anthropic": "max_tokens", "responses": "max_output_tokens"}


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the vendors' clients find a server by its environment."""

    def find(server: FakeServer) -> FakeServer:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        return server

    return find


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("protocol", ASK)
def test_an_answer_at_the_token_limit_says_so(protocol: str, stream: bool, found: Any) -> None:
    """The words up to there arrive, and the reason is the one of the protocol."""
    with FakeServer(protocol, [{"text": WORDS, "stop": "length"}]) as server:
        assert ASK[protocol](found(server), stream=stream) == (WORDS, LENGTH[protocol])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("protocol", ASK)
def test_a_model_that_fails_is_an_error_of_the_client(protocol: str, stream: bool, found: Any) -> None:
    """The script's reason reaches whoever asked, before the answer or in the middle of its stream."""
    with (
        FakeServer(protocol, [{"text": WORDS, "stop": "failed", "message": "out of order"}]) as server,
        pytest.raises((openai.OpenAIError, anthropic.AnthropicError), match="out of order"),
    ):
        ASK[protocol](found(server), stream=stream)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_client_finds_the_server_by_its_environment_alone(protocol: str, found: Any) -> None:
    """The variables are those that the vendor's client reads, and any key is one."""
    with FakeServer(protocol) as server:
        found(server)
        client: Any = anthropic.Anthropic() if protocol == "anthropic" else openai.OpenAI()
        with client:
            assert client.models.retrieve("mine").id == "mine"
            assert [model.id for model in client.models.list()] == ["fake-model"]
    assert [request.status for request in server.requests] == [200, 200]


def test_what_a_script_has_left_is_counted() -> None:
    """Answers in order that nobody asked for; pauses, rules and functions are none."""
    with FakeServer("chat", ["one", {"delay": 0.01}, "two"]) as server:
        assert server.unused == 2
    with FakeServer("chat", [{"reply": "always"}]) as ruled, FakeServer("chat", lambda _: "always") as computed:
        assert ruled.unused == computed.unused == 0


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ("Content-Length: 5", b"{oops", 400),
        ("Transfer-Encoding: chunked", b"0\r\n\r\n", 411),
        ("Content-Length: 99999999999", b"", 413),
    ],
)
def test_a_body_that_cannot_be_read_is_in_the_log(headers: str, body: bytes, status: int) -> None:
    """Whatever is refused can be found in ``requests`` with its reason."""
    with FakeServer() as server, socket.create_connection(("127.0.0.1", server.port), timeout=900) as client:
        client.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n".encode() + body)
        answered = client.recv(65536)

    (request,) = server.requests
    assert answered.startswith(f"HTTP/1.1 {status} ".encode())
    assert (request.status, request.path, request.body) == (status, "/v1/chat/completions", None)
    assert server.refused == [request.error]
