"""Serve MCP and the page over HTTP: a door that identifies callers before anything of the protocol is read."""

from __future__ import annotations

import ipaddress
import json
import math
import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import anyio
import uvicorn
from anyio.abc import TaskStatus
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_REQUEST, PARSE_ERROR
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memkit.errors import EnvironmentFault, UsageError
from memkit.serving.interface import MOST, with_whole_characters
from memkit.serving.page.site import Site
from memkit.serving.page.visits import Visit, Visits
from memkit.serving.server import MemoryServer
from memkit.store.tokens import BEARER, ServerToken, ServerTokens
from memkit.workspace import Workspace

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
GRACE = 5
"""Seconds that open requests have to finish when the server is told to end."""
RATE, BURST_SECONDS = 100, 20
"""Requests per second that a token may make on average, and how many seconds' worth it may make at once."""


@dataclass(frozen=True)
class Listening:
    """Where a server listens, and what it serves besides MCP."""

    address: str
    """``HOST:PORT``"""
    user: str | None
    """The user of requests without a token."""
    operator: str | None = None
    """The scope on the page of the person who started the server, by the printed link; None for no access."""
    metrics: bool = False
    rate: int = RATE
    """Requests per second that one token may make."""
    log: Callable[[Mapping[str, Any]], None] = lambda entry: None
    """Receives each request to the page."""
    names: tuple[str, ...] = ()
    """Additional host names under which clients and proxies reach it."""


def run_http(server: MemoryServer, workspace: Workspace, where: Listening, tell: Callable[[str], None]) -> None:
    """Serve until told to end; ``tell`` receives the address once requests are accepted.

    Raises:
        UsageError: The address is invalid, or is beyond loopback and there is no token.
        EnvironmentFault: The address cannot be listened on.
        KeyboardInterrupt: A person ended it.
    """
    host, port = read_address(where.address)
    tokens = ServerTokens(workspace.root)
    local = is_loopback(host)
    if not local and not tokens.all():
        raise UsageError(
            f"{host} can be reached from other machines, but this store has no token. Create one with 'memkit token "
            "new --user U --scope write', or listen on 127.0.0.1."
        )
    with closing(_listening(host, port)) as listener:
        place = f"{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        app = server.mcp.streamable_http_app(
            streamable_http_path=PATH,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the door does that
        )
        operator = Visit(where.user, where.operator) if local and where.user and where.operator else None
        visits = Visits(tokens, operator)
        site = Site(workspace, visits, server.desk, tell, where.log, where.metrics)
        door = Door(
            app, tokens, Rates(where.rate), hosts=hosts_of(host, where.names),
            open_without=local and where.user is not None, site=site,
        )  # fmt: skip
        config = uvicorn.Config(
            door, log_config=None, access_log=False, server_header=False, ws="none", timeout_graceful_shutdown=GRACE
        )

        def ready() -> None:
            tell(f"ready http://{place}{PATH}")
            if visits.key:
                tell(f"page http://{place}/#key={visits.key}")

        if anyio.run(_serve, _Uvicorn(config), listener, ready) == signal.SIGINT:
            raise KeyboardInterrupt


@dataclass
class Rates:
    """Rate limit per token: a bucket that fills by ``rate`` a second and holds ``BURST_SECONDS`` of them."""

    rate: float
    clock: Callable[[], float] = time.monotonic
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By token: the bucket's last level, and its time."""

    def wait(self, id: str) -> float:
        """Take one request from a token's bucket and return 0, or take none and return the seconds until there is one.

        >>> rates = Rates(rate=0.05, clock=lambda: 0.0)
        >>> rates.wait("a"), rates.wait("a"), rates.wait("b")
        (0.0, 20.0, 0.0)
        """
        now, full = self.clock(), self.rate * BURST_SECONDS
        left, at = self._buckets.get(id, (full, now))
        left = min(full, left + (now - at) * self.rate)
        taken = left >= 1
        self._buckets[id] = left - taken, now
        return 0.0 if taken else (1 - left) / self.rate


class Door:
    """Admits a request, or answers it with one line: 421 for another host, 403 for another page, 401 for nobody.

    429 is for a token that calls too often.
    """

    def __init__(
        self, app: ASGIApp, tokens: ServerTokens, rates: Rates, *, hosts: Callable[[str], bool], open_without: bool,
        site: ASGIApp | None = None,
    ) -> None:  # fmt: skip
        """Guard ``app``; ``open_without`` admits callers without a token, for the user that the server is bound to.

        The page at ``site`` authenticates its visitors itself.
        """
        self._site = site
        self._app = app
        self._tokens = tokens
        self._rates = rates
        self._hosts = hosts
        self._open_without = open_without

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._hosts(_name_of(f"//{host}")):
            await _refusal(421, "This server is not known by that host.")(scope, receive, send)
        elif origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
            await _refusal(403, "No page of another origin may call this server.")(scope, receive, send)
        elif self._site is not None and scope["path"].rstrip("/") != PATH:
            await self._site(scope, receive, send)
        else:
            await self._let_in(headers, scope, receive, send)

    async def _read(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request with its whole body read, or answer in one line why it is invalid."""
        body, more = bytearray(), scope["method"] == "POST"
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message["type"] == "http.request" and message.get("more_body", False)
            if len(body) > MOST:
                await _refusal(413, f"A request may have at most {MOST:,} bytes.")(scope, receive, send)
                return
        if scope["method"] == "POST":
            if (why := fault_of(bytes(body))) is not None:
                await why(scope, receive, send)
                return
            body = bytearray(with_whole_characters(body.decode("utf-8", "replace")).encode())
        given = iter([{"type": "http.request", "body": bytes(body), "more_body": False}])

        async def replay() -> Message:
            return next(given, None) or await receive()

        await self._app(scope, replay, send)

    async def _let_in(self, headers: Mapping[str, str], scope: Scope, receive: Receive, send: Send) -> None:
        shown = headers.get("authorization", "")
        token = await anyio.to_thread.run_sync(self._tokens.in_header, shown)
        if token is None and (shown or not self._open_without):
            await _refusal(401, "A token is required: Authorization: Bearer …")(scope, receive, send)
            return
        if token is not None and (seconds := self._rates.wait(token.id)):
            refusal = _refusal(429, "Too many requests with this token.", **{"Retry-After": str(math.ceil(seconds))})
            await refusal(scope, receive, send)
            return
        known = {BEARER: token, "user": _principal(token)} if token is not None else {BEARER: None}
        await self._read({**scope, **known}, receive, send)


def fault_of(body: bytes) -> JSONResponse | None:
    """Return the answer to a body that is not a message of the protocol; None if it may be one."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return _no_request(PARSE_ERROR, "The body is not JSON.")
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return _no_request(
            INVALID_REQUEST, "The body is not a JSON-RPC 2.0 message: one object with 'jsonrpc' and 'method'."
        )
    return None


def _no_request(code: int, line: str) -> JSONResponse:
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": line}}, status_code=400)


def _principal(token: ServerToken) -> AuthenticatedUser:
    """Return the owner of a session, so that no other token can continue it."""
    return AuthenticatedUser(AccessToken(token="", client_id=token.id, scopes=[token.scope], subject=token.user_id))


def _refusal(status: int, line: str, **headers: str) -> PlainTextResponse:
    challenge = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return PlainTextResponse(line + "\n", status_code=status, headers={**challenge, **headers})


def read_address(address: str) -> tuple[str, int]:
    """Return host and port of ``HOST:PORT``.

    >>> read_address("127.0.0.1:0"), read_address("[::1]:8000")
    (('127.0.0.1', 0), ('::1', 8000))
    """
    try:
        parts = urlsplit(f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None or port is None or parts.netloc != address or "@" in address:
        raise UsageError(f"{address!r:.80} is not HOST:PORT, such as 127.0.0.1:8765.")
    return host, port


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach ``host``.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("::1")
    (True, True, False, True)
    """
    if host == "localhost":
        return True
    with_address = _as_address(host)
    return with_address is not None and with_address.is_loopback


def hosts_of(host: str, names: Iterable[str] = ()) -> Callable[[str], bool]:
    """Return a check of a request's host name, which rejects names that a stranger's page could have pointed here.

    >>> here, everywhere = hosts_of("127.0.0.1"), hosts_of("0.0.0.0")
    >>> here("localhost"), here("example.org"), everywhere("192.0.2.7"), everywhere("example.org")
    (True, False, True, False)
    """
    known = {host, *LOOPBACK, *(name.lower() for name in names)}
    if not is_loopback(host):
        known |= {socket.gethostname(), socket.getfqdn()}
    address = _as_address(host)
    everywhere = address is not None and address.is_unspecified

    def may(name: str) -> bool:
        return name in known or (everywhere and _as_address(name) is not None)

    return may


def _as_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _name_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server((place[0], place[1]), family=family)
    except OSError as error:
        raise EnvironmentFault(f"Cannot listen on {host}:{port}: {error.strerror or error}.") from error
    # Connections inherit it. asyncio sets it only if a socket names its protocol; without it an answer in two
    # pieces waits 40 ms for the client to acknowledge the first.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


class _Uvicorn(uvicorn.Server):
    """A server that leaves signals to its caller."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle no signal."""
        yield


async def _serve(server: Any, listener: socket.socket, ready: Callable[[], None]) -> int | None:
    """Serve until a signal says to end, and return which; open requests are answered first, whichever it was."""
    ended_by: list[int] = []

    async def end_when_told(*, task_status: TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as told:
            task_status.started()
            async for number in told:
                ended_by.append(number)
                server.should_exit = True

    async with anyio.create_task_group() as tasks:
        await tasks.start(end_when_told)
        ready()
        await server.serve(sockets=[listener])
        tasks.cancel_scope.cancel()
    return ended_by[0] if ended_by else None
