"""Opens files as files: where a pipe or a device lies in the place of one, nothing is waited for."""

import errno
import os
import stat
from pathlib import Path


def open_regular(path: Path, flags: int, mode: int = 0o600, *, folder: int | None = None) -> int:
    """Return a descriptor of a regular file; raises ``OSError`` for whatever else lies there, a link to one included.

    A relative ``path`` starts at the folder that ``folder`` is a descriptor of, where one is given.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW, mode, dir_fd=folder)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "It is not a regular file", str(path))


def whole_file(path: Path) -> bytes:
    """Return what a regular file holds; raises ``OSError`` for whatever else lies there."""
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        return file.read()
