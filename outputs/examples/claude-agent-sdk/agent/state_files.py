"""Where a target keeps a session of its own: a file per user and session, which nobody else can read."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def state_file(folder: Path, user_id: str, session_id: str, suffix: str) -> Path:
    """Return where a session is kept; the names tell nobody whose it is but ``memkit memory erase``, which is asked by user."""
    session = _digest(f"{user_id}\n{session_id}")
    return folder / _digest(user_id) / f"{session}{suffix}"


def make_private(path: Path) -> None:
    """Make ``path`` an empty file for this account only, unless it is there already.

    Made before anything opens it, so that it is never readable for other accounts, not even for a moment.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def remove_database(path: Path) -> None:
    """Take a database off the disk, with the journals that SQLite keeps beside it."""
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink(missing_ok=True)


def _digest(name: str) -> str:
    # Names of people and sessions are no file names: they may hold slashes.
    return hashlib.sha256(name.encode(errors="replace")).hexdigest()[:32]
