"""A lock between processes that is given in the order in which it was asked for.

Whoever wants it stands in a queue, and only the first of that waits for the lock itself; both waits are the kernel's,
which wakes one process at a time. Without the queue a writer in a loop takes the lock back before anybody who waited is
awake. Both locks are the kernel's own and end with the process that holds them.
"""

import fcntl
import os
import struct
import time
from threading import Event, Lock, Thread

SHORT, STEP = 1.0, 0.005
"""Seconds of a short wait, and after which it asks again."""
# Of the open file, like flock's, where POSIX locks are the process's: any descriptor closed anywhere would end them.
_QUEUE_WAITING: int | None = getattr(fcntl, "F_OFD_SETLKW", None)
_QUEUE_AT_ONCE: int | None = getattr(fcntl, "F_OFD_SETLK", None)


def take(descriptor: int, timeout: float) -> bool:
    """Take the lock of an open file exclusively; return False where that took more than ``timeout`` seconds.

    Closing the file gives it back, and so does the end of the process. Whoever waits for less than ``SHORT`` stands in
    no queue: a place there that is given up would take the lock for a moment once it comes, and look like a holder.
    """
    if timeout < SHORT:
        return _before_long(descriptor, timeout)
    if _at_once(descriptor):
        return True
    turn = _Turn(descriptor)
    try:
        turn.came.wait(timeout)
    finally:
        taken = turn.settle()
    return taken


def _before_long(descriptor: int, timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while not _taken(descriptor):
        if time.monotonic() >= deadline:
            return False
        time.sleep(STEP)
    return True


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _at_once(descriptor: int) -> bool:
    """Take the lock if nobody holds it and nobody waits."""
    try:
        _queue(descriptor, _QUEUE_AT_ONCE)
    except BlockingIOError:
        return False
    try:
        return _taken(descriptor)
    finally:
        _queue(descriptor, _QUEUE_AT_ONCE, fcntl.F_UNLCK)


class _Turn:
    """A place in the queue, held by a thread: the kernel's waits know no time-out, and an interrupt has to end them."""

    def __init__(self, descriptor: int) -> None:
        self.came = Event()
        self._descriptor = os.dup(descriptor)  # of the same open file, so that closing the first does not end the wait
        self._guard = Lock()
        self._is_over = False
        self._error: OSError | None = None
        Thread(target=self._wait, name="lock", daemon=True).start()

    def settle(self) -> bool:
        """Return whether the lock was given; from now on it is not taken any more."""
        with self._guard:
            self._is_over = True
            if self._error is not None:
                raise self._error
            return self.came.is_set()

    def _wait(self) -> None:
        error: OSError | None = None
        try:
            _queue(self._descriptor, _QUEUE_WAITING)
            if not self._is_over:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            _queue(self._descriptor, _QUEUE_AT_ONCE, fcntl.F_UNLCK)
        except OSError as failed:
            error = failed
        with self._guard:
            if self._is_over:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self._error = error
            self.came.set()
        os.close(self._descriptor)


def _queue(descriptor: int, how: int | None, kind: int = fcntl.F_WRLCK) -> None:
    """Enter or leave the queue, the first byte of the same file; where the system has no such lock, there is none."""
    if how is not None:
        fcntl.fcntl(descriptor, how, struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 1, 0))
