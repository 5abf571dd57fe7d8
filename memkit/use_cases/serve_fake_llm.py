"""Serve a scripted model until somebody interrupts it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from memkit.errors import EnvironmentFault, UsageError
from memkit.store.yaml import load_yaml


class Server(Protocol):
    """A model server that is made but not yet serving."""

    @property
    def base_url(self) -> str:
        """Return what a client takes as its base URL."""
        ...

    def serve_forever(self) -> None:
        """Serve until interrupted."""
        ...

    def stop(self) -> None:
        """Free the port."""
        ...


def serve_fake_llm(script: Path, *, open_server: Callable[[Any], Server], announce: Callable[[str], None]) -> None:
    """Serve the script in ``script``, a YAML or JSON file, from a server that ``open_server`` makes.

    ``announce`` gets the base URL as soon as clients can connect.

    Raises:
        UsageError: The script cannot be read.
        EnvironmentFault: The port is taken.
    """
    answers = _read(script)
    try:
        server = open_server(answers)
    except OSError as problem:
        raise EnvironmentFault(f"The server cannot listen: {problem.strerror}. Choose another --port.") from problem
    try:
        announce(server.base_url)
        server.serve_forever()
    finally:
        server.stop()


def _read(script: Path) -> Any:
    """Return what the script file holds."""
    if script.suffix != ".json":
        return load_yaml(script).data
    try:
        return json.loads(script.read_text(encoding="utf-8"))
    except OSError as problem:
        raise UsageError(f"{script} cannot be read: {problem.strerror}.", path=str(script)) from problem
    except ValueError as problem:
        raise UsageError(f"{script} is not JSON: {problem}.", path=str(script)) from problem
