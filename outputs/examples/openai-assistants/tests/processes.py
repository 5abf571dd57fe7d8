"""New processes for the tests, without waiting seconds for the SDK in each.

Run as a program this file loads the agent, never runs it, and forks a process for each order it reads. So a run starts
with nothing but the code: whatever it knows of an earlier run, it has from the store. SDKs load parts of themselves
when they are first used; what one run had to load, the next is forked with.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

PROJECT = Path(__file__).resolve().parent.parent
SECONDS = 60
"""How long a run may take before it is ended."""
CRASHED = 70


class Processes:
    """Runs the agent in processes of their own; what they are forked from starts with the first."""

    def __init__(self) -> None:
        self._source: subprocess.Popen[str] | None = None

    def run(
        self, arguments: Sequence[str], folder: Path, compiled: Path, environment: Mapping[str, str]
    ) -> tuple[int, str, str]:
        """Run one command line in ``folder`` and return its exit code and what it printed."""
        order = {
            "arguments": list(arguments),
            "folder": str(folder),
            "compiled": str(compiled),
            "environment": dict(environment),
        }
        source = self._started()
        assert source.stdin is not None and source.stdout is not None
        source.stdin.write(json.dumps(order) + "\n")
        source.stdin.flush()
        code = source.stdout.readline()
        assert code, "The process that the agent is forked from ended; its message stands above."
        printed, told = (Path(folder, name).read_text(encoding="utf-8") for name in ("printed", "told"))
        return int(code), printed, told

    def close(self) -> None:
        """End what the processes are forked from."""
        if self._source is not None:
            self._source.communicate()

    def _started(self) -> subprocess.Popen[str]:
        if self._source is None:
            command = [sys.executable, str(Path(__file__).resolve())]
            self._source = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self._source


def serve() -> None:
    """Load the agent, and run every order that is read in a fork of this process."""
    from agent.command import conversation_of_this_target

    conversation_of_this_target()
    for line in sys.stdin:
        order = json.loads(line)
        imported = Path(order["folder"], "imported")
        imported.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            carry_out(order)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if imported.exists():
            load(imported.read_text(encoding="utf-8").split())
        print(code, flush=True)


def load(names: Iterable[str]) -> None:
    """Import the packages that a run imported, but nothing of the project itself."""
    for name in names:
        if name not in sys.modules:
            with contextlib.suppress(Exception):  # what can only be imported by another module comes with that one
                importlib.import_module(name)


def imported() -> list[str]:
    """Return the modules of this process that are not the project's own."""
    places = {name: getattr(module, "__file__", None) or "" for name, module in sys.modules.copy().items()}
    return [name for name, place in places.items() if place and not place.startswith(str(PROJECT))]


def carry_out(order: Mapping[str, Any]) -> NoReturn:
    """Run the command line of ``order`` where and as it says, and end this process with the exit code."""
    import agent.settings
    from agent.command import main

    signal.alarm(SECONDS)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    for number, name in enumerate((os.devnull, "printed", "told")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), number)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")
    agent.settings.COMPILED = Path(order["compiled"])
    code = CRASHED
    try:
        code = main(order["arguments"])
    finally:  # whatever happened, nothing may return into the loop of the process that this one was forked from
        if sys.exception() is not None:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        Path("imported").write_text("\n".join(imported()), encoding="utf-8")
        os._exit(code)


if __name__ == "__main__":
    sys.path[0] = str(PROJECT)
    from tests.offline import stay_offline

    stay_offline()
    serve()
