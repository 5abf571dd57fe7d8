"""The program ``memkit`` in processes of its own, without loading memkit and the libraries of its servers in each.

``program()`` is a file to run in the place of ``python -m memkit``, by a test, a shell or somebody else's client. Each
run is a process with arguments, environment, folder and streams of its own; it is forked from one that has loaded
memkit and never ran it. Signals reach it, and its exit code is handed on. What one run had to load, and the patterns
that it had to compile, the next is forked with, as the runs of a generated project are in
``memkit.runtime.testing.trial.processes``.

It is for tests of what a program does. How it starts, and what it finds on its way, is tested with the real one.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import functools
import gc
import importlib
import json
import marshal
import os
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterable
from io import BufferedReader, BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import NoReturn

ROOT = Path(__file__).parents[1]
STARTER = """
import _signal, _socket, marshal, os, sys

passed_on = {_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP}
_signal.pthread_sigmask(_signal.SIG_BLOCK, passed_on)  # until it is known to whom
source = _socket.socket(_socket.AF_UNIX)
source.connect(sys.argv[1])
mask = os.umask(0)
order = marshal.dumps((sys.argv[2:], os.getcwd(), dict(os.environ), mask))
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
source.sendmsg([len(order).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
source.sendall(order)
program = int.from_bytes(source.recv(4), "big")
for number in passed_on:
    if _signal.getsignal(number) != _signal.SIG_IGN:
        _signal.signal(number, lambda number, frame: os.kill(program, number))
_signal.pthread_sigmask(_signal.SIG_UNBLOCK, passed_on)
nothing = os.open(os.devnull, os.O_RDWR)
for number in (0, 1, 2):
    os.dup2(nothing, number)  # who reads what the program writes sees it end with the program
code = int.from_bytes(source.recv(4) or b"\\0\\0\\0\\1", "big", signed=True)
if code < 0:
    _signal.signal(-code, _signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""
"""What a run starts with, in a bare interpreter: it asks for a fork, stands for it, and ends as it ends."""
LOADED = ("memkit.cli.main", "memkit.serving.server", "memkit.serving.http", "memkit.serving.page.site")
"""What is there from the start."""


@functools.cache
def program() -> Path:
    """Return the file ``memkit`` to run, which works until this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="memkit-"))  # short: a socket's path may have a hundred characters
    (folder / "starter.py").write_text(STARTER, encoding="utf-8")
    words = [sys.executable, "-IS", str(folder / "starter.py"), str(folder / "asked")]
    (folder / "memkit").write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    (folder / "memkit").chmod(0o700)
    source = subprocess.Popen(
        [sys.executable, "-P", __file__, str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    atexit.register(source.communicate)
    assert source.stdout is not None
    assert source.stdout.readline() == "ready\n"
    return folder / "memkit"


def take_orders(folder: Path) -> None:
    """Fork a process for each run that is asked for, until standard input ends; return in such a process alone."""
    _load(LOADED)
    keepers: set[int] = set()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(folder / "asked"))
        door.listen(100)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            gc.freeze()
            for given in select.select([door, sys.stdin], [], [])[0]:
                if given is sys.stdin:
                    for keeper in keepers:
                        os.kill(keeper, signal.SIGTERM)
                    _forget_ended(keepers, wait=True)
                    shutil.rmtree(folder)
                    os._exit(0)
                asked, _ = door.accept()
                keeper = os.fork()
                if keeper == 0:
                    door.close()
                    _keep(asked, folder / "loaded")
                    return
                keepers.add(keeper)
                asked.close()
            _forget_ended(keepers, wait=False)
            if (loaded := folder / "loaded").exists():
                names, marks = json.loads(loaded.read_text(encoding="utf-8"))
                _load(names)
                _patterns().compile_patterns(marks)


def _forget_ended(keepers: set[int], *, wait: bool) -> None:
    """Take those that ended out of ``keepers``; their time now counts as the time of these tests."""
    while keepers:
        ended, _ = os.waitpid(-1, 0 if wait else os.WNOHANG)
        if not ended:
            return
        keepers.discard(ended)


def _load(names: Iterable[str]) -> None:
    for name in names:
        if name not in sys.modules:
            with contextlib.suppress(Exception):  # what is not installed, and what only another module can import
                importlib.import_module(name)


def _patterns() -> ModuleType:
    return sys.modules["memkit.runtime.memory.words.text"]


def _keep(asked: socket.socket, loaded: Path) -> None:
    """Fork the run, tell who asked how it ends, and end it where nobody asks any more; return in the run alone."""
    said, sent, _, _ = asked.recvmsg(4, socket.CMSG_SPACE(12))
    order = b""
    while len(order) < int.from_bytes(said, "big"):
        piece = asked.recv(1 << 20)
        if not piece:
            os._exit(0)  # who asked was ended before all was said
        order += piece
    streams = array.array("i", sent[0][2])
    over, running = os.pipe()
    run = os.fork()
    if run == 0:
        asked.close()
        os.close(over)
        _become(order, streams)
        atexit.register(_tell, loaded)
        return
    signal.signal(signal.SIGTERM, lambda *_: os.kill(run, signal.SIGKILL))  # the tests are over
    for number in (*streams, running):
        os.close(number)
    asked.sendall(run.to_bytes(4, "big"))
    if over not in select.select([asked, over], [], [])[0]:
        os.kill(run, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(run, 0)[1])
    with contextlib.suppress(OSError):
        asked.sendall(code.to_bytes(4, "big", signed=True))
    os._exit(0)


def _become(order: bytes, streams: Iterable[int]) -> None:
    """Make this process what the run was asked to be."""
    words, folder, environment, mask = marshal.loads(order)
    os.setsid()
    os.umask(mask)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, given in enumerate(streams):
        os.dup2(given, number)
        os.close(given)
    sys.stdin, sys.stdout, sys.stderr = _stream(0, "r"), _stream(1, "w"), _stream(2, "w")
    sys.stderr.reconfigure(errors="backslashreplace", line_buffering=True)
    sys.argv = ["memkit", *words]


def _stream(number: int, mode: str) -> TextIOWrapper:
    raw = FileIO(number, mode, closefd=False)
    return TextIOWrapper(BufferedReader(raw) if mode == "r" else BufferedWriter(raw), encoding="utf-8")


def _run() -> NoReturn:
    """Run the program as it is, and end as an interpreter does, but for the tidying up of what the fork came with."""
    from memkit.__main__ import main

    code: object = 1
    try:
        main()
    except SystemExit as left:
        code = left.code
    except BaseException:  # noqa: BLE001 - as an interpreter does with whatever nobody caught
        traceback.print_exc()
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else code is not None)


def _tell(loaded: Path) -> None:
    """Name what this run had to load beside memkit's own and its libraries' modules, and what it compiled."""
    own = f".{os.getpid()}"
    told = [list(sys.modules), _patterns().compiled_patterns()]
    loaded.with_suffix(own).write_text(json.dumps(told), encoding="utf-8")
    loaded.with_suffix(own).rename(loaded)


if __name__ == "__main__":
    take_orders(Path(sys.argv[1]))
    _run()
