"""A system under test: started in its own environment and folder, without a network, ended when it hangs."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from closure import nursery
from closure.interface import CannotError
from closure.nursery import Forked, Parent, variables_in
from tests.proof.enclosure import asked_for, enclosed, is_possible

PATIENCE = 120.0
"""Time limit in seconds of one call on an otherwise idle machine, after which the system counts as hanging."""
SLOWEST = 5.0
HUNG = "it hung"


def on_this_machine(seconds: float) -> float:
    """Return the equivalent time under the present load: a process that waits for a processor does not hang."""
    return seconds * min(SLOWEST, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


class SystemFailedError(Exception):
    """The system raised, crashed or hung; the words say which. The cell is then ``fail``."""


class Subject:
    """A system in a folder of its own, running or not; ``call`` starts it."""

    def __init__(self, adapter: str, python: Path, variables: dict[str, str] | None = None) -> None:
        self.top = Path(tempfile.mkdtemp(prefix="closure-"))
        self.folder = self.top / "memory"
        self.folder.mkdir()
        self.asked: list[str] = []
        """Places outside the machine that it wanted to reach."""
        self.outside: list[str] = []
        """Paths outside its folder that it opened for writing."""
        self._adapter = adapter
        self._python = python
        self.variables = dict(variables or {})
        """Additional variables of its environment, from its next start on."""
        self.server = "CLOSURE_POSTGRES" in self.variables
        """Whether a part of its data is in a server, and not in its folder."""
        self.patience = float("inf")
        """Seconds after which nothing more is asked of it."""
        self._began = time.monotonic()
        self.disk = 0
        """Megabytes of its own disk, which is deleted when it ends; 0 for this machine's disk."""
        self._running: subprocess.Popen[bytes] | Forked | None = None
        self._parent: Parent | None = None
        self._starts = 0
        self._read = b""
        self._reports: list[Path] = []
        self.pid = 0

    def command(self) -> list[str]:
        """Return the command line of the worker."""
        return [str(self._python), "-m", "closure.worker", self._adapter, str(self.folder)]

    def environment(self) -> dict[str, str]:
        """Return its variables."""
        return {**variables_in(self.folder), **self.variables}

    def start(self) -> None:
        """Start the worker and wait until its adapter is loaded."""
        self._read = b""
        self._running = self.process()
        self.pid = self._answer(PATIENCE)["ready"]

    def process(self) -> subprocess.Popen[bytes] | Forked:
        """Return a new worker on the folder, that of ``call`` or one beside it, in a session of its own."""
        report = self.top / f"asked-{len(self._reports)}.json" if is_possible() else None
        self._reports += [report] if report else []
        # A preloaded library and a separate disk require a new process.
        is_forked = self._python == Path(sys.executable) and "LD_PRELOAD" not in self.variables and not self.disk
        with (self.top / "log").open("ab") as log:
            if is_forked and nursery.is_possible():
                self._starts += 1
                self._parent = nursery.parent_of(self._adapter, self._starts)
                return self._parent.fork(self.folder, self.environment(), report, log)
            command: list[str] = self.command()
            if self.disk:
                mounted = 'mount -t tmpfs -o size="$0"m tmpfs "$1" && cd "$1" && mkdir home tmp && shift && exec "$@"'
                command = ["unshare", "-rm", "sh", "-c", mounted, str(self.disk), str(self.folder), *command]
            return subprocess.Popen(
                enclosed(command, report) if report else command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, cwd=self.folder, env=self.environment(), start_new_session=True,
            )  # fmt: skip

    @property
    def is_running(self) -> bool:
        """Return whether it was started and has not ended since."""
        return self._running is not None

    def call(self, what: str, within: float = PATIENCE, **given: Any) -> Any:
        """Return the system's answer.

        Raises:
            CannotError: It has no way to do that, or has used all of its time.
            SystemFailedError: It raised, crashed, or took longer than ``within`` seconds.
        """
        self.send(what, **given)
        return self._answer(within).get("value")

    def send(self, what: str, **given: Any) -> None:
        """Ask without waiting for the answer."""
        if time.monotonic() - self._began > self.patience:
            raise CannotError("it was stopped, since it takes longer than the five minutes that a cell has here")
        if self._running is None:
            self.start()
        assert self._running and self._running.stdin
        try:
            self._running.stdin.write(json.dumps({"call": what, "given": given}).encode() + b"\n")
            self._running.stdin.flush()
        except BrokenPipeError:
            raise SystemFailedError(f"it ended by itself: {self._last_words()}") from None

    def line(self, within: float) -> dict[str, Any]:
        """Return the next line of its output, unchanged."""
        assert self._running and self._running.stdout
        end = time.monotonic() + on_this_machine(within)
        with selectors.DefaultSelector() as ready:
            ready.register(self._running.stdout, selectors.EVENT_READ)
            while b"\n" not in self._read:
                left = end - time.monotonic()
                if left <= 0 or not ready.select(left):
                    self.kill()
                    raise SystemFailedError(f"{HUNG}: no answer within {within:.0f} seconds")
                piece = os.read(self._running.stdout.fileno(), 1 << 16)
                if not piece:
                    self.kill()
                    raise SystemFailedError(f"it ended by itself: {self._last_words()}")
                self._read += piece
        first, _, self._read = self._read.partition(b"\n")
        said: dict[str, Any] = json.loads(first)
        return said

    def _answer(self, within: float) -> dict[str, Any]:
        said = self.line(within)
        self.outside += [path for path in said.get("outside", ()) if path not in self.outside]
        if "cannot" in said:
            raise CannotError(said["cannot"])
        if "error" in said:
            raise SystemFailedError(said["error"].replace(str(self.folder), "FOLDER"))
        return said

    def restart(self) -> None:
        """End it normally; the next call starts it again on the same folder."""
        if self._running is not None:
            self.send("close")
            modules = self._answer(PATIENCE).get("modules", ())
            if self._parent:
                self._parent.learn(modules)
            self._end()

    def _end(self) -> None:
        if self._running is None:
            return
        assert self._running.stdin and self._running.stdout
        self._running.stdin.close()
        try:
            self._running.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
            return
        # Processes that it started and left running would serve nobody.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._running.pid, signal.SIGKILL)
        self._forget_process()

    def kill(self) -> None:
        """Kill the worker and its child processes immediately."""
        if self._running is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._running.pid, signal.SIGKILL)
        self._running.wait()
        self._forget_process()

    def _forget_process(self) -> None:
        assert self._running and self._running.stdout and self._running.stdin
        self._running.stdout.close()
        if not self._running.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self._running.stdin.close()
        self._running = None
        for report in self._reports:
            if report.exists():
                self.asked += [place for place in asked_for(report) if place not in self.asked]

    def _last_words(self) -> str:
        lines = (self.top / "log").read_text(errors="replace").strip().splitlines()
        return (lines[-1] if lines else "without a word")[:200]

    def __enter__(self) -> Self:
        """Return the subject, which starts with the first call."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it and delete its folder."""
        self._end()
        shutil.rmtree(self.top, ignore_errors=True)
