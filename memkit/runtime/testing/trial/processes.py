"""New processes for a project's tests, without loading the SDK for seconds in each.

Run as a program in the project's folder, this module loads the agent without running it, and forks a process for
each order that it reads. So a run starts with nothing but the code: whatever it knows of an earlier run, it has from
the store. SDKs load parts of themselves and build their models on first use, and the gate then compiles its patterns;
what one run had to load, build or compile is already present in the next fork.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import ipaddress
import json
import os
import signal
import ssl
import subprocess
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from ...guard.match import compile_kinds
from ...host.command import conversation_of, run
from ...host.settings import Project, project_of
from ...memory.words.text import compile_patterns, compiled_patterns


class NoMemkit:
    """Blocks importing memkit: the project has to stand alone."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        """Raise ``ImportError`` for memkit and leave everything else to other finders."""
        if name.partition(".")[0] == "memkit":
            raise ImportError("memkit must not be needed here")


def stay_offline() -> None:
    """Block every connection that leaves this machine, and memkit, for the rest of the process."""
    sys.addaudithook(_watch)
    sys.meta_path.insert(0, NoMemkit())
    # Every client loads all certificates when it is created, which is slow, and nothing here uses TLS.
    ssl.SSLContext.load_verify_locations = _read_none  # type: ignore[method-assign]


def _read_none(*_: object, **__: object) -> None:
    """Load no certificates."""


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect" and not _is_local(arguments[1]):
        raise ConnectionRefusedError(f"The tests stay on this machine; somebody wanted {arguments[1]!r}.")
    if (
        event == "socket.getaddrinfo"
        and arguments[0] not in (None, "localhost", b"localhost")
        and not _is_loopback(arguments[0])
    ):
        raise ConnectionRefusedError(f"The tests ask no name server; somebody wanted {arguments[0]!r}.")


def _is_local(address: object) -> bool:
    return not isinstance(address, tuple) or _is_loopback(address[0])


def _is_loopback(host: object) -> bool:
    try:
        return ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return False


SECONDS = 60
"""The time limit of a run, in seconds."""
CRASHED = 70
MODULE = "memkit_runtime.testing.trial.processes"
"""The name under which a project imports this module."""


class Processes:
    """Runs the agent in separate processes; the process that they are forked from starts with the first."""

    def __init__(self, project: Path, environment: Mapping[str, str] | None = None) -> None:
        """Take the folder of a project, and the environment to fork from (default: that of this process)."""
        self._project = project
        self._environment = environment
        self._source: subprocess.Popen[str] | None = None

    def run(
        self, arguments: Sequence[str], folder: Path, compiled: Path, environment: Mapping[str, str]
    ) -> tuple[int, str, str]:
        """Run one command line in ``folder`` and return its exit code and output."""
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
        assert code, "The process that the agent is forked from ended; see its message above."
        printed, told = (Path(folder, name).read_text(encoding="utf-8") for name in ("printed", "told"))
        return int(code), printed, told

    def close(self) -> None:
        """End the process that the others are forked from."""
        if self._source is not None:
            self._source.communicate()

    def _started(self) -> subprocess.Popen[str]:
        if self._source is None:
            command = [sys.executable, "-c", f"from {MODULE} import serve; serve()"]
            self._source = subprocess.Popen(
                command,
                cwd=self._project,
                env=None if self._environment is None else dict(self._environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return self._source


def serve() -> None:
    """Load the agent, and run each order that is read in a fork of this process."""
    sys.path.insert(0, str(Path.cwd()))
    stay_offline()
    gc.disable()  # an SDK makes hundreds of thousands of objects that stay; collecting is a sixth of loading it
    project = project_of(importlib.import_module("agent"))
    conversation_of(project)
    compile_kinds()
    gc.enable()
    for line in sys.stdin:
        order = json.loads(line)
        imported = Path(order["folder"], "imported")
        imported.unlink(missing_ok=True)
        loaded, deferred = set(sys.modules), _deferred_models()
        gc.freeze()  # garbage collection in a fork would copy all of the loaded objects
        child = os.fork()
        if child == 0:
            _carry_out(order, project, loaded, deferred)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if imported.exists():
            names, marks, built = json.loads(imported.read_text(encoding="utf-8"))
            _load(names)
            compile_patterns(marks)
            for number in built:
                deferred[number].model_rebuild(raise_errors=False)
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


def _load(names: Iterable[str]) -> None:
    """Import the packages that a run imported, but nothing of the project itself."""
    for name in names:
        if name not in sys.modules:
            with contextlib.suppress(Exception):  # a module that only another module can import comes with that one
                importlib.import_module(name)


def _deferred_models() -> list[Any]:
    """Return the models of Pydantic, if an SDK has any, whose validation is built by the first process that needs it.

    OpenAI's SDK has hundreds of them, and those for one answer take as long as everything else in a run.
    """
    pydantic = sys.modules.get("pydantic")
    pending, found = [pydantic.BaseModel] if pydantic else [], []
    while pending:
        model = pending.pop()
        pending += model.__subclasses__()
        if not getattr(model, "__pydantic_complete__", True):
            found.append(model)
    return found


def _imported(project: Project, loaded: set[str]) -> list[str]:
    """Return the modules that this process had to load and that are not the project's own."""
    places = {name: getattr(sys.modules.get(name), "__file__", None) or "" for name in sys.modules.keys() - loaded}
    return [name for name, place in places.items() if place and not place.startswith(str(project.folder))]


def _carry_out(order: Mapping[str, Any], project: Project, loaded: set[str], deferred: Sequence[Any]) -> NoReturn:
    """Run the command line of ``order`` as specified, and end this process with its exit code."""
    signal.alarm(SECONDS)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    for number, name in enumerate((os.devnull, "printed", "told")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), number)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")
    code = CRASHED
    try:
        code = run(replace(project, compiled=Path(order["compiled"])), order["arguments"])
    finally:  # in no case may this return into the loop of the parent process
        if sys.exception() is not None:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        built = [number for number, model in enumerate(deferred) if model.__pydantic_complete__]
        told = [_imported(project, loaded), compiled_patterns(), built]
        Path("imported").write_text(json.dumps(told), encoding="utf-8")
        os._exit(code)
