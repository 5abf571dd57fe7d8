"""Processes that have loaded an adapter and fork a worker for each start: loading takes longer than most questions.

Only adapters of this environment are used so. They keep no state when they are loaded, and what they load later is
loaded once by a parent, when a worker has reported it at its end. Of two parents one forks a subject's first start,
the other its next, so that nothing that is the same only within one process outlives a restart, such as a hash.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[1]


def variables_in(folder: Path) -> dict[str, str]:
    """Return a system's variables: nobody's keys, and every folder of a user inside ``folder``."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    (folder / "tmp").mkdir(exist_ok=True)
    named = {"HOME": home, "XDG_CONFIG_HOME": home / ".config", "XDG_CACHE_HOME": home / ".cache",
             "XDG_DATA_HOME": home / ".local/share", "XDG_STATE_HOME": home / ".local/state",
             "TMPDIR": folder / "tmp"}  # fmt: skip
    return {
        "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_CONFIG_NOSYSTEM": "1", **{name: str(path) for name, path in named.items()},
    }  # fmt: skip


class Forked:
    """A worker forked by a parent, with the used part of ``Popen``'s interface."""

    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self._end = os.pidfd_open(pid)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it has ended; raise ``TimeoutExpired`` otherwise."""
        ended = select.poll()
        ended.register(self._end, select.POLLIN)
        if not ended.poll(None if timeout is None else 1000 * timeout):
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        os.close(self._end)


class Parent:
    """A process that loaded one adapter; it ends with this one."""

    def __init__(self, adapter: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="closure-parent-"))
        self._asking, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._news: list[str] = []
        # In a session of its own: what ends a run, Ctrl-C or a supervisor, first lets the current question be answered.
        with its, (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "closure.worker", adapter, str(self._folder), str(its.fileno())],
                pass_fds=[its.fileno()], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._folder,
                env=variables_in(self._folder), start_new_session=True,
            )  # fmt: skip
        atexit.register(self._finish)

    def fork(self, folder: Path, variables: Mapping[str, str], report: Path | None, log: IO[bytes]) -> Forked:
        """Return a new worker in ``folder``; with ``report`` it has no network and its requests for one go there."""
        asked, stdin = os.pipe()
        stdout, answers = os.pipe()
        try:
            with self._lock:
                request = {"folder": str(folder), "variables": dict(variables), "report": str(report or "")}
                news, self._news = self._news, []
                message = json.dumps({**request, "modules": news}).encode()
                socket.send_fds(self._asking, [message], [asked, answers, log.fileno()])
                if not (said := self._asking.recv(64)):
                    raise RuntimeError(f"who forks workers ended: {(self._folder / 'log').read_text()[-300:]}")
                return Forked(int(said), os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb", buffering=0))
        finally:
            os.close(asked)
            os.close(answers)

    def learn(self, modules: Iterable[str]) -> None:
        """Let it load what a worker had to load, before it forks the next one."""
        with self._lock:
            self._news += [name for name in modules if name not in self._known]
            self._known.update(modules)

    def _finish(self) -> None:
        self._asking.close()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


_parents: dict[tuple[str, int], Parent] = {}
_lock = threading.Lock()


def is_possible() -> bool:
    """Return whether this machine reports the end of a process that is another one's child."""
    return hasattr(os, "pidfd_open")


def parent_of(adapter: str, start: int) -> Parent:
    """Return the parent for a subject's start number ``start``."""
    with _lock:
        key = adapter, start % 2
        if key not in _parents:
            _parents[key] = Parent(adapter)
        return _parents[key]
