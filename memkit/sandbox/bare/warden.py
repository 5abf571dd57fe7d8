"""Runs a container as long as its owner lives: starts it, waits for its end, and removes everything of it.

Standard input is the leash: it ends when the owner closes it, or dies in any way.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import signal
import sys

_GRACE = 1.0
"""Seconds that the fork server has to end by itself, as it does when its own sockets close."""
_FIRST, _OUT_OF_THE_WAY = 3, 10
"""The first descriptor that runtimes pass on, and the first beyond those."""


def main(runtime: list[str], name: str, folder: str, sockets: tuple[int, int]) -> None:
    """Run the bundle in ``folder`` with two inherited sockets, then remove the folder.

    Args:
        runtime: The runtime's command, with its general options.
        name: The container's name there.
        folder: The folder that contains ``bundle``.
        sockets: The descriptors that the container's process gets as 3 and 4.
    """
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(waker)
    container = _run([*runtime, "run", "--preserve-fds", "2", "--bundle", f"{folder}/bundle", name], sockets)
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(woken, select.POLLIN)
    poll.poll()
    status = _ended(container)
    if status is None:
        poll.unregister(0)
        poll.poll(_GRACE * 1000)
        status = _ended(container)
    if status is None or os.waitstatus_to_exitcode(status) < 0:
        os.waitpid(_run([*runtime, "delete", "--force", name], ()), 0)
    if status is None:
        os.waitpid(container, 0)
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if status == 0 else 1)


def _run(command: list[str], handed: tuple[int, ...]) -> int:
    """Start a command that gets the descriptors ``handed`` from 3 on, and return its process id."""
    apart = [_moved(descriptor) for descriptor in handed]
    actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        *((os.POSIX_SPAWN_DUP2, descriptor, _FIRST + place) for place, descriptor in enumerate(apart)),
    ]
    return os.posix_spawn(command[0], command, dict(os.environ), file_actions=actions, setsigdef=[signal.SIGCHLD])


def _moved(descriptor: int) -> int:
    """Return a copy of a descriptor with a number that conflicts with no other; the original is closed."""
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY)
    os.close(descriptor)
    return copy


def _ended(process: int) -> int | None:
    """Return the wait status of a process that has ended, None if it still runs."""
    ended, status = os.waitpid(process, os.WNOHANG)
    return status if ended else None
