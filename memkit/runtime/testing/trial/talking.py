"""An agent under test: a project's own agent against a model that plays a script, in a scratch store."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...host.command import run
from ...host.endpoints import ANTHROPIC, OPENAI, Vendor
from ...host.rooms import Rooms, open_rooms
from ...host.settings import Project, load_settings
from ...loop.core import Host
from ...memory.log.clone import state_folder
from ..interface import Conversation
from ..server import FakeServer
from .processes import Processes

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
"""Prefixes of variables that a developer may have set, and that must be kept out of a test."""


@dataclass(frozen=True)
class ModelWire:
    """How a target reaches its model."""

    protocol: str
    """The protocol of the scripted server."""

    @property
    def streams(self) -> bool:
        """Return whether the agent requests streamed answers."""
        return self.protocol != "assistants"

    @property
    def vendor(self) -> Vendor:
        """Return the vendor whose variables name the server."""
        return ANTHROPIC if self.protocol == "anthropic" else OPENAI

    def variables(self, base_url: str) -> dict[str, str]:
        """Return the environment in which the agent finds the model at ``base_url``."""
        return {self.vendor.key: "local", self.vendor.url: base_url}


@dataclass(frozen=True)
class ProjectReply:
    """The output of one run of the agent."""

    code: int
    envelopes: tuple[Mapping[str, Any], ...]
    errors: str

    @property
    def data(self) -> Mapping[str, Any]:
        """Return the data of the only turn; a failed run is reported with its messages."""
        assert self.code == 0, f"exit {self.code}: {self.errors} {self.envelopes}"
        (envelope,) = self.envelopes
        data: Mapping[str, Any] = envelope["data"]
        return data

    @property
    def message(self) -> str:
        """Return the agent's words."""
        return str(self.data["message"])

    @property
    def codes(self) -> list[str]:
        """Return the codes of the diagnostics."""
        return [finding["code"] for envelope in self.envelopes for finding in envelope["diagnostics"]]


class Talk:
    """Runs the agent against a model that plays a script."""

    def __init__(
        self,
        project: Project,
        wire: ModelWire,
        folder: Path,
        capture: Callable[[], tuple[str, str]],
        processes: Processes,
    ) -> None:
        self.project = project
        self.wire = wire
        self.folder = folder
        self.store = folder / "store"
        self.asked: list[Conversation] = []
        """What the model was asked to continue in the last run, request by request, whatever the protocol."""
        self.sent: list[Any] = []
        """The bodies of the same requests, in the protocol's own format."""
        self._capture = capture
        self._processes = processes

    @property
    def state(self) -> Path:
        """Return the folder of work in progress of this clone of the store."""
        return state_folder(self.store)

    def __call__(
        self, text: str, script: Any, *arguments: str, user: str | None = "ada", **variables: str
    ) -> ProjectReply:
        """Answer one turn in this process."""
        with self.model(script) as server:
            code = self.run(line(text, arguments, user), **{**self.variables(server.base_url), **variables})
        return read_reply(code, *self._capture())

    def elsewhere(
        self, text: str, script: Any, *arguments: str, user: str | None = "ada", **variables: str
    ) -> ProjectReply:
        """Answer one turn in a separate process."""
        with self.model(script) as server:
            environment = {**os.environ, **self.variables(server.base_url), **variables}
            done = self._processes.run(line(text, arguments, user), self.folder, self.project.compiled, environment)
        return read_reply(*done)

    def run(self, arguments: Sequence[str], **variables: str) -> int:
        """Run one command line in this process and return its exit code."""
        return run(self.project, arguments, variables)

    def rooms(self, base_url: str, session: str = "one", host: Host | None = None, **variables: str) -> Rooms:
        """Return the rooms of Ada and a session, with the model at ``base_url``."""
        settings = load_settings(self.project, {**self.variables(base_url), **variables})
        return open_rooms(settings, "ada", session, host or Host())

    @property
    def notes(self) -> str:
        """Return what the tool ``note`` wrote."""
        path = self.project.compiled / "notes"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def system_prompts(self) -> list[str]:
        """Return the system text of every request in the last run."""
        return [spoken(conversation, "system") for conversation in self.asked]

    def words(self) -> list[str]:
        """Return the other text of every request in the last run."""
        return [spoken(conversation, "user", "assistant", "tool") for conversation in self.asked]

    def results(self) -> list[str]:
        """Return every tool result in the last request of the last run."""
        return [message.text for message in self.asked[-1].messages if message.role == "tool"]

    @contextmanager
    def model(self, script: Any) -> Iterator[FakeServer]:
        """Serve a model that plays ``script``, recording what it was asked."""
        with FakeServer(self.wire.protocol, script) as server:
            yield server
        self.asked = server.asked
        self.sent = [request.body for request in server.requests if request.conversation is not None]
        broken = [request.error for request in server.requests if request.status in (400, 404, 405, 411, 413)]
        assert not broken, f"The model server refused a request: {broken}"

    def variables(self, base_url: str) -> dict[str, str]:
        """Return the environment in which the agent finds the model at ``base_url``."""
        return {**self.wire.variables(base_url), "MODEL": "local", "MEMORY_DIR": str(self.store)}


def spoken(conversation: Conversation, *roles: str) -> str:
    """Return the texts of the messages with one of ``roles``."""
    return "\n".join(message.text for message in conversation.messages if message.role in roles)


def line(text: str, arguments: Sequence[str], user: str | None) -> list[str]:
    """Return the command line of one turn."""
    named = ["--user", user] if user is not None else []
    return ["-p", text, "--json", *named, *arguments]


def read_reply(code: int, result: str, errors: str) -> ProjectReply:
    """Return the output of a run; a traceback never counts as an answer."""
    assert "Traceback" not in errors, errors
    return ProjectReply(code, tuple(json.loads(line) for line in result.splitlines()), errors)


class Terminal(io.StringIO):
    """A stream with a person at the other end."""

    def isatty(self) -> bool:
        """Return True: somebody is there."""
        return True
