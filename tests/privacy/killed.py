"""Run memkit in a process of its own whose Nth change of the disk kills it without warning."""

from __future__ import annotations

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


def run_killed(arguments: list[str], last: int, how: str, counted: Path) -> int:
    """Run memkit in a child that dies before its change number ``last``, and return how that ended.

    Args:
        arguments: What stands behind ``memkit``.
        last: 0 for a run to the end.
        how: ``at-once`` or ``in-two-renames``: whether the system can exchange two folders.
        counted: Where the number of changes is written at the end.
    """
    child = os.fork()
    if child == 0:
        try:
            code = _run_dying(arguments, last, how, counted)
        except BaseException:  # noqa: BLE001 - the child must not go on with the tests of its parent
            traceback.print_exc()
            code = 99
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _run_dying(arguments: list[str], last: int, how: str, counted: Path) -> int:
    changes = count(1)

    def dying(change: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any, **options: Any) -> Any:
            if next(changes) == last:
                os.kill(os.getpid(), signal.SIGKILL)
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
