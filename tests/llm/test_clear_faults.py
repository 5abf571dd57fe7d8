"""What is wrong with key, model, address, network or quota is one line that says what to do and never holds the key."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.errors import EnvironmentFault
from memkit.llm.providers import Patience, open_model
from memkit.runtime.loop.interface import Message
from memkit.runtime.testing import FakeServer
from tests.llm.raw_pages import Page, RawServe

ASKED: list[Message] = [{"role": "user", "content": "Go on."}]
VARIABLES = {"anthropic": "ANTHROPIC", "openai": "OPENAI"}
JSON = "application/json"
KEY = "local-key-1234567"
Start = Callable[..., FakeServer]
providers = pytest.mark.parametrize("provider", VARIABLES)


def fault_of(provider: str, *, stream: bool = True, **bounds: Any) -> EnvironmentFault:
    """Return the fault of asking a model, after a look that it is one line without a key anywhere behind it."""
    with pytest.raises(EnvironmentFault) as fault:
        model: Any = open_model(provider, patience=Patience(retries=0, **bounds))
        model.stream(ASKED, [], lambda text: None) if stream else model.complete(ASKED, [])
    assert "\n" not in str(fault.value) and len(str(fault.value)) < 600
    assert KEY not in "".join(traceback.format_exception(fault.value))
    assert fault.value.exit_code == 3
    return fault.value


ANSWERS: list[tuple[int, dict[str, Any], str]] = [
    (401, {"message": f"Incorrect API key provided: {KEY}."}, "does not accept the key in {name}_API_KEY"),
    (403, {"message": f"Key {KEY} has no access."}, "The key in {name}_API_KEY may not do this"),
    (403, {"code": "unsupported_country_region_territory", "message": "Country not supported"}, "your region"),
    (404, {"message": "The model `gpt-9` does not exist"}, "Check {name}_BASE_URL"),
    (429, {"type": "insufficient_quota", "message": "You exceeded your current quota"}, "check its billing"),
    (400, {"message": "Your credit balance is too low"}, "check its billing"),
    (402, {"message": "Pay first"}, "check its billing"),
    (400, {"code": "context_length_exceeded", "message": "too long"}, "lower context.max_tokens"),
    (400, {"message": "prompt is too long: 210000 tokens > 200000 maximum"}, "lower context.max_tokens"),
    (400, {"type": "exceed_context_size_error", "message": "the request exceeds the available context size"}, "lower"),
    (413, {"message": "Request exceeds the maximum size"}, "lower context.max_tokens"),
    (400, {"message": "registry.ollama.ai/library/x does not support tools"}, "choose a model that can call them"),
    (400, {"message": '"auto" tool choice requires --enable-auto-tool-choice to be set'}, "enable them on the server"),
    (400, {"message": "x" * 5000}, "HTTP 400: xxx"),
    (500, {"message": "line one\nline two"}, "HTTP 500: line one line two."),
    (418, {}, "HTTP 418"),
]


@providers
@pytest.mark.parametrize(("status", "error", "said"), ANSWERS)
def test_what_a_server_refuses_is_told_with_what_to_do(
    provider: str, status: int, error: dict[str, Any], said: str, raw_server: RawServe
) -> None:
    """The server's own words are kept short, and a key that it repeats is left out."""
    raw_server(provider, Page([json.dumps({"type": "error", "error": error}).encode()], status=status, kind=JSON))

    assert said.format(name=VARIABLES[provider]) in str(fault_of(provider))


@providers
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html", b"<html><body>Please log in.</body></html>"),
        ("text/plain", b"It works!"),
        ("text/event-stream", b""),
        ("text/event-stream", b"data: [DONE]\n\n"),
        ("text/event-stream", b"event: message_start\ndata: null\n\n"),
        ("text/event-stream", b"event: message_start\ndata: []\n\n"),
        ("text/event-stream", b'event: message_start\ndata: "hello"\n\n'),
        ("text/event-stream", b"event: message_start\ndata: {half of\n\n"),
        ("text/event-stream", b'event: message_start\ndata: {"a": "\xff\xfe"}\n\n'),
        ("text/event-stream", b"event: message_start\ndata: " + b"[" * 100_000 + b"\n\n"),
        (JSON, b""),
        (JSON, b"null"),
        (JSON, b"[]"),
        (JSON, b'{"choices": [], "content": null}'),
        (JSON, b'{"choices": [{"message": {"content": 7}}], "content": [{"type": "text", "text": 7}]}'),
        (JSON, b"{" * 100_000),
    ],
)
def test_what_is_no_answer_is_told_as_such(
    provider: str, stream: bool, kind: str, body: bytes, raw_server: RawServe
) -> None:
    """A gateway's page, a portal, another protocol, half of a stream: nothing is taken for an answer."""
    server = raw_server(provider, Page([body], kind=kind))

    assert server.address in str(fault_of(provider, stream=stream))


@providers
def test_a_page_of_a_gateway_is_not_quoted(provider: str, raw_server: RawServe) -> None:
    """A page is no reason that fits on a line."""
    raw_server(provider, Page([b"<html><h1>Bad gateway</h1></html>"], status=502, kind="text/html"))

    assert "HTTP 502: (a web page instead of an answer)" in str(fault_of(provider))


@providers
def test_an_address_where_nothing_is(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that nobody listens on, a name that nobody has, and an address that is none, its password left out."""
    name = VARIABLES[provider]
    monkeypatch.setenv(f"{name}_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "*")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv(f"{name}_BASE_URL", f"http://ada:{KEY}@127.0.0.1:{free.getsockname()[1]}/v1")
        assert "nothing listens there" in str(fault_of(provider))

    def unknown(*args: Any, **options: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setenv(f"{name}_BASE_URL", "http://nobody.invalid/v1")
    assert "The name nobody.invalid cannot be resolved" in str(fault_of(provider))
    monkeypatch.setenv(f"{name}_BASE_URL", f"ftp://ada:{KEY}@host/v1")
    assert f"{name}_BASE_URL='ftp://host/v1' is not an address" in str(fault_of(provider))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate that no authority signed."""
    made = tmp_path_factory.mktemp("tls") / "own.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-keyout", str(made), "-out", str(made.with_suffix(".crt"))],
        check=True, capture_output=True,
    )  # fmt: skip
    made.write_text(made.read_text() + made.with_suffix(".crt").read_text())
    return made


@pytest.fixture
def tls_port(certificate: Path) -> Iterator[int]:
    """Listen with that certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            while True:
                try:
                    context.wrap_socket(listening.accept()[0], server_side=True).close()
                except ssl.SSLError:
                    continue
                except OSError:
                    return

        threading.Thread(target=greet, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


@providers
def test_a_certificate_that_nobody_vouches_for(
    provider: str, tls_port: int, monkeypatch: pytest.MonkeyPatch, model_server: Start
) -> None:
    """The usual cause is a company's own authority; a server without TLS is another fault."""
    name = VARIABLES[provider]
    monkeypatch.setenv(f"{name}_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv(f"{name}_BASE_URL", f"https://127.0.0.1:{tls_port}")
    assert "SSL_CERT_FILE" in str(fault_of(provider))

    plain = model_server("chat", [])
    monkeypatch.setenv(f"{name}_BASE_URL", plain.base_url.replace("http:", "https:"))
    assert "TLS to " in str(fault_of(provider))


@providers
def test_a_proxy_that_does_not_let_through(
    provider: str, raw_server: RawServe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that answers with a refusal, and one that is none."""
    server = raw_server(provider, Page([b""], status=407))
    name = VARIABLES[provider]
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("HTTPS_PROXY", server.address.replace("//", f"//ada:{KEY}@"))
    monkeypatch.setenv(f"{name}_BASE_URL", "https://api.example.test/v1")
    assert "proxy" in str(fault_of(provider)).lower()
    monkeypatch.setenv("HTTPS_PROXY", f"gopher://ada:{KEY}@127.0.0.1:1")
    assert "The proxy in HTTPS_PROXY has the unknown scheme 'gopher'" in str(fault_of(provider))


@providers
@pytest.mark.parametrize("output", [["--debug"], ["--json"], []])
def test_no_output_holds_the_key(
    provider: str, output: list[str], raw_server: RawServe, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the message nor a trace nor an envelope, even where the server repeats it in its answer."""
    told = {"error": {"message": f"Wrong: {KEY}", "param": KEY}, "key": KEY}
    raw_server(provider, Page([json.dumps(told).encode()], status=400, kind=JSON))

    code = run(["chat", "--store", str(store), "-p", "Hello!", "--provider", provider, "--no-memory", *output])

    said = capsys.readouterr()
    assert code == 3
    assert KEY not in said.out + said.err
    assert "HTTP 400: Wrong: …" in said.out + said.err
