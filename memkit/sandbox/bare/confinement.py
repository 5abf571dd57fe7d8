"""What a program's process takes on before it reads the program: no file, no socket, no process, bounded resources."""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from . import jail, system
from .landlock import RuleSet
from .seccomp import Filter

_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITIES_3 = 0x20080522


@dataclass(frozen=True)
class ProcessBounds:
    """The limits of a program."""

    cpu: int
    """Seconds of processor time over the whole life of its process."""
    memory: int
    """Bytes of address space beyond those used by the interpreter."""
    files: int
    """Open files."""
    scratch: str
    """The folder for scratch space, empty if none was granted."""
    scratch_size: int
    scratch_files: int


class Confinement:
    """Everything that can be prepared once, so that confining a process takes a dozen system calls."""

    def __init__(
        self, bounds: ProcessBounds, taken: int, code: Filter, readable: Sequence[str] | None, listed: Sequence[str]
    ) -> None:
        """Prepare.

        Args:
            bounds: The limits of a program.
            taken: The address space that the interpreter itself uses.
            code: The filter of the allowed system calls.
            readable: The readable files; None without Landlock.
            listed: The folders that may be listed, but whose files may not be read.
        """
        self._bounds = bounds
        self._readable, self._listed = readable, listed
        self._code = code
        self._address_space = bounds.memory + taken
        self._rules = None if bounds.scratch else self._rule_set()

    def _rule_set(self) -> RuleSet | None:
        if self._readable is None:
            return None
        rules = RuleSet()
        rules.allow_reading(self._readable)
        for folder in self._listed:
            rules.allow_listing(folder)
        if self._bounds.scratch:
            rules.allow_writing(self._bounds.scratch)
        return rules

    @property
    def first_needed(self) -> int:
        """Return the lowest descriptor that a process needs until it is confined."""
        return min(self.descriptors, default=os.sysconf("SC_OPEN_MAX"))

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Return the descriptors that a process needs until it is confined."""
        return () if self._rules is None else (self._rules.descriptor,)

    def take_on(self) -> None:
        """Confine this process for good.

        Raises:
            OSError: If the kernel refuses any of it; the process must then end without reading a program.
        """
        os.setsid()
        rules, bounds = self._rules, self._bounds
        if bounds.scratch:
            jail.mount_scratch(bounds.scratch, bounds.scratch_size, bounds.scratch_files)
            os.chdir(bounds.scratch)
            rules = self._rule_set()
        self._limit()
        system.control(system.PR_SET_DUMPABLE, 0)
        system.control(system.PR_SET_NO_NEW_PRIVS, 1)
        _drop_capabilities()
        if rules is not None:
            rules.take_on()
            os.close(rules.descriptor)
        self._code.take_on()

    def _limit(self) -> None:
        bounds = self._bounds
        limits = {
            resource.RLIMIT_CPU: bounds.cpu,
            resource.RLIMIT_AS: self._address_space,
            resource.RLIMIT_NOFILE: bounds.files,
            resource.RLIMIT_FSIZE: bounds.scratch_size if bounds.scratch else 0,
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_NPROC: 0,
            resource.RLIMIT_MEMLOCK: 0,
            resource.RLIMIT_MSGQUEUE: 0,
            resource.RLIMIT_SIGPENDING: 64,
        }
        for limit, value in limits.items():
            _, most = resource.getrlimit(limit)
            bounded = value if most == resource.RLIM_INFINITY else min(value, most)
            resource.setrlimit(limit, (bounded, bounded))


def _drop_capabilities() -> None:
    """Drop all capabilities given by root or a user namespace."""
    header = ctypes.create_string_buffer(struct.pack("<Ii", _CAPABILITIES_3, 0))
    nothing = ctypes.create_string_buffer(struct.pack("<6I", 0, 0, 0, 0, 0, 0))
    system.call(_CAPSET[os.uname().machine], header, nothing)


def address_space() -> int:
    """Return this process' address space in bytes."""
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
        return int(file.read().split()[0]) * resource.getpagesize()
