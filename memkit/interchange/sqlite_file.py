"""SQLite files of strangers: opened for reading alone, and nothing in them is run."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from memkit.errors import UsageError
from memkit.interchange.interface import Source

MAGIC = b"SQLite format 3\x00"


def is_sqlite(source: Source) -> bool:
    """Return whether a file is a SQLite database."""
    if source.path is not None and source.path.is_dir():
        return False
    with source.opened() as file:
        return file.read(len(MAGIC)) == MAGIC


@contextmanager
def opened_table(source: Source, table: str, needed: frozenset[str]) -> Iterator[tuple[sqlite3.Connection, set[str]]]:
    """Give the database and the columns of ``table``.

    Raises:
        UsageError: The file is damaged, has no such table, or comes from standard input.
    """
    if source.path is None:
        raise UsageError("A database cannot be read from standard input. Name the file.")
    try:
        with closing(_connected(source)) as sql:
            columns = _columns(sql, table)
            if not needed <= columns:
                raise UsageError(f"{source.name} has no table {table!r} with {', '.join(sorted(needed))}.")
            yield sql, columns
    except sqlite3.Error as error:
        raise UsageError(f"{source.name} cannot be read as a database: {error}.") from None


def tables(source: Source) -> set[str]:
    """Return the names of the tables of a database; none of one that is damaged."""
    try:
        with closing(_connected(source)) as sql:
            return {name for (name,) in sql.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    except sqlite3.Error:
        return set()


def _connected(source: Source) -> sqlite3.Connection:
    assert source.path is not None
    path = source.path.resolve()
    journal = path.with_name(f"{path.name}-wal")
    # Immutable: not even the files that SQLite puts beside a database are made next to somebody else's. Where there is
    # a journal already it has to be read, because the newest deletions stand in it.
    how = "mode=ro" if journal.exists() and journal.stat().st_size else "mode=ro&immutable=1"
    sql = sqlite3.connect(f"{path.as_uri()}?{how}", uri=True)
    sql.execute("PRAGMA trusted_schema=OFF")
    sql.text_factory = lambda data: data.decode("utf-8", "replace")
    return sql


def _columns(sql: sqlite3.Connection, table: str) -> set[str]:
    """Return the columns of a table; a view, which could compute anything, has none."""
    if not sql.execute("SELECT 1 FROM sqlite_master WHERE type='table' AND name=?", (table,)).fetchone():
        return set()
    return {str(row[1]) for row in sql.execute(f"PRAGMA table_info({table})")}
