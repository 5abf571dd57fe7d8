"""The HTTP side of a local model server: connections, the request log, JSON and server-sent events."""

from __future__ import annotations

import importlib
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from .interface import Answer, Conversation, LoggedRequest, Refusal, Request, Response, ScriptError, Wire
from .script import Script, answers_left, player

PROTOCOLS = ("anthropic", "assistants", "chat", "responses")
"""Names of the protocols, each a module or a package next to this file.

>>> for protocol in PROTOCOLS:
...     with FakeServer(protocol) as server:
...         protocol, sorted(server.environment)[:2]
('anthropic', ['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL'])
('assistants', ['NO_PROXY', 'OPENAI_API_KEY'])
('chat', ['NO_PROXY', 'OPENAI_API_KEY'])
('responses', ['NO_PROXY', 'OPENAI_API_KEY'])
"""

_HOST = "127.0.0.1"
ANY_KEY = "local"
"""A stand-in for the key where every key is accepted: clients do not start without one."""
_LARGEST_BODY = 64 * 1024 * 1024


class FakeServer:
    """A model server on the loopback interface that answers from a script and logs its requests.

    Example:
        >>> import urllib.request
        >>> with FakeServer(script=[{"text": "Hello"}]) as server:
        ...     with urllib.request.urlopen(server.base_url + "/models") as response:
        ...         response.status
        200

    Args:
        protocol: One of ``PROTOCOLS``.
        script: The model's answers in order, rules or a function (see ``script.py``).
        port: The port to listen on; 0 for any free port.
        api_key: The only accepted key; by default every key is accepted.
        observe: Called with each request, before the client has its answer.
    """

    def __init__(
        self,
        protocol: str = "chat",
        script: Script = (),
        *,
        port: int = 0,
        api_key: str | None = None,
        observe: Callable[[LoggedRequest], None] | None = None,
    ) -> None:
        if protocol not in PROTOCOLS:
            raise ScriptError(f"Unknown protocol {protocol!r}. Known: {', '.join(PROTOCOLS)}.")
        self.requests: list[LoggedRequest] = []
        """Every request so far, in the order in which they were answered."""
        self._wire: Wire = importlib.import_module(f".{protocol}", __package__).WIRE()
        self._play = player(script)
        self._api_key = api_key
        self._observe = observe
        self._stopping = threading.Event()
        self._http = _Server((_HOST, port), self)
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """Return the port that the server listens on."""
        return int(self._http.server_address[1])

    @property
    def base_url(self) -> str:
        """Return the base URL for clients of the protocol."""
        return f"http://{_HOST}:{self.port}{self._wire.base_path}"

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables by which the vendor's clients find this server, bypassing any proxy."""
        url, key = self._wire.variables
        unproxied = "no_proxy" if "no_proxy" in os.environ else "NO_PROXY"  # if both are set, the lower-case one counts
        hosts = [os.environ.get(unproxied), _HOST]
        return {url: self.base_url, key: self._api_key or ANY_KEY, unproxied: ",".join(filter(None, hosts))}

    @property
    def asked(self) -> list[Conversation]:
        """Return what the model was asked to continue, request by request, in a form common to all protocols."""
        return [request.conversation for request in self.requests if request.conversation is not None]

    @property
    def refused(self) -> list[str]:
        """Return why requests were not served: protocol violations, and failures of the script."""
        return [request.error for request in self.requests if request.error is not None]

    @property
    def unused(self) -> int:
        """Return how many answers of a script in order were not requested; 0 for rules and functions."""
        return answers_left(self._play)

    def start(self) -> Self:
        """Serve in a separate thread and return the server."""
        # stop() waits for half a poll, and tests start and stop servers often.
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def serve_forever(self) -> None:
        """Serve in this thread until ``stop`` is called from another one or an interrupt arrives."""
        self._http.serve_forever(0.2)

    def stop(self) -> None:
        """Close every connection and free the port."""
        self._stopping.set()
        if self._thread is not None:
            self._http.shutdown()
            self._thread.join()
            self._thread = None
        self._http.close_connections()
        self._http.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def respond(self, request: Request) -> Response:
        """Return the response to ``request`` and record it in ``requests``."""
        asked: list[Conversation] = []

        def play(conversation: Conversation) -> Answer:
            asked.append(conversation)
            return self._answer(conversation)

        try:
            self._check_key(request)
            response, error = self._wire.respond(request, play), None
        except Refusal as refusal:
            response, error = self._refused(refusal), refusal.message
        except ScriptError as problem:
            response, error = self._refused(Refusal(500, str(problem), kind="server_error")), str(problem)
        if response.delay:
            self._stopping.wait(response.delay)
        return self._logged(request, response, error, asked[-1] if asked else None)

    def refuse(self, request: Request, refusal: Refusal) -> Response:
        """Return the response to a request with an unreadable body, and record it in ``requests``."""
        return self._logged(request, self._refused(refusal), refusal.message)

    def _logged(
        self, request: Request, response: Response, error: str | None, conversation: Conversation | None = None
    ) -> Response:
        logged = LoggedRequest(
            request.method, request.path, request.headers, request.body, response.status, error, conversation
        )
        self.requests.append(logged)
        if self._observe is not None:
            self._observe(logged)
        return response

    def _refused(self, refusal: Refusal) -> Response:
        return Response(refusal.status, self._wire.error_body(refusal), headers=refusal.headers)

    def _check_key(self, request: Request) -> None:
        given = request.headers.get("authorization", "").removeprefix("Bearer ") or request.headers.get("x-api-key")
        if self._api_key is not None and given != self._api_key:
            raise Refusal(401, "Incorrect API key provided.", kind="authentication_error", code="invalid_api_key")

    def _answer(self, conversation: Conversation) -> Answer:
        """Return the script's next answer, after its delay unless the protocol handles that."""
        answer = self._play(conversation)
        if answer.delay and (answer.status is not None or not self._wire.keeps_time):
            self._stopping.wait(answer.delay)
        if answer.status is not None:
            message = answer.message or f"The script answers with status {answer.status}."
            kind = "rate_limit_error" if answer.status == 429 else "server_error"
            raise Refusal(answer.status, message, kind=kind, retry=True, headers=answer.headers)
        return answer


class _Server(ThreadingHTTPServer):
    """Serves each connection in a thread and can close those that clients keep open."""

    daemon_threads = False  # joined by server_close, so that no thread outlives its test
    allow_reuse_address = True
    request_queue_size = 128  # the default of five is too small for an agent with parallel requests on a busy machine

    def __init__(self, address: tuple[str, int], fake: FakeServer) -> None:
        self.fake = fake
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """Wake up every thread that waits for a client's next request."""
        with self._lock:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:  # the client was faster
                    continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that went away; report everything else."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Reads the requests of one connection and writes the responses."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # events are small; waiting for a full packet costs 40 ms each
    server: _Server

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    do_HEAD = do_DELETE = do_PUT = do_PATCH = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: the log is ``FakeServer.requests``."""

    def _serve(self) -> None:
        fake = self.server.fake
        address = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, address.path, headers, None, dict(parse_qsl(address.query)))
        try:
            request = replace(request, body=self._body())
        except Refusal as refusal:
            self.close_connection = True  # the rest of the request cannot be told from the next one
            self._write(fake.refuse(request, refusal))
            return
        self._write(fake.respond(request))

    def _body(self) -> Any:
        if "transfer-encoding" in self.headers:
            raise Refusal(411, "Send the body with a Content-Length.")
        length = self.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _LARGEST_BODY:
            raise Refusal(413, f"Content-Length is {length!r}; it must be a number up to {_LARGEST_BODY}.")
        raw = self.rfile.read(int(length))
        if not raw:
            return None
        try:
            return json.loads(raw)
        except (ValueError, RecursionError) as problem:
            raise Refusal(400, f"We could not parse the JSON body of your request: {problem}.") from problem

    def _write(self, response: Response) -> None:
        if response.events is not None:
            self._write_events(response)
            return
        body = json.dumps(response.body, ensure_ascii=False).encode()
        self._head(response, {"Content-Type": "application/json", "Content-Length": str(len(body))})
        if self.command == "HEAD":
            return
        self.wfile.write(body[: len(body) // 2] if response.cut else body)
        self.close_connection = self.close_connection or response.cut

    def _write_events(self, response: Response) -> None:
        """Send server-sent events, each in a separate chunk."""
        events = response.events or ()
        self._head(response, {"Content-Type": "text/event-stream; charset=utf-8", "Transfer-Encoding": "chunked"})
        for event in events[: len(events) // 2] if response.cut else events:
            block = f"{event}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(block), block))
        if response.cut:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _head(self, response: Response, headers: Mapping[str, str]) -> None:
        self.send_response(response.status)
        for name, value in {**headers, **response.headers}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
