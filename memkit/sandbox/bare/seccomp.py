"""seccomp: a list of the system calls that a program's process may make; every other one fails (seccomp(2)).

The list is what an interpreter needs to compute, and to read the files that Landlock allows. It has no sockets,
pipes, processes, threads, signals, timers with targets, shared memory, or administrative calls. The filter is the
kernel's classic BPF, assembled here.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from dataclasses import dataclass

from .system import call

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_SET_MODE_FILTER = 1
_X32 = 0x40000000
"""The bit of the alternative numbering on x86-64, by which a list of numbers could be bypassed."""

_X86_64 = """
read 0 write 1 close 3 stat 4 fstat 5 lstat 6 poll 7 lseek 8 mmap 9 mprotect 10 munmap 11 brk 12 rt_sigaction 13
rt_sigprocmask 14 rt_sigreturn 15 pread64 17 readv 19 writev 20 access 21 select 23 sched_yield 24 mremap 25 madvise 28
nanosleep 35 getitimer 36 setitimer 38 alarm 37 getpid 39 exit 60 uname 63 fcntl 72 getcwd 79 readlink 89
gettimeofday 96 getrlimit 97 getrusage 98 times 100 getuid 102 getgid 104 geteuid 107 getegid 108 getppid 110
sigaltstack 131 gettid 186 time 201 futex 202 sched_getaffinity 204 getdents64 217 restart_syscall 219 clock_gettime 228
clock_getres 229 clock_nanosleep 230 exit_group 231 openat 257 newfstatat 262 readlinkat 267 faccessat 269 pselect6 270
ppoll 271 getrandom 318 statx 332 prlimit64 302 rseq 334 clone3 435 faccessat2 439
mkdir 83 rmdir 84 unlink 87 rename 82 mkdirat 258 unlinkat 263 renameat 264 renameat2 316 ftruncate 77 pwrite64 18
fsync 74 fdatasync 75 seccomp 317
"""
_AARCH64 = """
read 63 write 64 close 57 fstat 80 lseek 62 mmap 222 mprotect 226 munmap 215 brk 214 rt_sigaction 134
rt_sigprocmask 135 rt_sigreturn 139 pread64 67 readv 65 writev 66 sched_yield 124 mremap 216 madvise 233
nanosleep 101 getitimer 102 setitimer 103 getpid 172 exit 93 uname 160 fcntl 25 getcwd 17
gettimeofday 169 getrlimit 163 getrusage 165 times 153 getuid 174 getgid 176 geteuid 175 getegid 177 getppid 173
sigaltstack 132 gettid 178 futex 98 sched_getaffinity 123 getdents64 61 restart_syscall 128 clock_gettime 113
clock_getres 114 clock_nanosleep 115 exit_group 94 openat 56 newfstatat 79 readlinkat 78 faccessat 48 pselect6 72
ppoll 73 getrandom 278 statx 291 prlimit64 261 rseq 293 clone3 435 faccessat2 439
mkdirat 34 unlinkat 35 renameat 38 renameat2 276 ftruncate 46 pwrite64 68
fsync 82 fdatasync 83 seccomp 277
"""
_FOR_SCRATCH = frozenset({
    "mkdir", "rmdir", "unlink", "rename", "mkdirat", "unlinkat", "renameat", "renameat2", "ftruncate", "pwrite64",
    "fsync", "fdatasync",
})  # fmt: skip
_JUDGED = frozenset({"fcntl", "prlimit64", "clone3", "openat", "seccomp"})
_HARMLESS_COMMANDS = (1, 2, 3, 1030)
"""F_GETFD, F_SETFD, F_GETFL and F_DUPFD_CLOEXEC. F_SETOWN and F_SETSIG would send signals to other processes."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
"""Landlock covers truncation only from its third version on: a file opened for reading could be emptied."""


@dataclass(frozen=True)
class FilteredMachine:
    """An architecture: the kernel's id for it, and its system call numbers."""

    audit: int
    numbers: dict[str, int]
    has_x32: bool


def _numbers(table: str) -> dict[str, int]:
    words = table.split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


MACHINES = {
    "x86_64": FilteredMachine(0xC000003E, _numbers(_X86_64), has_x32=True),
    "aarch64": FilteredMachine(0xC00000B7, _numbers(_AARCH64), has_x32=False),
}


def machine() -> FilteredMachine | None:
    """Return the architecture of this kernel, None if its numbers are not known here."""
    return MACHINES.get(os.uname().machine)


def assembled(target: FilteredMachine, *, scratch: bool) -> bytes:
    """Return the filter for ``target``; with ``scratch``, files may be created and changed where Landlock allows it."""
    allowed = sorted(
        number
        for name, number in target.numbers.items()
        if name not in _JUDGED and (scratch or name not in _FOR_SCRATCH)
    )
    numbers = target.numbers
    judged = [
        _if_number(numbers["clone3"], [_return(_FAIL | errno.ENOSYS)]),  # so that the C library falls back and fails
        _if_number(numbers["fcntl"], _one_of(1, _HARMLESS_COMMANDS)),
        _if_number(numbers["prlimit64"], [*_zero(0), *_zero(2), _return(_ALLOW)]),  # reading one's own limits
    ]
    if scratch:
        allowed.append(numbers["openat"])
    else:
        judged.append(_if_number(numbers["openat"], [*_no_bit(2, _WRITING), _return(_ALLOW)]))
    lines = [_step(_LOAD, _ARCHITECTURE), _step(_EQUAL, target.audit, 1, 0), _return(_KILL), _step(_LOAD, _NUMBER)]
    if target.has_x32:
        lines += [_step(_AT_LEAST, _X32, 0, 1), _return(_KILL)]
    lines += [step for block in judged for step in block]
    lines += [_step(_EQUAL, number, len(allowed) - place, 0) for place, number in enumerate(allowed)]
    lines += [_return(_FAIL | errno.EPERM), _return(_ALLOW)]
    return b"".join(lines)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _return(verdict: int) -> bytes:
    return _step(_RETURN, verdict)


def _if_number(number: int, block: list[bytes]) -> list[bytes]:
    """Return ``block`` after a jump for all other numbers; a block ends in a verdict."""
    return [_step(_EQUAL, number, 0, len(block)), *block]


def _one_of(argument: int, values: tuple[int, ...]) -> list[bytes]:
    checks = [_step(_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]
    return [_step(_LOAD, _ARGUMENTS + 8 * argument), *checks, _return(_FAIL | errno.EPERM), _return(_ALLOW)]


def _no_bit(argument: int, bits: int) -> list[bytes]:
    """Return instructions that continue only if an argument has none of some bits."""
    return [_step(_LOAD, _ARGUMENTS + 8 * argument), _step(_ANY_BIT, bits, 0, 1), _return(_FAIL | errno.EPERM)]


def _zero(argument: int) -> list[bytes]:
    """Return instructions that continue only if both halves of an argument are zero."""
    low = _ARGUMENTS + 8 * argument
    fail = _return(_FAIL | errno.EPERM)
    return [_step(_LOAD, low), _step(_EQUAL, 0, 1, 0), fail, _step(_LOAD, low + 4), _step(_EQUAL, 0, 1, 0), fail]


class Filter:
    """A filter in memory, ready for any process that inherits it."""

    def __init__(self, target: FilteredMachine, *, scratch: bool) -> None:
        code = assembled(target, scratch=scratch)
        self._number = target.numbers["seccomp"]
        self._code = ctypes.create_string_buffer(code, len(code))
        self._program = _Program(len(code) // 8, ctypes.addressof(self._code))
        self.size = len(code) // 8

    def take_on(self) -> None:
        """Bind this process to the filter for good; needs no-new-privileges."""
        call(self._number, _SET_MODE_FILTER, 0, ctypes.byref(self._program))


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]
