"""What this project was compiled with, and what the environment adds."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent import DEFAULT_MODEL
from agent.errors import EnvironmentFault
from memory.settings import MemorySettings

COMPILED = Path(__file__).resolve().parent / "compiled"
PROJECT_FOLDER = COMPILED.parent.parent
MANIFEST = "memkit.yaml"
MEMORY_SECTIONS = ("write", "retrieval", "context", "recall", "forget", "consolidate", "importance", "checkpoint")
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<text>.*?)(?P=quote)(?:\s+#.*)?""")
_COMMENT = re.compile(r"(?:^|\s+)#.*")


@dataclass(frozen=True)
class Settings:
    """Everything that a run depends on besides its command line."""

    values: Mapping[str, Any]
    """The settings of the store, as they were when the project was rendered."""
    policies: tuple[Mapping[str, Any], ...]
    domains: tuple[Mapping[str, Any], ...]
    tools: frozenset[str]
    """Names of the tools that the project's skills chose."""
    memory_folder: Path
    """The root of the store that holds this agent's memory."""
    model: str
    context: Mapping[str, Any]
    """What the host says about itself; the policies read it, and no model or user text can set it."""
    timeout: float
    """Seconds to wait for the model."""
    environment: Mapping[str, str]

    @property
    def limits(self) -> MemorySettings:
        """Return what the store says about memory."""
        return MemorySettings.from_mapping({name: self.values[name] for name in MEMORY_SECTIONS})

    @property
    def state_folder(self) -> Path:
        """Return the folder of what this machine is in the middle of."""
        return self.memory_folder / ".memkit" / "state"

    def make_store(self) -> None:
        """Give a memory folder of its own the project's ``memkit.yaml``, so that memkit's commands work on it."""
        manifest = self.memory_folder / MANIFEST
        if not manifest.exists():
            self.memory_folder.mkdir(parents=True, exist_ok=True)
            # An installed agent has no project around it, and brings the file along.
            own = PROJECT_FOLDER / MANIFEST
            shutil.copyfile(own if own.is_file() else COMPILED / MANIFEST, manifest)


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of this process; the environment wins over the file ``.env`` in the working directory."""
    found = os.environ if environment is None else environment
    variables = {**dotenv(Path(".env")), **found}
    values = compiled("settings.json", dict)
    if tokens := variables.get("CONTEXT_MAX_TOKENS"):
        values["context"] = {**values["context"], "max_tokens": math.ceil(number("CONTEXT_MAX_TOKENS", tokens))}
    return Settings(
        values=values,
        policies=tuple(compiled("policies.json", list)),
        domains=tuple(compiled("domains.json", list)),
        tools=frozenset(values["agent"]["tools"]),
        memory_folder=memory_folder(variables.get("MEMORY_DIR", "")),
        model=variables.get("MODEL") or DEFAULT_MODEL,
        context=host_context(variables.get("AGENT_CONTEXT", "")),
        timeout=number("MODEL_TIMEOUT", variables.get("MODEL_TIMEOUT") or "60"),
        environment=variables,
    )


def memory_folder(named: str) -> Path:
    """Return the folder that ``MEMORY_DIR`` names, else the project; an agent installed apart from that has no default."""
    if not named and not (PROJECT_FOLDER / MANIFEST).is_file():
        raise EnvironmentFault(
            "MEMORY_DIR is not set, and this agent was installed without a project around it. Name a folder."
        )
    return Path(named or PROJECT_FOLDER).expanduser().resolve()


def compiled(name: str, kind: type) -> Any:
    """Return a file that was compiled from the store; raises ``EnvironmentFault`` where it is damaged."""
    path = COMPILED / name
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EnvironmentFault(f"{path} cannot be used: {error}. Render the project again.") from error
    if not isinstance(content, kind):
        # An empty object in the place of the policies would otherwise be a set without any.
        raise EnvironmentFault(f"{path} cannot be used: it does not hold a {kind.__name__}. Render the project again.")
    return content


def host_context(text: str) -> dict[str, Any]:
    """Return the JSON object in ``AGENT_CONTEXT``; anything else is an error, because policies rely on it."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise EnvironmentFault(f"AGENT_CONTEXT is no JSON: {error}.") from error
    if not isinstance(value, dict):
        raise EnvironmentFault('AGENT_CONTEXT must be a JSON object such as {"env": "test"}.')
    return value


def number(name: str, text: str) -> float:
    """Return the positive number that a variable holds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise EnvironmentFault(f"{name}={text!r} is not a positive number.")
    return value


def dotenv(path: Path) -> dict[str, str]:
    """Return the variables in a file of ``NAME=value`` lines; a missing file, or a folder of that name, holds none."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (FileNotFoundError, IsADirectoryError):
        return {}
    except UnicodeDecodeError as error:
        raise EnvironmentFault(f"{path} is no UTF-8 text (byte {error.start + 1}). Write it anew.") from error
    pairs = (
        line.removeprefix("export ").split("=", 1) for line in map(str.strip, lines) if "=" in line and line[0] != "#"
    )
    return {name.strip(): unquoted(value.strip()) for name, value in pairs}


def unquoted(value: str) -> str:
    """Return ``value`` without the quotes around it, and without a comment behind it.

    >>> unquoted('"a b"'), unquoted("a'b"), unquoted("'#a' # b"), unquoted("a#b # c")
    ('a b', "a'b", '#a', 'a#b')
    """
    quoted = _QUOTED.fullmatch(value)
    return quoted["text"] if quoted else _COMMENT.sub("", value)
