"""An answer that is none is one clear line, whatever came instead: a gateway's page, half of a stream, another shape."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests import wire
from tests.conftest import Talk
from tests.model_server import FakeServer

STREAM = "text/event-stream"
Serve = Callable[[str, bytes], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that starts a server which answers everything with one body, and tells its address."""
    servers: list[ThreadingHTTPServer] = []

    def started(kind: str, body: bytes) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_address[1]}/v1"

    yield started
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (STREAM, b""),
        (STREAM, b"data: [DONE]\n\n"),
        (STREAM, b"data: null\n\n"),
        (STREAM, b"data: []\n\n"),
        (STREAM, b'data: "hello"\n\n'),
        (STREAM, b"data: {half of\n\n"),
        (STREAM, b'data: {"a": "\xff\xfe"}\n\n'),
        (STREAM, b"data: " + b"[" * 100_000 + b"\n\n"),
        (STREAM, b'data: {"error": {"message": "overloaded", "type": "server_error"}}\n\n'),
        ("text/html", b"<html><body>Please log in.</body></html>"),
    ],
)
def test_what_is_no_answer_ends_the_run_in_one_line(talk: Talk, serve: Serve, kind: str, body: bytes) -> None:
    """The exit code is 3 and the message names the server; nothing is taken for an answer."""
    address = serve(kind, body)

    reply = talk("Hello!", [], **{wire.URL_VARIABLE: address})

    assert reply.code == 3
    (finding,) = reply.envelopes[0]["diagnostics"]
    assert address in finding["message"] and "\n" not in finding["message"]


def test_a_wrong_path_is_told_with_what_to_check(talk: Talk) -> None:
    """An address without the version is the mistake that is made most."""
    with FakeServer(wire.PROTOCOL, []) as server:
        reply = talk("Hello!", [], **{wire.URL_VARIABLE: server.base_url.removesuffix("/v1")})

    assert reply.code == 3
    (finding,) = reply.envelopes[0]["diagnostics"]
    assert "404" in finding["message"] and "/v1" in finding["message"] and "\n" not in finding["message"]
