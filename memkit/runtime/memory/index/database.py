"""SQLite as a disposable index: opened fast, thrown away when it is not ours or not whole."""

import errno
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..log.files import DENIED, NO_ROOM, make_private
from ..record.errors import MAKE_ROOM, ArchiveError, StoreFull

BUSY_SECONDS = 30.0
CACHE_KIB = 16 * 1024
"""What is kept of a file in memory: with SQLite's own 2 MB a search of a million records reads many pages twice."""
SUFFIXES = ("", "-wal", "-shm")
VECTORS = ("-vectors", "-vectors-journal")
"""What an index of vectors keeps beside the database of its corpus, and loses with it."""


class Database:
    """A connection that notices when its file was taken away."""

    def __init__(self, path: Path | None, *, synchronous: str = "NORMAL") -> None:
        self.path = path
        if path is not None and not path.exists():
            make_private(path.parent)
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        self.sql = sqlite3.connect(
            path or ":memory:",
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=64,
        )
        if path is not None:
            # NORMAL may lose the last transactions in a power cut, never their order: marks say what is missing.
            _use_write_ahead_log(self.sql)
            self.sql.execute(f"PRAGMA synchronous={synchronous}")
            self.sql.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        self._inode = path.stat().st_ino if path is not None else 0
        self._process = os.getpid()

    def is_current(self) -> bool:
        """Return whether the file is still the one that was opened, by this very process."""
        if self.path is None:
            return True
        try:
            return self.path.stat().st_ino == self._inode and self._process == os.getpid()
        except FileNotFoundError:
            return False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make the block one change; inside another transaction, a part of it."""
        if self.sql.in_transaction:
            yield
            return
        self.sql.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.rollback()
            raise
        self.sql.execute("COMMIT")

    def begin(self) -> None:
        """Start a transaction that ``commit`` or ``rollback`` ends."""
        if not self.sql.in_transaction:
            self.sql.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Keep what was changed."""
        if self.sql.in_transaction:
            self.sql.execute("COMMIT")

    def rollback(self) -> None:
        """Drop what was changed."""
        if self.sql.in_transaction:
            self.sql.execute("ROLLBACK")

    def close(self) -> None:
        """Let go of the file."""
        self.sql.close()


def _use_write_ahead_log(sql: sqlite3.Connection) -> None:
    # Two processes that open a new file at once: SQLite does not wait here as it does elsewhere.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            sql.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
        time.sleep(0.005)


def remove_database(path: Path) -> None:
    """Delete a database with what SQLite, and an index of vectors, keep beside it."""
    for suffix in (*SUFFIXES, *VECTORS):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).unlink()


def is_damaged(error: sqlite3.DatabaseError) -> bool:
    """Return whether the file itself is at fault, so that a new one helps."""
    return type(error) is sqlite3.DatabaseError or "no such table" in str(error) or "no such column" in str(error)


def is_unwritable(error: OSError | sqlite3.OperationalError) -> bool:
    """Return whether the place of the index cannot be written, so that another place helps."""
    if isinstance(error, OSError):
        return is_read_only(error) or error.errno in (*NO_ROOM, errno.EIO)
    return is_read_only(error) or any(sign in str(error) for sign in ("disk is full", "disk I/O error"))


def is_read_only(error: OSError | sqlite3.OperationalError) -> bool:
    """Return whether nobody lets us write the place of the index; room on the disk would not help."""
    if isinstance(error, OSError):
        return error.errno in DENIED
    return any(sign in str(error) for sign in ("readonly", "unable to open"))


@contextmanager
def explained(store: Path | None, remove: Callable[[], None]) -> Iterator[None]:
    """Turn what SQLite says about the index of a store, or a full disk, into an error that somebody can act on.

    Raises:
        ArchiveError: The index was damaged; ``remove`` was called.
        StoreFull: There is no room for what was to be written.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        if is_damaged(error):
            remove()
            raise ArchiveError(f"The index was damaged ({error}) and is removed. Try again: it is rebuilt.") from None
        if isinstance(error, sqlite3.OperationalError) and store is not None:
            place = store / ".memkit" / "cache"
            raise StoreFull(f"The index under {place} cannot be written ({error}). {MAKE_ROOM}") from None
        raise
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise StoreFull(f"{store} has no room left ({error.strerror}). {MAKE_ROOM}") from None
