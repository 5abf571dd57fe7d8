"""Files as this room opens them: private folders, nothing but regular files, one lock between processes."""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..record.errors import StoreLocked, StoreReadOnly

MACHINE = ".memkit"
"""The folder of a store that holds what belongs to this machine."""


def make_private(folder: Path) -> None:
    """Make ``folder`` and what is missing above it; from ``.memkit`` on, only for this user.

    ``mkdir`` gives its mode to the last folder alone, so ``.memkit`` would be open to whoever made none of it.
    """
    for place in reversed((folder, *folder.parents)):
        if not place.is_dir():
            place.mkdir(mode=0o700 if MACHINE in place.parts else 0o777, exist_ok=True)


def open_regular(path: Path, flags: int, mode: int = 0o600) -> int:
    """Return a descriptor of a regular file; raises ``OSError`` for whatever else lies there."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "It is not a regular file", str(path))


def whole_file(path: Path) -> bytes:
    """Return what a regular file holds; raises ``OSError`` for whatever else lies there."""
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        return file.read()


FIRST_WAIT, LONGEST_WAIT = 0.001, 0.05
DENIED = (errno.EROFS, errno.EACCES, errno.EPERM)
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def locked(path: Path, *, timeout: float) -> Iterator[None]:
    """Hold the store's lock for the time of the block; raise StoreLocked when ``timeout`` seconds were not enough."""
    # flock and not lockf: a POSIX lock is lost when any other descriptor of the file is closed.
    descriptor = _open(path)
    try:
        _wait_for(descriptor, path, timeout)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        make_private(path.parent)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        if error.errno in DENIED:
            raise StoreReadOnly(
                f"{path.parent} cannot be written ({error.strerror}). Nothing was stored; check its permissions."
            ) from None
        raise


def _wait_for(descriptor: int, path: Path, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    wait = FIRST_WAIT
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise StoreLocked(
                    f"Another process has held {path} for {timeout:g} s. Try again when it is done; nothing was stored."
                ) from None
        time.sleep(wait)
        wait = min(wait * 2, LONGEST_WAIT)
