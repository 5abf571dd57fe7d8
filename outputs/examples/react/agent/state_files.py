"""Where a target keeps a session of its own: a file per user and session, which nobody else can read."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from contextlib import closing
from pathlib import Path

PATIENCE = 30.0
"""Seconds to wait for another process that writes."""


def state_file(folder: Path, user_id: str, session_id: str, suffix: str) -> Path:
    """Return where a session is kept; the names tell nobody whose it is but ``memkit memory erase``, which is asked by user."""
    session = _digest(f"{user_id}\n{session_id}")
    return folder / _digest(user_id) / f"{session}{suffix}"


def prepare_database(path: Path) -> None:
    """Make ``path`` fit to be opened: for this account only, and set aside where somebody damaged what is there.

    Made before anything opens it, so that it is never readable for other accounts, not even for a moment. A session
    whose file was damaged starts anew, and recall memory has its turns.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    if not _is_whole(path):
        path.replace(path.with_name(f"{path.name}.damaged"))
        for journal in path.parent.glob(f"{path.name}-*"):
            journal.unlink()
        prepare_database(path)


def _is_whole(path: Path) -> bool:
    with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection:
        try:
            found: tuple[str, ...] = connection.execute("PRAGMA quick_check(1)").fetchone()
            return found == ("ok",)
        except sqlite3.OperationalError:  # somebody else is busy with it
            raise
        except sqlite3.DatabaseError:
            return False


def remove_database(path: Path) -> None:
    """Take a database off the disk, with the journals that SQLite keeps beside it and whatever was set aside."""
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink(missing_ok=True)


def _digest(name: str) -> str:
    # Names of people and sessions are no file names: they may hold slashes.
    return hashlib.sha256(name.encode(errors="replace")).hexdigest()[:32]
