"""Namespaces: separate processes, network and mounts, and a root folder that contains only what was granted.

They complement Landlock and seccomp if the kernel allows them for the caller (root, or unprivileged user
namespaces). Landlock does not hide that a file exists, how large it is and when it changed; an empty root does.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator

from .system import call, library

_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = (1 << bit for bit in (17, 26, 27, 28, 29, 30))
_RDONLY, _NOSUID, _NODEV, _BIND, _REC, _PRIVATE = 1, 2, 4, 1 << 12, 1 << 14, 1 << 18
_REMOUNT, _DETACH = 1 << 5, 2
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_NOBODY = 65534


def separate() -> str:
    """Move this process, and for process ids its children, into new namespaces; return which.

    Raises:
        OSError: If the kernel does not allow this user to create them.
    """
    user, group = os.geteuid(), os.getegid()
    library("unshare", _NEWUSER | _NEWNS | _NEWPID | _NEWNET | _NEWIPC | _NEWUTS)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{_NOBODY} {user} 1")
    _write("/proc/self/gid_map", f"{_NOBODY} {group} 1")
    return "user, process, network, IPC and mount namespaces"


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def move_in(place: str, granted: Iterable[str], hidden: Iterable[str], scratch: str) -> None:
    """Create an empty root at the folder ``place`` with the paths ``granted``, read-only, and move into it.

    Folders ``hidden`` inside those are covered by empty ones; ``scratch`` becomes a folder to mount scratch space
    at.

    Raises:
        OSError: If the kernel does not allow this process to mount.
    """
    _mount("none", "/", None, _REC | _PRIVATE)
    _mount("none", place, "tmpfs", _NOSUID | _NODEV, "size=1m,nr_inodes=4096,mode=755")
    mounts = list(layout(granted, hidden))
    for path, is_granted in mounts:
        if is_granted:
            _lay(path, place + path)
        else:
            _mount("none", place + path, "tmpfs", _NOSUID | _NODEV, "size=1m,nr_inodes=4096,mode=755")
    for path, is_granted in mounts:  # not before, because grants inside a covered folder need a place there
        if not is_granted:
            _read_only(place + path)
    if scratch:
        os.makedirs(place + scratch, exist_ok=True)  # noqa: PTH103
    _mount("none", place, None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)
    os.chdir(place)
    call(_PIVOT_ROOT[os.uname().machine], b".", b".")
    library("umount2", b".", _DETACH)
    os.chdir("/")


def layout(granted: Iterable[str], hidden: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield the paths to mount, outer ones first, and whether each is granted or covered by an empty folder.

    Paths inside something granted exist already, and paths inside nothing granted need not be covered.
    """
    kept: list[tuple[str, bool]] = []
    wanted = [*((path, True) for path in set(granted)), *((path, False) for path in set(hidden))]
    for path, is_granted in sorted(wanted):
        around = next((is_there for outer, is_there in reversed(kept) if f"{path}/".startswith(f"{outer}/")), False)
        if around != is_granted and (is_granted or os.path.isdir(path)):  # noqa: PTH112
            kept.append((path, is_granted))
            yield path, is_granted


def _lay(path: str, inside: str) -> None:
    """Mount a path of the old root at ``inside``, read-only."""
    if os.path.isdir(path):  # noqa: PTH112
        os.makedirs(inside, exist_ok=True)  # noqa: PTH103
    else:
        os.makedirs(os.path.dirname(inside), exist_ok=True)  # noqa: PTH103, PTH120
        os.close(os.open(inside, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o444))
    _mount(path, inside, None, _BIND | _REC)
    _read_only(inside)


def mount_scratch(folder: str, size: int, files: int) -> None:
    """Give this process alone an empty folder of limited size that ends with it.

    Raises:
        OSError: If the kernel does not allow this process to mount.
    """
    library("unshare", _NEWNS)
    options = f"size={size},nr_inodes={files},mode=700"
    _mount("none", folder, "tmpfs", _NOSUID | _NODEV, options)


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    texts = (source, target, kind)
    source_, target_, kind_ = (None if text is None else os.fsencode(text) for text in texts)
    library("mount", source_, target_, kind_, flags, None if options is None else options.encode())


def _read_only(path: str) -> None:
    """Make a mount and those below it read-only, keeping flags that a user namespace may not drop."""
    attributes = (ctypes.c_uint64 * 4)(_RDONLY | _NOSUID | _NODEV, 0, 0, 0)
    call(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), _AT_RECURSIVE, attributes, 32)
