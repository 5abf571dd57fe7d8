"""Landlock: the kernel's rule that a process may use only the files granted to it (landlock(7)).

One rule set is built before the first program; each program's process only enters it.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
from collections.abc import Iterable
from dataclasses import dataclass

from .system import call

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Numbers of the system calls; these three are the same on every architecture."""
_ASK_VERSION, _PATH_BENEATH = 1, 1
_LOG_SAME_EXEC_OFF = 1
"""From version 7: a program that tries ten thousand files must not fill the machine's audit log."""

_HIGH = 64
"""Lower descriptors are reserved for standard streams and the connection."""

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE = 1 << 14
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
_MAKE_DIR, _MAKE_REG, _REMOVE_DIR, _REMOVE_FILE = 1 << 7, 1 << 8, 1 << 4, 1 << 5
_REFER, _IOCTL_DEVICE = 1 << 13, 1 << 15
_BIND_TCP, _CONNECT_TCP = 1, 2
_ABSTRACT_SOCKET, _SIGNAL = 1, 2


@dataclass(frozen=True)
class Handled:
    """What a version of Landlock can forbid; anything handled and not granted is denied."""

    files: int
    network: int
    scope: int


def version() -> int:
    """Return the kernel's version of Landlock, 0 if there is none."""
    try:
        return call(CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def handled(abi: int) -> Handled:
    """Return everything that version ``abi`` can forbid."""
    files = EXECUTE | WRITE_FILE | READ_FILE | READ_DIR | _REMOVE_AND_MAKE
    if abi >= 2:
        files |= _REFER
    if abi >= 3:
        files |= TRUNCATE
    if abi >= 5:
        files |= _IOCTL_DEVICE
    return Handled(files, _BIND_TCP | _CONNECT_TCP if abi >= 4 else 0, _ABSTRACT_SOCKET | _SIGNAL if abi >= 6 else 0)


class RuleSet:
    """What a process may still do with files once it has entered the rules."""

    def __init__(self) -> None:
        self._abi = version()
        rights = handled(self._abi)
        self._files = rights.files
        attributes = (ctypes.c_uint64 * 3)(rights.files, rights.network, rights.scope)
        size = 8 if self._abi < 4 else 16 if self._abi < 6 else 24
        made = call(CREATE_RULESET, attributes, size, 0)
        self._descriptor = fcntl.fcntl(made, fcntl.F_DUPFD_CLOEXEC, _HIGH)
        os.close(made)

    @property
    def descriptor(self) -> int:
        """Return the descriptor of the rules."""
        return self._descriptor

    def allow_reading(self, paths: Iterable[str]) -> None:
        """Allow reading the given files, and everything below the given folders."""
        for path in paths:
            self._allow(path, READ_FILE | READ_DIR)

    def allow_listing(self, folder: str) -> None:
        """Allow listing a folder, and those below it; not reading the files."""
        self._allow(folder, READ_DIR)

    def allow_writing(self, folder: str) -> None:
        """Allow making, changing and removing plain files and folders below ``folder``: no links, devices, sockets."""
        changes = WRITE_FILE | TRUNCATE | _MAKE_DIR | _MAKE_REG | _REMOVE_DIR | _REMOVE_FILE
        self._allow(folder, READ_FILE | READ_DIR | changes)

    def _allow(self, path: str, rights: int) -> None:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not os.path.isdir(path):  # noqa: PTH112 - pathlib costs the start of the confined interpreter
                rights &= EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
            rule = _PathBeneath(rights & self._files, descriptor)
            call(ADD_RULE, self._descriptor, _PATH_BENEATH, ctypes.byref(rule), 0)
        finally:
            os.close(descriptor)

    def take_on(self) -> None:
        """Bind this process, and whatever it may start, to the rules for good; needs no-new-privileges."""
        call(RESTRICT_SELF, self._descriptor, _LOG_SAME_EXEC_OFF if self._abi >= 7 else 0)


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]
