"""What every test shares: a model server on loopback, an agent in a scratch store, and a watch over the network.

The variables of a developer's own environment are kept out, and any connection that does not stay on this machine
fails the test that made it, in the agent's processes too.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import material, wire
from tests.model_server import Conversation, FakeServer
from tests.offline import stay_offline
from tests.processes import Processes

OWN_VARIABLES = (
    "OPENAI_",
    "ANTHROPIC_",
    "AZURE_",
    "CLAUDE",
    "LANGSMITH_",
    "LANGCHAIN_",
    "AGENT_",
    "MEMORY_DIR",
    "MODEL",
    "CONTEXT_",
)

stay_offline()


@dataclass(frozen=True)
class Reply:
    """What one run of the agent printed."""

    code: int
    envelopes: tuple[Mapping[str, Any], ...]
    errors: str

    @property
    def data(self) -> Mapping[str, Any]:
        """Return the data of the only turn; a failed run is told with its messages."""
        assert self.code == 0, f"exit {self.code}: {self.errors} {self.envelopes}"
        (envelope,) = self.envelopes
        data: Mapping[str, Any] = envelope["data"]
        return data

    @property
    def message(self) -> str:
        """Return what the agent said."""
        return str(self.data["message"])

    @property
    def codes(self) -> list[str]:
        """Return the codes of the diagnostics."""
        return [finding["code"] for envelope in self.envelopes for finding in envelope["diagnostics"]]


class Talk:
    """Runs the agent against a model that plays a script."""

    def __init__(
        self, folder: Path, compiled: Path, capture: Callable[[], tuple[str, str]], processes: Processes
    ) -> None:
        self.folder = folder
        self.store = folder / "store"
        self.asked: list[Conversation] = []
        """What the model was asked to continue in the last run, request by request, whatever the protocol."""
        self.sent: list[Any] = []
        """The bodies of the same requests, in the terms of the protocol."""
        self._compiled = compiled
        self._capture = capture
        self._processes = processes

    def __call__(self, text: str, script: Any, *arguments: str, user: str | None = "ada", **variables: str) -> Reply:
        """Answer one turn in this process."""
        from agent.command import main

        with self._model(script) as server:
            code = main(line(text, arguments, user), {**self.variables(server.base_url), **variables})
        return read_reply(code, *self._capture())

    def elsewhere(self, text: str, script: Any, *arguments: str, user: str | None = "ada", **variables: str) -> Reply:
        """Answer one turn in a process of its own."""
        with self._model(script) as server:
            environment = {**os.environ, **self.variables(server.base_url), **variables}
            done = self._processes.run(line(text, arguments, user), self.folder, self._compiled, environment)
        return read_reply(*done)

    def system_prompts(self) -> list[str]:
        """Return what every request of the last run said in the name of the system."""
        return [spoken(conversation, "system") for conversation in self.asked]

    def words(self) -> list[str]:
        """Return what every request of the last run held besides the system's words."""
        return [spoken(conversation, "user", "assistant", "tool") for conversation in self.asked]

    def results(self) -> list[str]:
        """Return every tool result that the last request of the last run carried."""
        return [message.text for message in self.asked[-1].messages if message.role == "tool"]

    @contextmanager
    def _model(self, script: Any) -> Iterator[FakeServer]:
        with FakeServer(wire.PROTOCOL, script) as server:
            yield server
        self.asked = server.asked
        self.sent = [request.body for request in server.requests if request.conversation is not None]
        broken = [request.error for request in server.requests if request.status in (400, 404, 405, 411, 413)]
        assert not broken, f"The model server refused a request: {broken}"

    def variables(self, base_url: str) -> dict[str, str]:
        """Return the environment in which the agent finds the model at ``base_url``."""
        return {**wire.variables(base_url), "MODEL": "local", "MEMORY_DIR": str(self.store)}


def spoken(conversation: Conversation, *roles: str) -> str:
    """Return the texts of the messages that have one of ``roles``."""
    return "\n".join(message.text for message in conversation.messages if message.role in roles)


def line(text: str, arguments: Sequence[str], user: str | None) -> list[str]:
    """Return the command line of one turn."""
    named = ["--user", user] if user is not None else []
    return ["-p", text, "--json", *named, *arguments]


def read_reply(code: int, result: str, errors: str) -> Reply:
    """Return what a run printed; a trace is never an answer."""
    assert "Traceback" not in errors, errors
    return Reply(code, tuple(json.loads(line) for line in result.splitlines()), errors)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Keep the developer's own variables, proxies, home and .env file out of a test."""
    for name in list(os.environ):
        if name.startswith(OWN_VARIABLES) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put policies, domains and settings made for the tests in the place of the store's, which people may change."""
    import agent.settings

    folder = tmp_path / "compiled"
    folder.mkdir()
    offered = json.loads((agent.settings.COMPILED / "settings.json").read_text(encoding="utf-8"))["agent"]
    for name, content in material.files(folder, offered).items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    monkeypatch.setattr(agent.settings, "COMPILED", folder)
    return folder


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    """Return what runs the agent in processes of their own."""
    started = Processes()
    yield started
    started.close()


@pytest.fixture
def talk(tmp_path: Path, compiled: Path, capsys: pytest.CaptureFixture[str], processes: Processes) -> Talk:
    """Return an agent whose memory lies in a scratch folder."""

    def capture() -> tuple[str, str]:
        printed = capsys.readouterr()
        return printed.out, printed.err

    return Talk(tmp_path, compiled, capture, processes)


class Terminal(io.StringIO):
    """A stream with a person at the other end."""

    def isatty(self) -> bool:
        """Return that somebody is there."""
        return True


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that puts a terminal in place, at which a person types the given lines."""

    def typed(*lines: str) -> None:
        monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{line}\n" for line in lines)))
        monkeypatch.setattr(sys, "stderr", Terminal())

    return typed
