"""An evaluator: trusted code that receives a path to import, where a proxy of the confined program is."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.runtime.host.terminal import one_line

from .bare.client import CallLine, Failure, failure, read_failure
from .bare.codec import Ended, Late, Malformed, TooLarge, framed, receive, send
from .bare.evaluations import MOST
from .bare.proxy import read_answers
from .interface import Evaluation
from .sandbox import BARE, Sandbox, private_folder, source_of

PACKAGE = "_memkit_bare"
"""The name of ``bare`` in processes without memkit."""
_IMPORT = """\
import importlib.util as _importing, sys as _sys
if {package!r} not in _sys.modules:
    _spec = _importing.spec_from_file_location({package!r}, {init!r}, submodule_search_locations=[{folder!r}])
    _sys.modules[{package!r}] = _importing.module_from_spec(_spec)
"""
_PROXY = '''\
"""Stands for a program that runs confined, in a process of its own; memkit's sandbox made it for one evaluation."""
{preamble}
from {package}.proxy import connect as _connect
_connect(
    locals(), {address!r}, name=__name__, file=globals().get("__file__", "program.py"),
    source={source!r}, seed={seed!r}, events={events!r}, answers={answers!r},
)
'''
_MOST_AT_A_TIME = 64
_MOST_EVENTS = 20
_KEPT = 32 * 1024
"""Bytes kept of the beginning, and of the end, of an evaluation's output."""
_KILLED = 5.0


class Evaluator(AbstractContextManager["Evaluator"]):
    """An evaluator file, imported once; each evaluation is a process group with a time limit. Threads may share one."""

    def __init__(self, file: Path, sandbox: Sandbox | None, *, start: float = 60.0) -> None:
        """Import the evaluator.

        Args:
            file: A Python file with ``evaluate(path)`` and, optionally, stages beside it.
            sandbox: Where programs run. None puts the program itself at the path, so that it runs in the evaluator's
                process with the evaluator's rights: the choice of a caller who names it unsafe.
            start: Time limit in seconds for importing.

        Raises:
            UsageError: If the file cannot be imported in time, has no ``evaluate``, or is granted to programs.
        """
        self._file, self._sandbox, self._start = file.resolve(), sandbox, start
        _require_out_of_reach(self._file, sandbox)
        self._folder = private_folder()
        self._programs = self._folder / "programs"
        self._programs.mkdir()
        self._finish = weakref.finalize(self, _removed, self._folder, os.getpid())
        self._numbers = itertools.count(1)
        self._starting = threading.Lock()
        try:
            self._host = _Host(self._file, self._folder / "socket", start)
        except BaseException:
            self._finish()
            raise
        if not self.stages:
            self.close()
            raise UsageError(f"{file} has no function evaluate(path), so it is not an evaluator.", path=str(file))

    @property
    def stages(self) -> tuple[str, ...]:
        """Return the names of the evaluating functions."""
        return self._host.stages

    def evaluate(
        self, program: str | Path, *, stage: str = "evaluate", timeout: float = 60.0, seed: int = 0
    ) -> Evaluation:
        """Return the result of the evaluator's ``stage`` for ``program`` (source text, or a file).

        Evaluator and program are seeded with ``seed`` if they use ``random`` or ``numpy.random``. Errors in
        either are part of the result.

        Raises:
            UsageError: If the evaluator has no such stage.
        """
        if stage not in self.stages:
            raise UsageError(f"{self._file} has no function {stage}(); it has {', '.join(self.stages)}.")
        if not timeout > 0:
            raise UsageError(f"An evaluation with a timeout of {timeout:g} s cannot be run; it must be above 0.")
        source = source_of(program)
        number, name = next(self._numbers), program if isinstance(program, Path) else Path("program.py")
        path = self._programs / f"{name.stem}_{number}{name.suffix}"  # a folder for each would cost milliseconds
        noted, answers = self._programs / f".{number}.events", self._programs / f".{number}.answers"
        path.write_text(self._laid(source, seed, noted, answers), encoding="utf-8")
        started = time.monotonic()
        try:
            answer, printed = self._asked({"stage": stage, "path": str(path), "seed": seed}, timeout)
            events, alike = _events(noted), _alike(answers)
        finally:
            for file in (path, noted, answers):
                file.unlink(missing_ok=True)
        return replace(
            _evaluation(answer, events, printed, time.monotonic() - started), constant=alike[0], varied=alike[1]
        )

    def _laid(self, source: str, seed: int, events: Path, answers: Path) -> str:
        if self._sandbox is None:
            return source
        address = self._sandbox.address
        fields = (address.path, address.wall, address.output, address.cpu)
        noted = {"events": str(events), "answers": str(answers)}
        return _PROXY.format(preamble=_preamble(), package=PACKAGE, address=fields, source=source, seed=seed, **noted)

    def _asked(self, request: dict[str, Any], timeout: float) -> tuple[Any, str]:
        """Return the answer of an evaluation (or its failure), and its output."""
        with self._starting:
            if not self._host.alive():  # an evaluation has killed it
                self._host.close()
                self._host = _Host(self._file, self._folder / "socket", self._start)
            host = self._host
        return _Conversation(host.path, request, time.monotonic() + timeout).held(
            f"{request['stage']}() did not return within {timeout:g} s"
        )

    def close(self) -> None:
        """End the evaluator and all evaluations in progress."""
        self._host.close()
        self._finish()

    def __exit__(self, *_exception: object) -> None:
        self.close()


class _Host:
    """The process that has imported the evaluator, and from which evaluations are forked."""

    def __init__(self, file: Path, path: Path, start: float) -> None:
        self.path = str(path)
        path.unlink(missing_ok=True)
        self._control, control = socket.socketpair()
        self._process = _started(path, control)
        try:
            self.stages = self._greeted(file, start)
        except BaseException:
            self.close(patience=0.0)
            raise

    def _greeted(self, file: Path, start: float) -> tuple[str, ...]:
        deadline, folder = time.monotonic() + start, str(Path(self.path).parent)
        try:
            send(self._control, framed({"file": str(file), "folder": folder, "most": _MOST_AT_A_TIME}), deadline)
            told = receive(self._control, deadline, MOST)
        except Late:
            raise _unusable(file, f"importing it takes more than {start:g} s.") from None
        except (Ended, TooLarge, Malformed):
            raise _unusable(file, "importing it ends the process.") from None
        if told["failure"] is not None:
            raise _unusable(file, one_line(read_failure(told["failure"]).reason, 300))
        return tuple(told["stages"])

    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self, patience: float = _KILLED) -> None:
        """End the host, which ends its evaluations, and kill what remains after ``patience`` seconds."""
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _unusable(file: Path, why: str) -> UsageError:
    return UsageError(f"{file} cannot be used as an evaluator: {why}", path=str(file))


def _started(path: Path, control: socket.socket) -> subprocess.Popen[bytes]:
    """Start the host in the caller's own interpreter and environment: the evaluator is the caller's code."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with listener, control:
        listener.bind(str(path))
        listener.listen(128)
        boot = f"{_preamble()}\nfrom {PACKAGE}.evaluations import main\nmain({listener.fileno()}, {control.fileno()})"
        return subprocess.Popen(
            [sys.executable, "-P", "-c", boot],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PYTHONHASHSEED": "0", **os.environ},
            pass_fds=(listener.fileno(), control.fileno()),
            start_new_session=True,
        )


def _preamble() -> str:
    return _IMPORT.format(package=PACKAGE, init=str(BARE / "__init__.py"), folder=str(BARE))


@dataclass
class _Printed:
    """The beginning and the end of a text of any length."""

    head: bytes = b""
    tail: bytes = b""
    dropped: int = 0

    def add(self, data: bytes) -> None:
        room = _KEPT - len(self.head)
        self.head += data[:room]
        tail = self.tail + data[room:]
        self.dropped += max(len(tail) - _KEPT, 0)
        self.tail = tail[-_KEPT:]

    def __str__(self) -> str:
        gap = f"\n… {self.dropped} bytes …\n".encode() if self.dropped else b""
        return (self.head + gap + self.tail).decode("utf-8", "replace")


class _Conversation:
    """One evaluation: a request, an answer or its absence, and the output meanwhile."""

    def __init__(self, path: str, request: dict[str, Any], deadline: float) -> None:
        self._path, self._request, self._deadline = path, request, deadline
        self._printed = _Printed()

    def held(self, late: str) -> tuple[Any, str]:
        """Return the answer, or the failure; ``late`` is the message if there is neither in time."""
        try:
            line = CallLine(self._path, self._deadline)
        except OSError as error:
            return failure("evaluator", f"the evaluator does not answer: {error.strerror or error}"), ""
        read, write = os.pipe()
        try:
            answer = self._answer(line, read, write, late)
            self._drain(read, 0)
        finally:
            line.close()
            os.close(read)
        return answer, str(self._printed)

    def _answer(self, line: CallLine, read: int, write: int, late: str) -> Any:
        try:
            try:
                socket.send_fds(line.stream, [b"o"], [write])
            finally:
                os.close(write)
            send(line.stream, framed(self._request), self._deadline)
            self._wait(line, read)
            answer = receive(line.stream, self._deadline, MOST)
        except Late:
            line.let_go(_KILLED)
            return failure("time", late)
        except (TooLarge, Malformed) as error:
            return failure("evaluator", f"the evaluator's answer cannot be read: {error}")
        except (Ended, OSError):
            return _ended(line)
        line.end()  # so that whatever it has started is gone as well
        return answer

    def _wait(self, line: CallLine, read: int) -> None:
        """Read output until there is an answer, or an end."""
        poll = select.poll()
        poll.register(line.stream, select.POLLIN)
        poll.register(read, select.POLLIN)
        while True:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise Late
            ready = {descriptor for descriptor, _event in poll.poll(left * 1000)}
            if read in ready and not self._drain(read, 1):
                poll.unregister(read)
            if line.stream.fileno() in ready:
                return

    def _drain(self, read: int, most: int) -> bool:
        """Read available output, ``most`` portions or, if 0, all; return False when there will be no more."""
        os.set_blocking(read, False)
        for _ in itertools.count() if not most else range(most):
            try:
                data = os.read(read, 1 << 16)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._printed.add(data)
        return True


def _ended(line: CallLine) -> Failure:
    end = line.end()
    if end is None:
        return failure("evaluator", "the evaluator ended the process that it was started from")
    code = os.waitstatus_to_exitcode(end[0])
    how = f"ended its process, with exit code {code}" if code >= 0 else f"was killed by signal {-code}"
    return failure("evaluator", f"the evaluator {how}, before it returned")


def _events(file: Path) -> tuple[Failure, ...]:
    """Return the first few errors between evaluator and program."""
    try:
        lines = file.read_bytes().splitlines()[:_MOST_EVENTS]
    except FileNotFoundError:
        return ()
    return tuple(read_failure(json.loads(line)) for line in lines)


def _alike(file: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    try:
        return read_answers(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return (), ()


def _evaluation(answer: Any, events: tuple[Failure, ...], printed: str, seconds: float) -> Evaluation:
    if isinstance(answer, Failure):
        return Evaluation(None, failure=answer, events=events, printed=printed, seconds=seconds)
    if "failure" in answer:
        why = read_failure(answer["failure"])
        return Evaluation(None, failure=why, events=events, printed=printed, seconds=seconds)
    return Evaluation(answer["metrics"], answer["artifacts"], None, events, printed, seconds)


def _require_out_of_reach(file: Path, sandbox: Sandbox | None) -> None:
    """Raise if programs may read the evaluator that judges them."""
    if not file.is_file():
        raise UsageError(f"There is no evaluator at {file}.", path=str(file))
    for granted in sandbox.grants.read if sandbox is not None else ():
        if file.is_relative_to(granted.resolve()):
            raise UsageError(
                f"The task grants {granted}, which contains its evaluator: programs could read how it judges."
            )


def _removed(folder: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
