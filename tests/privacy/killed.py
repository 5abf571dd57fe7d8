"""Run memkit in a process of its own whose Nth change of the disk kills it without warning, or fails."""

from __future__ import annotations

import errno
import os
import signal
import traceback
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from memkit.cli.main import run
from memkit.privacy import journal

CHANGES = ("replace", "rename", "unlink", "rmdir", "mkdir", "link", "fsync", "sync", "write", "pwrite", "ftruncate",
           "fdatasync", "symlink")  # fmt: skip


TAKING_ROOM = ("mkdir", "link", "write", "pwrite", "symlink")


def run_killed(arguments: list[str], last: int, how: str, counted: Path, fault: int | None = None) -> int:
    """Run memkit in a child that dies before its change number ``last``, and return how that ended.

    Args:
        arguments: What stands behind ``memkit``.
        last: 0 for a run to the end.
        how: ``at-once`` or ``in-two-renames``: whether the system can exchange two folders.
        counted: Where the number of changes is written at the end.
        fault: With which error that change and, on a full disk, all that follow fail, in place of the death.
    """
    child = os.fork()
    if child == 0:
        try:
            code = _run_dying(arguments, last, how, counted, fault)
        except BaseException:  # noqa: BLE001 - the child must not go on with the tests of its parent
            traceback.print_exc()
            code = 99
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _run_dying(arguments: list[str], last: int, how: str, counted: Path, fault: int | None) -> int:
    changes = count(1)

    def strike(number: int, change: Callable[..., Any]) -> None:
        if number == last and fault is None:
            os.kill(os.getpid(), signal.SIGKILL)
        is_full = fault == errno.ENOSPC and last and number >= last and change.__name__ in TAKING_ROOM
        if is_full or (number == last and fault == errno.EIO):
            raise OSError(fault, os.strerror(fault or 0))

    def dying(change: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any, **options: Any) -> Any:
            strike(next(changes), change)
            return change(*arguments, **options)

        return counting

    for name in CHANGES:
        setattr(os, name, dying(getattr(os, name)))
    journal._exchanged = dying(journal._exchanged if how == "at-once" else _cannot)
    code = run(arguments)
    last = 0
    counted.write_text(str(next(changes) - 1))
    return code


def _cannot(*_: Any) -> bool:
    return False
