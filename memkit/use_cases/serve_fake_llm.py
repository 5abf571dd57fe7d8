"""Serve a scripted model until it is interrupted, or while a program runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, Self

from memkit.errors import EnvironmentFault, UsageError
from memkit.store.yaml import load_yaml

ENDING = (signal.SIGTERM, signal.SIGHUP)
PATIENCE = 10.0
"""Seconds that an interrupted program has to end by itself."""
SIGNALLED = 128
"""Plus the number of a signal: the exit code of a program ended by it, as in shells."""


class Server(Protocol):
    """A model server that is created but not yet serving."""

    @property
    def base_url(self) -> str:
        """Return the base URL for clients."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the variables by which clients find the server."""

    def start(self) -> Self:
        """Serve in a thread."""

    def serve_forever(self) -> None:
        """Serve until interrupted."""

    def stop(self) -> None:
        """Free the port."""


def serve_fake_llm(
    script: Path,
    *,
    open_server: Callable[[Any], Server],
    announce: Callable[[Server], None],
    command: Sequence[str] = (),
    output: int | None = None,
) -> int:
    """Serve the script in ``script``, a YAML or JSON file, from a server that ``open_server`` creates.

    Args:
        script: The file.
        open_server: Creates the server from the file's content.
        announce: Receives the server as soon as clients can connect.
        command: A program to run against the server, which it finds through its environment; the server ends with it.
        output: Where the program prints its result; None for the same place as this process.

    Returns:
        The exit code of ``command``; without one the server runs until it is interrupted.

    Raises:
        UsageError: The script cannot be read, or the program cannot be started.
        EnvironmentFault: The port is taken.
    """
    answers = _read(script)
    try:
        server = open_server(answers)
    except OSError as problem:
        raise EnvironmentFault(f"The server cannot listen: {problem.strerror}. Choose another --port.") from problem
    try:
        announce(server)
        if command:
            return _run(command, server.start(), output)
        server.serve_forever()
    finally:
        server.stop()
    return 0


def _run(command: Sequence[str], server: Server, output: int | None) -> int:
    """Run ``command`` to its end and return its exit code; an interrupt ends it as well."""
    try:
        program = subprocess.Popen(command, env={**os.environ, **server.environment}, stdout=output)
    except OSError as problem:
        raise UsageError(f"{command[0]} cannot be started: {problem.strerror}.") from problem
    before = {number: signal.signal(number, _interrupted) for number in ENDING}
    try:
        code = program.wait()
    except KeyboardInterrupt:
        program.terminate()  # Ctrl-C alone would only stop a conversation's answer
        with suppress(subprocess.TimeoutExpired):
            program.wait(PATIENCE)
        raise
    finally:
        program.kill()
        program.wait()
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else SIGNALLED - code


def _interrupted(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _read(script: Path) -> Any:
    """Return the content of the script file."""
    if script.suffix != ".json":
        return load_yaml(script).data
    try:
        return json.loads(script.read_text(encoding="utf-8"))
    except OSError as problem:
        raise UsageError(f"{script} cannot be read: {problem.strerror}.", path=str(script)) from problem
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"{script} is not JSON: {problem}.", path=str(script)) from problem
