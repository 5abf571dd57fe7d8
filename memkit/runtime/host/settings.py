"""The settings a project was compiled with, and what the environment of a run adds."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..memory.archive.reader import unobserved
from ..memory.log.clone import state_folder
from ..memory.main import ArchivalStore, MemorySettings
from ..memory.record.lines import parse_duration, utc_now
from ..memory.record.record import encodable
from .sessions import AgentError, CannotServe

if TYPE_CHECKING:
    from ..backends.redis_state import RedisState

MANIFEST = "memkit.yaml"
MEMORY_SECTIONS = (
    "write", "retrieval", "context", "conversation", "working", "recall", "forget", "consolidate", "importance",
    "checkpoint", "core",
)  # fmt: skip
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<text>.*?)(?P=quote)(?:\s+#.*)?""")
_COMMENT = re.compile(r"(?:^|\s+)#.*")


@dataclass(frozen=True)
class Project:
    """A generated project, as its files are on disk."""

    name: str
    """Its display name."""
    model: str
    """The model to use if the environment names none."""
    folder: Path
    compiled: Path
    """The folder of files compiled from the store."""
    conversation: str = "agent.conversation"
    """The module that reaches the model; loaded when a turn needs it, because an SDK takes seconds to load."""


def _say(message: str) -> None:
    import logging

    logging.getLogger("memkit").warning(message)


def project_of(package: ModuleType) -> Project:
    """Return the project of the given package, which defines ``NAME`` and ``MODEL``."""
    place = Path(str(package.__file__)).resolve().parent
    return Project(package.NAME, package.MODEL, place.parent, place / "compiled", f"{package.__name__}.conversation")


@dataclass(frozen=True)
class ProjectSettings:
    """Everything that a run depends on besides its command line."""

    project: Project
    values: Mapping[str, Any]
    """The settings of the store at the time the project was rendered."""
    policies: tuple[Mapping[str, Any], ...]
    domains: tuple[Mapping[str, Any], ...]
    memory_folder: Path
    """The root of the store that holds this agent's memory."""
    context: Mapping[str, Any]
    """What the host says about itself; policies read it, and no model or user text can set it."""
    timeout: float
    """Seconds to wait for the model."""
    environment: Mapping[str, str]

    @property
    def tools(self) -> frozenset[str]:
        """Return the names of the tools that the project's skills chose."""
        return frozenset(self.values["agent"]["tools"])

    @property
    def model(self) -> str:
        """Return the model to use."""
        return self.environment.get("MODEL") or self.project.model

    @property
    def retries(self) -> int:
        """Return how often a request to the model is made again, by the store's ``requests.retries``."""
        return int(self.values.get("requests", {}).get("retries", 1))

    @property
    def turn_seconds(self) -> float | None:
        """Return how long a turn may take, by the store's ``turn.within``; None for no limit."""
        within = self.values.get("turn", {}).get("within")
        return None if within is None else parse_duration(within)

    @property
    def limits(self) -> MemorySettings:
        """Return the store's memory settings."""
        # A project rendered by an earlier memkit lacks some of them.
        return MemorySettings.from_mapping({name: self.values[name] for name in MEMORY_SECTIONS if name in self.values})

    @property
    def state_folder(self) -> Path:
        """Return the folder of this clone's work in progress, whose name nobody else can derive."""
        return state_folder(self.memory_folder)

    def open_archive(self, user: str | None, **more: Any) -> ArchivalStore:
        """Return long-term memory where the store keeps it; without a user, one that is forgotten with the process."""
        if user is None:
            return ArchivalStore(None, settings=self.limits, **more)
        place = str(self.values.get("backends", {}).get("archive", "files"))
        if place != "files":
            from ..backends.interface import ARCHIVES, Instance, address
            from ..backends.opening import open_archive

            where = address(place, ARCHIVES, self.environment)
            if where.url:
                instance = Instance(self.memory_folder, utc_now, unobserved, str(self.values.get("name") or ""))
                more["log"] = open_archive(where, instance)
        return ArchivalStore(self.memory_folder, settings=self.limits, **more)

    def shared_state(self) -> RedisState | None:
        """Return where sessions and turns are shared with other instances; None if they are not."""
        place = str(self.values.get("backends", {}).get("working", "files"))
        if place == "files":
            return None
        from ..backends.interface import WORKING, address
        from ..backends.opening import open_working

        where = address(place, WORKING, self.environment)
        if not where.url:
            return None
        limits = self.limits
        lasts = {"checkpoint": limits.checkpoint.ttl, "recall": limits.recall.ttl, "counts": limits.forget.max_age}
        name = str(self.values.get("name") or "")
        return open_working(where, root=self.state_folder, name=name, ttl=lasts, note=_say)

    def make_store(self) -> None:
        """Put the project's ``memkit.yaml`` into a separate memory folder, so that memkit's commands work on it."""
        manifest = self.memory_folder / MANIFEST
        if not manifest.exists():
            self.memory_folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.project.folder / MANIFEST, manifest)


def load_settings(project: Project, environment: Mapping[str, str] | None = None) -> ProjectSettings:
    """Return the settings of this process; the environment overrides the ``.env`` file in the working directory."""
    found = os.environ if environment is None else environment
    variables = {**dotenv(Path(".env")), **found}
    for name in ("MODEL", "AGENT_USER", "AGENT_CONTEXT"):
        if not encodable(variables.get(name, "")):  # bytes that are not UTF-8 arrive as halves of surrogate pairs
            raise AgentError(f"{name} is not UTF-8 text.")
    values = _compiled(project.compiled / "settings.json", dict)
    if tokens := variables.get("CONTEXT_MAX_TOKENS"):
        values["context"] = {**values["context"], "max_tokens": math.ceil(_number("CONTEXT_MAX_TOKENS", tokens))}
    return ProjectSettings(
        project=project,
        values=values,
        policies=tuple(_compiled(project.compiled / "policies.json", list)),
        domains=tuple(_compiled(project.compiled / "domains.json", list)),
        memory_folder=_memory_folder(variables.get("MEMORY_DIR", "")) or project.folder.resolve(),
        context=_host_context(variables.get("AGENT_CONTEXT", "")),
        timeout=_number("MODEL_TIMEOUT", variables.get("MODEL_TIMEOUT") or "60"),
        environment=variables,
    )


def _compiled(path: Path, kind: type) -> Any:
    """Return the content of a file compiled from the store; raise ``CannotServe`` if it is damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CannotServe(f"{path} cannot be used: {error}. Render the project again.") from error
    if not isinstance(content, kind):
        # An empty object in place of the policies would otherwise count as an empty set.
        raise CannotServe(f"{path} cannot be used: it is not a {kind.__name__}. Render the project again.")
    return content


def _memory_folder(text: str) -> Path | None:
    try:
        return Path(text).expanduser().resolve() if text else None
    except RuntimeError as error:
        raise AgentError(f"MEMORY_DIR={text!r} names a home that is not here.") from error


def _host_context(text: str) -> dict[str, Any]:
    """Return the JSON object in ``AGENT_CONTEXT``; anything else is an error, because policies rely on it."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AgentError(f"AGENT_CONTEXT is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise AgentError('AGENT_CONTEXT must be a JSON object such as {"env": "test"}.')
    if "trust" in value:
        raise AgentError("AGENT_CONTEXT trust: this is set by the conversation and cannot be given.")
    return value


def _number(name: str, text: str) -> float:
    """Return the positive number that a variable holds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise AgentError(f"{name}={text!r} is not a positive number.")
    return value


def dotenv(path: Path) -> dict[str, str]:
    """Return the variables in a file of ``NAME=value`` lines; none if the file is missing or a folder."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (FileNotFoundError, IsADirectoryError):
        return {}
    except UnicodeDecodeError as error:
        raise CannotServe(f"{path} is not UTF-8 text (byte {error.start + 1}). Write it again.") from error
    pairs = (
        line.removeprefix("export ").split("=", 1) for line in map(str.strip, lines) if "=" in line and line[0] != "#"
    )
    return {name.strip(): unquoted(value.strip()) for name, value in pairs}


def unquoted(value: str) -> str:
    """Return ``value`` without enclosing quotes and without a trailing comment.

    >>> unquoted('"a b"'), unquoted("a'b"), unquoted("'#a' # b"), unquoted("a#b # c")
    ('a b', "a'b", '#a', 'a#b')
    """
    quoted = _QUOTED.fullmatch(value)
    return quoted["text"] if quoted else _COMMENT.sub("", value)
