"""How often each record was recalled on this machine: local knowledge that no history keeps."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from ..record.errors import ArchiveError
from ..record.lines import to_text
from ..record.record import file_stem, user_corpus
from .database import Database

SCHEMA = "CREATE TABLE IF NOT EXISTS access(id TEXT PRIMARY KEY, uses INT, last TEXT) WITHOUT ROWID"


class Use(NamedTuple):
    """How a record was used on this machine."""

    uses: int
    last: str


class AccessCounts:
    """Uses of records, one file per user who recalled them, so that no user's habits show in another's scores."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._open: dict[str, Database] = {}

    def uses(self, user_id: str, ids: Iterable[str]) -> dict[str, int]:
        """Return how often this user recalled each of ``ids``, without those never recalled; nothing if unreadable."""
        if not self._exists(user_id):
            return {}
        wanted = list(ids)
        query = f"SELECT id, uses FROM access WHERE id IN ({','.join('?' * len(wanted))})"
        # SQLite reads a file in a place that is full or read-only no more than it writes there.
        with suppress(OSError, sqlite3.DatabaseError):
            return dict(self._database(user_id).sql.execute(query, wanted))
        return {}

    def count(self, user_id: str, ids: Iterable[str], moment: datetime) -> None:
        """Count one more use of each of ``ids``; where nothing can be written, nothing is counted."""
        query = """INSERT INTO access VALUES(?,1,?) ON CONFLICT(id) DO UPDATE
                   SET uses = uses + 1, last = max(last, excluded.last)"""
        with suppress(OSError, sqlite3.DatabaseError):
            database = self._database(user_id)
            with database.transaction():
                database.sql.executemany(query, [(id, to_text(moment)) for id in ids])

    def carry_over(self, user_id: str, sources: Iterable[str], target: str) -> None:
        """Count every use of ``sources`` as one of ``target``; where nothing can be written, it starts anew."""
        ids = list(sources)
        query = f"""INSERT OR REPLACE INTO access SELECT ?, sum(uses), max(last) FROM access
                    WHERE id IN ({",".join("?" * len(ids))}) HAVING sum(uses)"""
        with suppress(OSError, sqlite3.DatabaseError):
            if self._exists(user_id):
                self._database(user_id).sql.execute(query, (target, *ids))

    def totals(self, user_id: str | None = None) -> dict[str, Use]:
        """Return how often and when last each record was recalled by a user, or by anybody.

        Raises:
            ArchiveError: A file cannot be read; without it, everything would look unused.
        """
        totals: dict[str, Use] = {}
        for database in self._databases(user_id):
            for id, uses, last in database.sql.execute("SELECT id, uses, last FROM access"):
                before = totals.get(id, Use(0, ""))
                totals[id] = Use(before.uses + uses, max(before.last, last))
        return totals

    def keep(self, is_known: Callable[[str], bool], user_id: str | None = None) -> int:
        """Drop the counts of records that are no more, and return how many that were."""
        dropped = 0
        for database in self._databases(user_id):
            ids = [id for (id,) in database.sql.execute("SELECT id FROM access") if not is_known(id)]
            with database.transaction():
                database.sql.executemany("DELETE FROM access WHERE id=?", [(id,) for id in ids])
            dropped += len(ids)
        return dropped

    def bring_back(self, user_id: str, counts: Mapping[str, Use]) -> None:
        """Put back counts of another place; of two, the higher one holds."""
        query = """INSERT INTO access VALUES(?,?,?) ON CONFLICT(id) DO UPDATE
                   SET uses = max(uses, excluded.uses), last = max(last, excluded.last)"""
        database = self._database(user_id)
        with database.transaction():
            database.sql.executemany(query, [(id, use.uses, use.last) for id, use in counts.items()])

    def close(self) -> None:
        """Let go of all files."""
        while self._open:
            self._open.popitem()[1].close()

    def _databases(self, user_id: str | None) -> Iterator[Database]:
        """Yield the databases of one user or of all, one at a time."""
        if self._folder is None:
            yield from (database for user, database in self._open.items() if user_id in (None, user))
            return
        own = [self._path(user_id)] if user_id is not None else sorted(self._folder.glob("*.sqlite"))
        self.close()
        for path in own:
            if path is None or not path.exists():
                continue
            try:
                database = Database(path, synchronous="OFF")
                database.sql.execute(SCHEMA)
            except sqlite3.DatabaseError as error:
                raise ArchiveError(
                    f"The access counts in {path} cannot be read ({error}). Delete that file to count anew."
                ) from None
            try:
                yield database
            finally:
                database.close()

    def _exists(self, user_id: str) -> bool:
        path = self._path(user_id)
        return user_id in self._open if path is None else path.exists()

    def _database(self, user_id: str) -> Database:
        database = self._open.get(user_id)
        if database is None or not database.is_current():
            if self._folder is not None:
                self.close()
            # Searching does not sync: a count that a power cut takes back is no loss.
            database = self._open[user_id] = Database(self._path(user_id), synchronous="OFF")
            database.sql.execute(SCHEMA)
        return database

    def _path(self, user_id: str) -> Path | None:
        return self._folder / f"{file_stem(user_corpus(user_id))}.sqlite" if self._folder else None
