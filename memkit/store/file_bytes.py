"""Read a file of a store as a file: nothing is waited for, and nothing larger than allowed is read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

MAX_BYTES = 1_000_000


def file_bytes(path: Path) -> bytes:
    """Return at most one byte more than a file of a store may have.

    Raises:
        OSError: It cannot be read, or is a pipe, a device or a folder.
        ValueError: The path cannot name a file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, NO_FILE)
        return file.read(MAX_BYTES + 1)


NO_FILE = "This is not a regular file."


def why_not(error: OSError | ValueError) -> str:
    """Return the sentence that says why a file cannot be read."""
    reason = getattr(error, "strerror", None) or str(error)
    return reason if reason == NO_FILE else f"The file cannot be read: {reason}."
