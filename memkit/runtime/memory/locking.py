"""One lock per store between processes; the kernel drops it with the process that held it."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import StoreLocked, StoreReadOnly
from .private_folders import make_private

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
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENOTDIR, errno.ENXIO):
            raise StoreReadOnly(f"{path} is no file ({error.strerror}). Nothing was stored; delete it.") from None
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
