"""Run memkit in a process of its own that dies, without warning, before its Nth change of a name on the disk."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from memkit.cli.main import run
from memkit.privacy import journal

COUNT = 0


def dying(change: Callable[..., Any], last: int) -> Callable[..., Any]:
    """Return ``change`` with a kill before the call number ``last``."""

    def counted(*arguments: Any, **options: Any) -> Any:
        global COUNT
        COUNT += 1
        if last == COUNT:
            os.kill(os.getpid(), signal.SIGKILL)
        return change(*arguments, **options)

    return counted


def main() -> None:
    """Kill at the call that the first argument numbers; 0 prints how many there are."""
    last = int(sys.argv[1])
    for name in ("replace", "rename", "unlink", "rmdir", "mkdir", "link", "fsync", "sync"):
        setattr(os, name, dying(getattr(os, name), last))
    journal._exchanged = dying(journal._exchanged if sys.argv[2] == "at-once" else _cannot, last)
    code = run(sys.argv[3:])
    sys.stderr.write(f"{COUNT}\n")
    sys.exit(code)


def _cannot(*_: Any) -> bool:
    return False


if __name__ == "__main__":
    main()
