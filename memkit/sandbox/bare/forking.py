"""A forking server: each connection gets its own process, which ends with the connection or earlier.

The process communicates over the connection. Its end is reported on a pipe that it never sees, passed to the caller as
the greeting; the caller's end of that pipe is the leash: when it is closed, for any reason, the process is killed.

A fork takes about as long as a small program runs, so one process is forked ahead and waits for the next connection.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import select
import signal
import socket
import struct
from collections.abc import Callable, Iterable
from typing import NamedTuple, NoReturn

from .system import die_with_parent

END = struct.Struct("<idq")
"""The report of an ended process: its wait status, seconds of processor time, peak size in bytes."""
GREETING = b"+"
"""Accompanies the pipe; sent before a process has the connection, so that its messages cannot come first."""


class _Spare(NamedTuple):
    """A process waiting for its connection."""

    child: int
    line: socket.socket
    """The socket that passes the connection to it; when this closes instead, the process ends."""


class ForkServer:
    """Accepts connections on ``listener`` until ``control`` is closed, at most ``most`` at a time."""

    def __init__(
        self,
        listener: socket.socket,
        control: socket.socket,
        body: Callable[[socket.socket], None],
        *,
        most: int,
        groups: bool,
        kept: Iterable[int] | None = None,
    ) -> None:
        """Set up.

        Args:
            listener: The socket that callers connect to.
            control: The socket whose end ends the server.
            body: What a process does with its connection.
            most: The most processes at a time; further callers wait.
            groups: Whether processes lead groups of their own that are killed as a whole.
            kept: The only descriptors besides standard ones and the connection that a process inherits; all if None.
        """
        self._listener, self._control, self._body = listener, control, body
        self._most, self._groups = most, groups
        self._kept = None if kept is None else sorted(kept)
        self._leashes: dict[int, int] = {}
        """Process id → this side of its pipe."""
        self._spare: _Spare | None = None

    def run(self) -> None:
        """Serve until the control stream ends, then kill the remaining processes."""
        self._listener.setblocking(False)
        woken, waker = socket.socketpair()
        for end in (woken, waker):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        self._own = (woken, waker)
        gc.freeze()
        try:
            while self._turn(woken):
                pass
        finally:
            self._drop_spare()
            for child, leash in list(self._leashes.items()):
                os.close(leash)  # first, so that nobody takes this kill for the program's own end
                self._end(child)

    def _turn(self, woken: socket.socket) -> bool:
        if len(self._leashes) < self._most:
            self._fork_ahead()
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(woken, select.POLLIN)
        if len(self._leashes) < self._most:
            poll.register(self._listener, select.POLLIN)
        leashes = {leash: child for child, leash in self._leashes.items()}
        for leash in leashes:
            poll.register(leash, 0)  # an error is reported when the caller's end is closed
        for descriptor, _event in poll.poll():
            if descriptor == self._control.fileno():
                return False
            if descriptor == woken.fileno():
                woken.recv(4096)
                self._reap()
            elif descriptor == self._listener.fileno():
                self._accept()
            elif (child := leashes[descriptor]) in self._leashes:
                self._bury(*self._end(child))
        return True

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        far, near = os.pipe()
        child = -1
        try:
            socket.send_fds(connection, [GREETING], [far])
            child = self._handed(connection)
        except OSError:
            return  # the caller left, or no process is possible: both ends close, which the caller notices
        finally:
            os.close(far)
            connection.close()
            if child < 0:
                os.close(near)
        self._leashes[child] = near

    def _fork_ahead(self) -> None:
        """Fork a process for the next connection; if that fails now, the connection tries again."""
        if self._spare is not None:
            return
        here, there = socket.socketpair()
        parent, child = os.getpid(), -1
        try:
            child = os.fork()
            if child == 0:
                here.close()
                self._live(there, parent)
        except OSError:
            here.close()
        finally:
            there.close()
        if child > 0:
            self._spare = _Spare(child, here)

    def _handed(self, connection: socket.socket) -> int:
        """Pass a connection to the waiting process, and return its id.

        Raises:
            OSError: If no process can be created.
        """
        for _ in range(2):  # the waiting process may have been killed
            self._fork_ahead()
            if self._spare is None:
                break
            child, line = self._spare
            try:
                socket.send_fds(line, [GREETING], [connection.fileno()])
            except OSError:
                self._drop_spare()
                continue
            self._spare = None
            line.close()
            return child
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def _drop_spare(self) -> None:
        if self._spare is not None:
            self._spare.line.close()
            self._end(self._spare.child)
            self._spare = None

    def _live(self, line: socket.socket, parent: int) -> NoReturn:
        """Run as a process that waits for a connection and ends with it."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            die_with_parent(parent)
            self._close_others(line.fileno())
            if self._groups:
                os.setsid()
            _, descriptors, _, _ = socket.recv_fds(line, 1, 1)
            line.close()
            if descriptors:
                self._body(socket.socket(fileno=descriptors[0]))
            code = 0
        finally:
            os._exit(code)

    def _close_others(self, line: int) -> None:
        if self._kept is None:
            ours = (self._listener, self._control, *self._own)
            for descriptor in (*self._leashes.values(), *(end.fileno() for end in ours)):
                os.close(descriptor)
            return
        start = 3
        for descriptor in sorted((*self._kept, line)):
            os.closerange(start, descriptor)
            start = descriptor + 1
        os.closerange(start, os.sysconf("SC_OPEN_MAX"))

    def _end(self, child: int) -> tuple[int, int, object]:
        """Kill a process, and its group if it leads one; return its result."""
        if self._groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        return os.wait4(child, 0)

    def _reap(self) -> None:
        if self._spare is not None and os.wait4(self._spare.child, os.WNOHANG)[0]:
            self._spare.line.close()
            self._spare = None
        for child in list(self._leashes):
            ended, status, usage = os.wait4(child, os.WNOHANG)
            if ended:
                if self._groups:  # processes that it started and left behind
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(child, signal.SIGKILL)
                self._bury(ended, status, usage)

    def _bury(self, child: int, status: int, usage: object) -> None:
        leash = self._leashes.pop(child)
        seconds = usage.ru_utime + usage.ru_stime  # type: ignore[attr-defined]
        with contextlib.suppress(BrokenPipeError):
            os.write(leash, END.pack(status, seconds, usage.ru_maxrss * 1024))  # type: ignore[attr-defined]
        os.close(leash)
