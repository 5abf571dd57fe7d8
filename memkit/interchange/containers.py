"""The containers in other systems' files: JSON, whole or in lines, and SQLite."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any, BinaryIO, NoReturn

from memkit.errors import UsageError
from memkit.interchange.interface import ImportSource
from memkit.runtime.memory.record.lines import JSON, MAX_LINE_BYTES, Reason

LARGEST_DOCUMENT = 256 * 1024 * 1024
LONGEST_LINE = 4 * MAX_LINE_BYTES
BOM = b"\xef\xbb\xbf"

Line = tuple[int, Mapping[str, JSON] | Reason]


def numbered_objects(file: BinaryIO) -> Iterator[Line]:
    """Yield every non-blank line with its number: its object, or why it holds none."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
            size = len(line) + _rest_of_line(file)
            yield number, Reason("too_long", f"The line has {size:,} bytes; the limit is {LONGEST_LINE:,}.")
            continue
        text = line.removeprefix(BOM) if number == 1 else line
        if text.strip():
            yield number, parsed_object(text)


def parsed_object(text: bytes) -> Mapping[str, JSON] | Reason:
    """Return the object in ``text``, or why there is none."""
    try:
        value = parsed(text)
    except ValueError as error:
        return Reason("schema", str(error))
    return value if isinstance(value, dict) else Reason("schema", "The line is JSON but not an object.")


def parsed(text: bytes) -> Any:
    """Return the value of ``text``; raise ``ValueError`` with the reason if it has none, without repeating it."""
    try:
        return DECODER.decode(text.rstrip().decode())
    except UnicodeDecodeError:
        raise ValueError("The text is not UTF-8.") from None
    except RecursionError:
        raise ValueError("The JSON is nested too deeply.") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column" if error.lineno > 1 else "column"
        raise ValueError(f"The text is not JSON: {error.msg} at {place} {error.colno}.") from None
    except ValueError as error:
        raise ValueError(f"The text is not JSON: {error}.") from None


def whole_document(source: ImportSource) -> Any:
    """Return the one JSON value in a file; raise ``UsageError`` if there is none."""
    with source.opened() as file:
        text = file.read(LARGEST_DOCUMENT + 1)
    if len(text) > LARGEST_DOCUMENT:
        raise UsageError(f"{source.name} is larger than {LARGEST_DOCUMENT >> 20} MB. Split it.")
    try:
        return parsed(text.removeprefix(BOM))
    except ValueError as error:
        raise UsageError(f"{source.name} cannot be read: {error}") from None


def objects(source: ImportSource, *lists: str) -> Iterator[Line]:
    """Yield the objects of a JSON array, of the array under one of ``lists``, or of JSON lines, with their numbers.

    Raises:
        UsageError: The file holds no such objects.
    """
    if is_json_lines(source):
        with source.opened() as file:
            yield from numbered_objects(file)
        return
    document = whole_document(source)
    if isinstance(document, dict):
        named = [document[name] for name in lists if isinstance(document.get(name), list)]
        others = [value for value in document.values() if isinstance(value, list)]
        document = named[0] if named else others[0] if len(others) == 1 else None
    if not isinstance(document, list):
        raise UsageError(f"{source.name} has no list of memories.")
    for number, entry in enumerate(document, 1):
        yield number, entry if isinstance(entry, dict) else Reason("schema", f"Entry {number} is not an object.")


def is_json_lines(source: ImportSource) -> bool:
    """Return whether the first non-blank line of a file is an object of its own, and not the only line."""
    with source.opened() as file:
        found = list(islice(numbered_objects(file), 2))
    return len(found) == 2 and not isinstance(found[0][1], Reason)


def _rest_of_line(file: BinaryIO) -> int:
    size = 0
    while more := file.readline(LONGEST_LINE):
        size += len(more)
        if more.endswith(b"\n"):
            break
    return size


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        # Which of the two counts depends on the parser, so a checker with another parser could be bypassed.
        raise ValueError("an object has the same key twice")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large to be stored")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)


MAGIC = b"SQLite format 3\x00"


def is_sqlite(source: ImportSource) -> bool:
    """Return whether a file is a SQLite database."""
    if source.path is not None and source.path.is_dir():
        return False
    with source.opened() as file:
        return file.read(len(MAGIC)) == MAGIC


@contextmanager
def opened_table(
    source: ImportSource, table: str, needed: frozenset[str]
) -> Iterator[tuple[sqlite3.Connection, set[str]]]:
    """Yield the database and the columns of ``table``.

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


def tables(source: ImportSource) -> set[str]:
    """Return the names of the tables of a database; empty for a damaged one."""
    try:
        with closing(_connected(source)) as sql:
            return {name for (name,) in sql.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    except sqlite3.Error:
        return set()


def _connected(source: ImportSource) -> sqlite3.Connection:
    assert source.path is not None
    path = source.path.resolve()
    journal = path.with_name(f"{path.name}-wal")
    # Immutable: SQLite must not even create its files beside somebody else's database. An existing
    # journal has to be read, because it contains the newest deletions.
    how = "mode=ro" if journal.exists() and journal.stat().st_size else "mode=ro&immutable=1"
    sql = sqlite3.connect(f"{path.as_uri()}?{how}", uri=True)
    sql.execute("PRAGMA trusted_schema=OFF")
    sql.text_factory = lambda data: data.decode("utf-8", "replace")
    return sql


def _columns(sql: sqlite3.Connection, table: str) -> set[str]:
    """Return the columns of a table; empty for a view, which could compute anything."""
    if not sql.execute("SELECT 1 FROM sqlite_master WHERE type='table' AND name=?", (table,)).fetchone():
        return set()
    return {str(row[1]) for row in sql.execute(f"PRAGMA table_info({table})")}
