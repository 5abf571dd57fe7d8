"""``memkit setup``: who answers is chosen once, asked before it counts, and written without a secret."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pexpect
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.cli.main import run
from memkit.errors import UsageError
from memkit.use_cases.models import VARIABLE, require_variable

KNOWN = ("qwen3:latest", "llama3.2", "gpt-oss")
ANSWER = {"id": "a", "object": "chat.completion", "created": 0, "model": "m", "usage": None}
READY = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ready"}}
SECRET = "local-key-1234567"
PASTED = "sk-proj-abcdefghijklmnop1234"


class ModelHouse:
    """A server that has some models and keeps the keys it was sent; as a page it is a proxy that wants a login."""

    def __init__(self, *, key: str = "", page: bool = False) -> None:
        self.keys: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.removeprefix("/v1/models").lstrip("/")
                listed = [{"id": one, "object": "model", "created": 0, "owned_by": "x"} for one in KNOWN]
                known = not name or {name, f"{name}:latest"} & set(KNOWN)
                self.send(200 if known else 404, listed[0] if name else {"object": "list", "data": listed})

            def do_POST(self) -> None:
                model = json.loads(self.rfile.read(int(self.headers["content-length"])))["model"]
                known = {model, f"{model}:latest"} & set(KNOWN)
                told = {"error": {"message": f"model {model!r} not found"}}
                self.send(200 if known else 404, {**ANSWER, "choices": [READY]} if known else told)

            def send(self, status: int, body: Any) -> None:
                given = self.headers.get("authorization", "").removeprefix("Bearer ")
                outer.keys.append(given)
                if key and given != key:
                    status, body = 401, {"error": {"message": f"Wrong key {given}"}}
                text = b"<html><body>Sign in</body></html>" if page else json.dumps(body).encode()
                self.send_response(200 if page else status)
                self.send_header("Content-Type", "text/html" if page else "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def close(self) -> None:
        """Take no further request."""
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelHouse]:
    """Return a server that wants no key."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    opened = ModelHouse()
    yield opened
    opened.close()


def memkit(store: Path, *words: str) -> int:
    """Run a command on a store, with nobody to ask."""
    return run([*words, "--store", str(store), "--no-input"])


def manifest(store: Path) -> str:
    """Return what the store says of itself."""
    return (store / "memkit.yaml").read_text(encoding="utf-8")


def on_a_terminal(store: Path, *words: str) -> pexpect.spawn:
    """Run a command on a terminal of its own."""
    command = ["-m", "memkit", *words, "--store", str(store)]
    plain = {**os.environ, "TERM": "dumb"}
    return pexpect.spawn(sys.executable, command, timeout=600, encoding="utf-8", dimensions=(40, 200), env=plain)


def test_a_server_of_ones_own_is_chosen_in_one_commit(
    store: Path, house: ModelHouse, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Comments stay, the store is trusted with what a person chose, and it never sees the key of a vendor."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    comments = [line for line in manifest(store).splitlines() if line.lstrip().startswith("#")]

    words = ("--provider", "ollama", "--base-url", house.url, "--model", "qwen3", "--user", "ada", "--consent")
    assert memkit(store, "setup", *words) == 0

    assert [line for line in manifest(store).splitlines() if line.lstrip().startswith("#")] == comments
    log = ["git", "log", "--format=%s", "--", "memkit.yaml"]
    subjects = subprocess.run(log, cwd=store, capture_output=True, text=True, check=True).stdout.splitlines()
    assert subjects == ["Let openai answer", "Make the store"]
    assert f"qwen3 at {house.url} now answers here" in capsys.readouterr().out
    assert memkit(store, "chat", "-p", "Are you there?", "--json") == 0
    assert json.loads(capsys.readouterr().out)["data"]["message"] == "ready"
    assert set(house.keys) == {"none"}
    assert memkit(store, "core", "show") == 0  # of ada, whom nobody named
    assert memkit(store, "setup", "--provider", "reference") == 0
    assert house.url not in manifest(store) and "qwen3" not in manifest(store)


def test_a_check_says_what_is_chosen_and_writes_nothing(
    store: Path, house: ModelHouse, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its JSON is pinned; the key is a variable's name, and a model that is not there is a failed check."""

    def checked(*words: str) -> tuple[int, Any]:
        code = memkit(store, "setup", "--check", "--json", *words)
        return code, json.loads(capsys.readouterr().out)["data"]

    monkeypatch.setenv("TEAM_KEY", SECRET)
    reference = {"provider": "reference", "model": None, "key": None, "reachable": True, "user": None}
    assert checked() == (0, reference)
    before = manifest(store)
    there = ("--base-url", house.url, "--key-variable", "TEAM_KEY")
    asked = {"provider": "openai", "model": "llama3.2", "key": "TEAM_KEY", "reachable": True, "user": "ada"}
    assert checked(*there, "--model", "llama3.2", "--user", "ada") == (0, asked)
    assert house.keys[-1] == SECRET
    code, data = checked(*there, "--model", "llama3.3")
    assert (code, data["reachable"]) == (1, True)
    code, data = checked("--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    assert (code, data["reachable"]) == (3, False)
    assert manifest(store) == before


@pytest.mark.parametrize(
    ("kind", "words", "code", "said"),
    [
        ({"key": "another"}, ("--model", "qwen3", "--key-variable", "TEAM_KEY"), 1, "the key in TEAM_KEY"),
        ({"key": "another"}, ("--model", "qwen3"), 1, "--key-variable NAME"),
        ({}, ("--model", "lama3.2"), 2, "Did you mean 'llama3.2'?"),
        ({}, (), 2, "Name one with --model: qwen3:latest, llama3.2, gpt-oss"),
        ({"page": True}, ("--model", "qwen3"), 3, "a web page"),
        ({}, ("--model", "qwen3", "--base-url", "http://127.0.0.1:9/v1"), 3, "nothing listens there"),
        ({}, ("--model", "qwen3", "--base-url", "http://ada:pw@127.0.0.1/v1"), 2, "without a password"),
        ({}, ("--model", "qwen3", "--key-variable", "MISSING_KEY"), 3, "MISSING_KEY is not set"),
        ({}, ("--provider", "olama"), 2, "Did you mean 'ollama'?"),
        ({}, ("--provider", "reference", "--model", "gpt-5"), 2, "answers by rules"),
    ],
)
def test_what_cannot_answer_is_one_line_and_changes_nothing(
    kind: dict[str, Any], words: tuple[str, ...], code: int, said: str, store: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A wrong key, a typo, a proxy's page, nobody there: what it was and what to do."""
    monkeypatch.setenv("TEAM_KEY", SECRET)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    before, house = manifest(store), ModelHouse(**kind)
    at = () if {"--base-url", "--provider"} & set(words) else ("--base-url", house.url)

    assert memkit(store, "setup", *at, *words) == code

    [line] = capsys.readouterr().err.splitlines()
    assert said in line and SECRET not in line
    assert manifest(store) == before
    house.close()


@given(st.one_of(st.text(min_size=8), st.from_regex(r"(sk-|gsk_)[A-Za-z0-9_-]{16,40}", fullmatch=True)))
def test_nothing_but_a_name_is_taken_for_one(text: str) -> None:
    """What may be a key is refused, and the refusal does not repeat it."""
    if VARIABLE.fullmatch(text):
        return
    with pytest.raises(UsageError) as refused:
        require_variable(text)
    assert text not in str(refused.value)


def test_a_person_is_asked_for_what_no_option_says(store: Path, house: ModelHouse) -> None:
    """A pasted key is refused and asked for again; the models of the server are shown; Enter takes what is usual."""
    child = on_a_terminal(store, "setup")
    for question, typed in (
        (r"Who \[reference\]:", "olama"),
        (r"Did you mean 'ollama'.*Who \[reference\]:", house.url),
        (r"holds it \[none\]:", PASTED),
        (r"a key must not be given here.*holds it \[none\]:", ""),
        (r"It has qwen3:latest, llama3.2.*Which model \[qwen3:latest\]:", "llama3.2"),
        ("Your name", "ada"),
        (r"remembered, as text in this store\? \[y/N\]", "y"),
    ):
        child.expect(question)
        child.sendline(typed)
    child.expect("now answers here")
    child.expect(pexpect.EOF)
    child.close()

    assert child.exitstatus == 0
    assert {f"base_url: {house.url}", "model: llama3.2", "user: ada"} <= set(manifest(store).splitlines())
    assert "sk-proj" not in manifest(store)


def test_an_address_of_a_stores_choosing_is_asked_when_it_is_trusted_alone(
    store: Path, house: ModelHouse, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a store could send what is said, and any variable of the environment, wherever it likes."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    chosen = f"provider: openai\nmodel: qwen3\nbase_url: {house.url}\nkey_variable: OPENAI_API_KEY\n"
    (store / "memkit.yaml").write_text(f"{manifest(store)}{chosen}requests: {{retries: 0}}\n", encoding="utf-8")

    assert memkit(store, "chat", "-p", "hello") == 3
    assert memkit(store, "setup", "--check") == 3
    assert memkit(store, "chat", "-p", "hello", "--provider", "openai") == 3
    assert "http://127.0.0.1:9/v1 cannot be reached" in capsys.readouterr().err
    assert house.keys == []
    assert memkit(store, "trust", "--show", "--json") == 1
    kinds = {one["kind"] for one in json.loads(capsys.readouterr().out)["data"]["allows"]}
    assert {"provider", "model", "address", "key_variable"} <= kinds
    assert memkit(store, "trust", "--yes") == 0
    assert memkit(store, "chat", "-p", "hello", "--json") == 0
    assert house.keys[-1] == SECRET


def test_an_agent_chooses_and_does_not_vouch(
    store: Path, house: ModelHouse, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an agent with a shell wrote is asked about before anybody answers by it."""
    monkeypatch.setenv("CLAUDECODE", "1")

    assert memkit(store, "setup", "--base-url", house.url, "--model", "qwen3") == 0
    assert memkit(store, "chat", "-p", "hello") == 3

    assert "memkit trust" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("config", "set", "provider", "gpt"), "Did you mean 'openai'?"),
        (("config", "set", "provider", "ollama"), "memkit setup --provider ollama"),
        (("config", "set", "provider", "scripted"), "needs a file"),
        (("config", "set", "provider", "openai:gpt-5"), "takes nothing after the colon"),
        (("config", "set", "model", "gpt-5"), "answers by rules"),
        (("config", "set", "key_variable", PASTED), "a key must not be given here"),
        (("config", "set", "base_url", "localhost:11434"), "An address looks like"),
        (("chat", "--model", "gpt-5", "-p", "hi"), "--provider openai --model gpt-5"),
        (("chat", "--model", "claude-opus", "-p", "hi"), "--provider anthropic --model claude-opus"),
        (("setup",), "Cannot ask questions here"),
        (("setup", "--consent"), "Add --user"),
    ],
)
def test_what_is_no_provider_and_no_model_is_refused_when_it_is_set(
    words: tuple[str, ...], said: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad usage, in a line that says what to do, and never with what may be a key."""
    before = manifest(store)

    assert memkit(store, *words) == 2

    error = capsys.readouterr().err
    assert said in error and "sk-proj" not in error
    assert manifest(store) == before


def test_a_model_is_looked_up_before_config_sets_it(
    store: Path, house: ModelHouse, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the word of its server; where that cannot be asked, it is set and said."""
    assert memkit(store, "setup", "--base-url", house.url, "--model", "qwen3") == 0

    assert memkit(store, "config", "set", "model", "gpt-os") == 2
    assert "Did you mean 'gpt-oss'?" in capsys.readouterr().err
    assert memkit(store, "config", "set", "model", "gpt-oss") == 0
    house.close()
    assert memkit(store, "config", "set", "model", "other") == 0
    assert "Could not check that the model" in capsys.readouterr().err


def test_doctor_looks_at_the_model_and_asks_it_with_a_flag(
    store: Path, house: ModelHouse, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names who answers and what is missing; nothing is sent unless that is asked for."""

    def model(*words: str) -> tuple[bool, str]:
        memkit(store, "doctor", "--json", *words)
        checks = json.loads(capsys.readouterr().out)["data"]["checks"]
        return next((one["ok"], one["detail"]) for one in checks if one["name"] == "model")

    assert model()[0] and "reference" in model()[1]
    assert memkit(store, "setup", "--base-url", house.url, "--model", "qwen3") == 0
    capsys.readouterr()
    asked = len(house.keys)
    ok, said = model()
    assert (ok, len(house.keys)) == (True, asked) and f"qwen3 at {house.url}" in said
    assert model("--call")[1].endswith("it answers")
    house.close()
    assert not model("--call")[0]
    assert memkit(store, "setup", "--provider", "openai", "--key-variable", "MISSING_KEY", "--no-call") == 0
    capsys.readouterr()
    ok, said = model()
    assert not ok and "MISSING_KEY is not set" in said


# In a conversation.


def test_another_model_answers_once_its_server_knows_it(
    store: Path, house: ModelHouse, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``/model`` says who answers; a name that is refused leaves the old one."""
    assert memkit(store, "setup", "--base-url", house.url, "--model", "qwen3") == 0
    capsys.readouterr()
    lines = "/model\n/model gpt-os\n/model\n/model gpt-oss\n/model\nhello\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))

    assert memkit(store, "chat", "--jsonl") == 2

    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    said = [one["data"]["message"] if one["ok"] else one["diagnostics"][0]["message"] for one in told]
    assert [said[0].split()[0], said[2].split()[0], said[4].split()[0]] == ["qwen3", "qwen3", "gpt-oss"]
    assert "Did you mean 'gpt-oss'?" in said[1]
    assert said[5] == "ready"


def test_the_first_line_says_who_answers_for_whom_and_what_is_remembered(store: Path) -> None:
    """Before any question; where nobody is named it says so, and no model promises to remember."""
    child = on_a_terminal(store, "chat")
    # However wide the terminal is, and wherever a line is folded.
    child.expect(r"The\s+reference\s+model\s.*answers\s+an\s+unnamed\s+user\.\s+Nothing\s+is\s+remembered\.")
    child.expect(r"give\s+--user")
    child.expect("> ")
    child.send("yes, you may remember\r")
    child.expect(r"keeps\s+nothing\s+for\s+later")
    child.send("/quit\r")
    child.expect(pexpect.EOF)
    assert "From now on I remember" not in str(child.before)
    child.close()

    assert memkit(store, "memory", "add", "I like tea", "--user", "ada") == 0
    child = on_a_terminal(store, "chat", "--user", "ada", "--consent")
    child.expect(r"answers\s+ada\.\s+Remembered:\s+1\s+record;\s+what\s+you\s+say\s+is\s+added\.")
    child.close(force=True)
