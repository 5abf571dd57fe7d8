"""System calls that Python has no function for."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Any

_LIBRARY = ctypes.CDLL(None, use_errno=True)
_LIBRARY.syscall.restype = ctypes.c_long

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38


def call(number: int, *arguments: Any) -> int:
    """Make a system call; raise ``OSError`` if it fails."""
    return _checked(_LIBRARY.syscall(ctypes.c_long(number), *map(_word, arguments)))


def control(option: int, *arguments: int) -> None:
    """Set an attribute of this process; raise ``OSError`` if that fails."""
    _checked(_LIBRARY.prctl(option, *(ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4])))


def library(name: str, *arguments: Any) -> int:
    """Call a C library function that returns a negative number and an error code on failure.

    Raises:
        OSError: If it fails.
    """
    return _checked(getattr(_LIBRARY, name)(*map(_word, arguments)))


def _word(argument: Any) -> Any:
    return ctypes.c_long(argument) if isinstance(argument, int) else argument


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def die_with_parent(parent: int) -> None:
    """Have the kernel end this process when its parent ends; end now if that has already happened."""
    if sys.platform == "linux":
        control(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
