"""Who is let in over HTTP, and that the protocol is the same there."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.cli.main import run
from memkit.serving.http import BURST_SECONDS, Rates
from tests.serving.clients import ERAS, Asked, call, environment

Data = Callable[..., Any]
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def post(url: str, body: bytes | None = None, **headers: str) -> tuple[int, str]:
    """Return status and text of one request."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    given |= {name.replace("_", "-").title(): value for name, value in headers.items()}
    sent = json.dumps(LIST).encode() if body is None else body
    try:
        connection.request("POST", f"{parts.path}?{parts.query}", sent, given)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (BrokenPipeError, ConnectionResetError):  # answered before all of a long body was read
        return 413, ""
    finally:
        connection.close()


def made(data: Data, user: str, scope: str) -> tuple[str, str]:
    """Return a new token and its id."""
    found = data("token", "new", "--user", user, "--scope", scope)
    return found["token"], found["id"]


def test_only_who_shows_a_token_is_let_in(store: Path, data: Data, http_server: Callable[..., str]) -> None:
    """Without a bound user that holds on loopback too; a revoked token is refused by a server that runs."""
    token, id = made(data, "ada", "read")
    url = http_server(store)

    assert post(url)[0] == 401
    assert post(url, authorization="Bearer wrong")[0] == post(url, authorization=f"Basic {token}")[0] == 401
    assert post(url, authorization=f"Bearer {token}")[0] == 400  # let in, and told that it opened no session
    assert run(["token", "revoke", id, "--store", str(store)]) == 2  # nobody can be asked here
    assert data("token", "revoke", id, "--yes")["revoked"]
    assert post(url, authorization=f"Bearer {token}")[0] == 401
    assert run(["token", "revoke", id, "--yes", "--store", str(store)]) == 1


def test_a_token_that_calls_too_often_waits(store: Path, data: Data, http_server: Callable[..., str]) -> None:
    """It is told how long; another token is not held up by it."""
    busy, _ = made(data, "ada", "read")
    quiet, _ = made(data, "ada", "read")
    url = http_server(store, "--rate", "1")

    answers = [post(url, authorization=f"Bearer {busy}") for _ in range(25)]

    assert answers[0][0] == 400 and answers[-1] == (429, "Too many requests with this token.\n")
    assert sum(status == 400 for status, _ in answers) in range(20, 25)
    assert post(url, authorization=f"Bearer {quiet}")[0] == 400


@given(st.lists(st.tuples(st.floats(0, 30), st.booleans()), max_size=200), st.integers(1, 50))
def test_no_token_is_let_in_more_often_than_its_rate(calls: list[tuple[float, bool]], rate: int) -> None:
    """Over any time since its first call it has at most the burst and what the rate gave since; who waits gets in."""
    now, let_in = 0.0, {"a": 0, "b": 0}
    rates = Rates(rate, clock=lambda: now)
    for later, first in calls:
        now += later / 100
        id = "a" if first else "b"
        seconds = rates.wait(id)
        let_in[id] += not seconds
        assert let_in[id] <= rate * (BURST_SECONDS + now) + 1e-6
        if seconds:
            now += seconds + 1e-6
            assert rates.wait(id) == 0
            let_in[id] += 1


@pytest.mark.parametrize("place", ["?token={}", "?access_token={}"])
def test_a_token_in_an_address_lets_nobody_in(
    store: Path, data: Data, http_server: Callable[..., str], place: str
) -> None:
    """Addresses are kept in histories and logs, so a token counts in its header alone."""
    token, _ = made(data, "ada", "review")

    assert post(http_server(store) + place.format(token))[0] == 401


def test_a_thousand_requests_at_once_are_all_answered(store: Path, data: Data, http_server: Callable[..., str]) -> None:
    """Each of a thousand open connections gets its own answer, and no write is lost or done twice."""
    data("consent", "grant", "--user", "ada")
    url = http_server(store, "--user", "ada")
    place = urlsplit(url)

    async def one(number: int, answers: list[Any]) -> None:
        writes = number % 50 == 0
        name = "memory_add" if writes else "core_get"
        arguments = {"text": f"Ada keeps key {number * 7} in room {number * 13}"} if writes else {}
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        body = {"jsonrpc": "2.0", "id": number, "method": "tools/call"}
        body["params"] = {"name": name, "arguments": arguments, "_meta": meta}
        sent = json.dumps(body).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\nConnection: close\r\n"
            f"Accept: application/json, text/event-stream\r\nMcp-Method: tools/call\r\nMcp-Name: {name}\r\n"
            f"MCP-Protocol-Version: 2026-07-28\r\nContent-Length: {len(sent)}\r\n\r\n"
        )
        async with await anyio.connect_tcp(place.hostname or "", place.port or 0) as stream:
            await stream.send(head.encode() + sent)
            answer = b"".join([piece async for piece in stream])
        _, _, text = answer.partition(b"\r\n\r\n")
        found = json.loads(text[text.index(b"{") : text.rindex(b"}") + 1])
        answers.append((number, found))

    async def all_of_them() -> list[Any]:
        answers: list[Any] = []
        async with anyio.create_task_group() as tasks:
            for number in range(1_000):
                tasks.start_soon(one, number, answers)
        return answers

    answers = anyio.run(all_of_them)

    assert len(answers) == 1_000 and all(number == found["id"] for number, found in answers)
    results = [found["result"]["structuredContent"] for _, found in sorted(answers, key=lambda one: one[0])]
    written = [result["id"] for result in results if "id" in result]
    assert len(set(written)) == 20 and all(data("memory", "get", id)["status"] == "live" for id in written)


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18", "1999-01-01"])
def test_an_older_revision_is_answered_with_one_that_is_spoken(
    store: Path, http_server: Callable[..., str], revision: str
) -> None:
    """The handshake names a revision both may speak; what follows works."""
    url = http_server(store, "--user", "ada")
    client = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}

    status, text = post(url, json.dumps({**LIST, "method": "initialize", "params": client}).encode())

    assert status == 200 and '"serverInfo"' in text and '"protocolVersion":"20' in text.replace(" ", "")


def test_a_notification_is_taken_and_not_answered(store: Path, http_server: Callable[..., str]) -> None:
    """A call without an id changes nothing that anybody could learn of, and the server goes on."""
    url = http_server(store, "--user", "ada")
    told = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "memory_add", "arguments": {"text": "x"}}}

    status, text = post(url, json.dumps(told).encode())

    assert status in (202, 400) and "Traceback" not in text and len(text) < 500
    assert post(url)[0] == 400


def test_pages_of_others_and_other_names_are_refused(store: Path, http_server: Callable[..., str]) -> None:
    """A page in a browser of this machine, on whatever port, gets nothing; a name that points here is no way in."""
    url = http_server(store, "--user", "ada")
    own = url.removesuffix("/mcp")

    assert post(url)[0] == 400
    assert post(url, origin=own)[0] == 400
    for origin in ("http://localhost:3000", "https://evil.example", "null", own + "0"):
        assert post(url, origin=origin)[0] == 403
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::1"):
        assert post(url, host=host)[0] == 421
    assert post(url, authorization="Bearer wrong")[0] == 401


@pytest.mark.parametrize("body", [b"", b"nonsense", b"[1, 2]", b'"text"', b"{}", b"null", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_request_is_one_error(store: Path, http_server: Callable[..., str], body: bytes) -> None:
    """The server goes on after it."""
    url = http_server(store, "--user", "ada")

    status, text = post(url, body)

    assert 400 <= status < 500 and "Traceback" not in text and len(text) < 500
    assert post(url)[0] == 400


def test_half_a_character_is_no_error(store: Path, http_server: Callable[..., str]) -> None:
    """A client that cuts a text in the middle of an emoji is answered; of the text only that half is lost."""
    client = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "half \ud83d", "version": "1"},
    }

    status, text = post(
        http_server(store, "--user", "ada"), json.dumps({**LIST, "method": "initialize", "params": client}).encode()
    )

    assert status == 200 and '"serverInfo"' in text


def test_a_body_of_five_megabytes_is_refused(store: Path, http_server: Callable[..., str]) -> None:
    """More than four are not read."""
    assert post(http_server(store, "--user", "ada"), b"x" * 5_000_000)[0] == 413


@pytest.mark.parametrize("address", ["0.0.0.0:0", "192.0.2.1:0"])
def test_beyond_loopback_takes_a_token(store: Path, capsys: pytest.CaptureFixture[str], address: str) -> None:
    """The server does not start where anybody could call it."""
    assert run(["serve", "--http", address, "--user", "ada", "--store", str(store)]) == 2
    assert "memkit token new" in capsys.readouterr().err


@pytest.mark.parametrize(
    "address", ["nonsense", "127.0.0.1", "127.0.0.1:99999", "http://127.0.0.1:80", "a@b:80", ":80"]
)
def test_what_is_no_address_is_bad_usage(store: Path, capsys: pytest.CaptureFixture[str], address: str) -> None:
    """One line says what an address looks like."""
    assert run(["serve", "--http", address, "--user", "ada", "--store", str(store)]) == 2
    assert "HOST:PORT" in capsys.readouterr().err


def test_beyond_loopback_nobody_is_let_in_without_one(store: Path, data: Data, http_server: Callable[..., str]) -> None:
    """Not for the bound user either; an address is a name that no page can have pointed here, another name is none."""
    token, _ = made(data, "ada", "read")
    url = http_server(store, "--user", "ada", address="0.0.0.0:0")

    assert post(url)[0] == 401
    assert post(url, authorization=f"Bearer {token}")[0] == 400
    assert post(url, authorization=f"Bearer {token}", host="192.0.2.7:80")[0] == 400
    assert post(url, authorization=f"Bearer {token}", host="evil.example")[0] == 421


@pytest.mark.parametrize(("told", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
@pytest.mark.parametrize("way", [("--http", "127.0.0.1:0"), ("--stdio",)])
def test_a_server_ends_when_it_is_told_to(store: Path, told: signal.Signals, code: int, way: tuple[str, ...]) -> None:
    """Over HTTP open requests are answered first; over standard streams nothing waits for a client that is silent."""
    words = [sys.executable, "-m", "memkit", "serve", *way, "--user", "ada", "--store", str(store)]
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, env=environment(), text=True, **pipes) as server:
        assert server.stdin and server.stdout and server.stderr
        if way[0] == "--http":
            assert server.stderr.readline().startswith("ready")
        else:
            server.stdin.write(json.dumps({**LIST, "method": "initialize", "params": hello}) + "\n")
            server.stdin.flush()
            assert server.stdout.readline()
        server.send_signal(told)

        said, ended = server.communicate()[1], server.wait()

    assert "Traceback" not in said
    assert ended == (-told if way[0] == "--stdio" and told == signal.SIGTERM else code)
    assert run(["fsck", "--store", str(store)]) == 0


def test_a_port_that_is_taken_is_said(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is the environment that cannot serve."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["serve", "--http", f"127.0.0.1:{port}", "--user", "ada", "--store", str(store)]) == 3
    assert f"127.0.0.1:{port}" in capsys.readouterr().err


@pytest.mark.parametrize("era", ERAS)
def test_a_token_says_whose_memory_it_is_and_what_may_be_done(
    store: Path, data: Data, http_server: Callable[..., str], era: str
) -> None:
    """Each user has their own; reading is not writing; a yes counts for a person's with a token that reviews."""
    for user in ("ada", "bob"):
        data("consent", "grant", "--user", user)
        data("memory", "add", f"{user.title()} likes green tea", "--user", user)
    reader, _ = made(data, "ada", "read")
    writer, _ = made(data, "bob", "write")
    reviewer, id = made(data, "bob", "review")
    url = http_server(store)
    search = ("memory_search", {"query": "green tea"})
    edit = ("core_edit", {"section": "human", "old": "", "new": "Name: Bob"})

    of_ada, refused = call(url, reader, [search, ("memory_add", {"text": "Ada keeps a lynx"})], era)
    of_bob, held = call(url, writer, [search, edit], era, Asked(True))

    assert [hit["user_id"] for hit in of_ada.structured_content["results"]] == ["ada"]
    assert [hit["user_id"] for hit in of_bob.structured_content["results"]] == ["bob"]
    assert refused.is_error and "read but not write" in refused.content[0].text
    assert held.structured_content["decision"] == "quarantined"
    assert "human" not in data("core", "show", "--user", "bob")["sections"]
    call(url, reviewer, [edit], era, Asked(True))
    assert data("core", "show", "--user", "bob")["sections"]["human"] == "Name: Bob"
    events = data("audit", "--user", "bob")["events"]
    assert id in {event.get("token") for event in events if event["event"] == "call"}


def test_tokens_are_kept_as_digests_outside_of_the_store(store: Path, data: Data, tmp_path: Path) -> None:
    """Nothing on the disk holds a token, and erasing a user takes theirs back."""
    token, id = made(data, "ada", "write")
    other, _ = made(data, "bob", "read")
    home = Path.home()

    kept = [path for folder in (store, home) for path in folder.rglob("*") if path.is_file()]

    assert not [path for path in kept if token.encode() in path.read_bytes()]
    assert not [path for path in store.rglob("*.json") if path.stem == id]
    assert [found["user_id"] for found in data("token", "list")["tokens"]] == ["ada", "bob"]
    erased = ["memory", "erase", "--user", "ada", "--yes", "--out", str(tmp_path / "certificate.json")]
    assert data(*erased) is not None
    assert [found["user_id"] for found in data("token", "list")["tokens"]] == ["bob"] and token != other


@pytest.mark.parametrize(
    "words", [["token", "new", "--user", "ada"], ["serve", "--review"], ["serve", "--client-taint", "clean"]]
)
def test_an_agent_with_a_shell_is_no_person(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """It makes no token and vouches for nobody."""
    monkeypatch.setenv("CLAUDECODE", "1")

    assert run([*words, "--store", str(store)]) == 1
    assert "person" in capsys.readouterr().err


def test_without_the_extra_one_line_says_what_to_install(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rest of memkit works without it."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    assert run(["serve", "--user", "ada", "--store", str(store)]) == 3
    assert "memkit-agent[server]" in capsys.readouterr().err
