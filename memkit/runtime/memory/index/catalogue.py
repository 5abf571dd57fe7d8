"""Which lines the shards hold, whose they are and where they lie, and how much of each shard was seen."""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ..log.log import Log, ShardStat, Span, Written, shard_writer, split_lines
from ..record.errors import InvalidRecord
from ..record.lines import JSON, decode_line
from ..record.record import corpus_of
from .database import Database

FORMAT = 2
SCHEMA = """
CREATE TABLE shards(
    num INTEGER PRIMARY KEY, path TEXT UNIQUE, size INT, mtime_ns INT, inode INT, seen INT, checksum INT);
CREATE TABLE lines(seq INTEGER PRIMARY KEY AUTOINCREMENT, corpus INT, shard INT, offset INT, size INT, id TEXT);
CREATE INDEX lines_of_corpus ON lines(corpus, seq);
CREATE INDEX lines_of_id ON lines(id);
CREATE TABLE corpora(num INTEGER PRIMARY KEY, name TEXT UNIQUE, generation INT, settled INT);
"""


class Mark(NamedTuple):
    """How much of a shard was seen."""

    num: int
    stat: ShardStat
    seen: int
    """Bytes up to the end of the last line that was taken in."""
    checksum: int
    """Of those bytes."""


class CataloguedLine(NamedTuple):
    """A line as the catalogue knows it."""

    seq: int
    span: Span


class Catalogue:
    """The lines of all shards."""

    def __init__(self, path: Path | None) -> None:
        self.database = Database(path)
        self._sql = self.database.sql
        if self._format() != FORMAT:
            with self.database.transaction():
                if self._format() != FORMAT:  # another process may have been faster
                    self._recreate()

    def refresh(self, log: Log) -> None:
        """Take in what the shards have gained or lost since last time."""
        if self._current(log.shards()):
            return
        with self.database.transaction():
            marks, present = self._marks(), log.shards()
            for path in marks.keys() - present.keys():
                self._drop(path, marks[path])
            for path in sorted(present):
                mark = marks.get(path)
                if mark is None or mark.stat != present[path]:
                    self._catch_up(log, path, present[path], mark)

    def add(self, span: Span, data: Mapping[str, JSON]) -> int:
        """Enter a line that is about to be written; return its number."""
        shard = self._shard_number(span.shard)
        row = (self.corpus(corpus_of(data)), shard, span.offset, span.size, _id_of(data))
        self._sql.execute("INSERT INTO lines(corpus, shard, offset, size, id) VALUES(?,?,?,?,?)", row)
        return int(self._sql.execute("SELECT last_insert_rowid()").fetchone()[0])

    def advance(self, log: Log, written: Mapping[str, Written]) -> None:
        """Note that lines entered by ``add`` are now in their shards."""
        present = log.shards()
        for path, addition in written.items():
            mark = self._marks_of(path)
            seen = addition.offset + len(addition.data)
            if mark.seen == addition.offset:
                checksum = zlib.crc32(addition.data, mark.checksum)
            else:
                checksum = zlib.crc32(log.read(path, 0, seen))
            self._note(path, present[path], seen, checksum)

    def corpora(self) -> dict[str, int]:
        """Return the number of every corpus by name."""
        return dict(self._sql.execute("SELECT name, num FROM corpora"))

    def has_corpus(self, name: str) -> bool:
        """Return whether a line of this corpus was ever entered, without looking at those of other users."""
        return self._sql.execute("SELECT 1 FROM corpora WHERE name=?", (name,)).fetchone() is not None

    def corpus(self, name: str) -> int:
        """Return the number of a corpus, new or not."""
        row = self._sql.execute("SELECT num FROM corpora WHERE name=?", (name,)).fetchone()
        if row is None:
            cursor = self._sql.execute("INSERT INTO corpora(name, generation) VALUES(?, abs(random()))", (name,))
            return int(cursor.lastrowid or 0)
        return int(row[0])

    def state_of(self, name: str) -> tuple[int, int, int] | None:
        """Return number, generation and last line of a corpus, or None for one that has no lines."""
        row = self._sql.execute("SELECT num, generation FROM corpora WHERE name=?", (name,)).fetchone()
        if row is None:
            return None
        last = self._sql.execute("SELECT max(seq) FROM lines WHERE corpus=?", (row[0],)).fetchone()[0]
        return None if last is None else (int(row[0]), int(row[1]), int(last))

    def is_settled(self, name: str) -> bool:
        """Return whether nothing stood open in a corpus when it was last asked, and it gained no line since."""
        row = self._sql.execute("SELECT num, settled FROM corpora WHERE name=?", (name,)).fetchone()
        last = self._sql.execute("SELECT max(seq) FROM lines WHERE corpus=?", (row[0],)).fetchone()[0] if row else None
        return row is None or (last or 0) == row[1]

    def note_settled(self, name: str, up_to: int) -> None:
        """Note that nothing stands open in the lines of a corpus up to this one."""
        self._sql.execute("UPDATE corpora SET settled=? WHERE name=?", (up_to, name))

    def lines(self, corpus: int, after: int) -> Iterator[CataloguedLine]:
        """Yield the lines of a corpus that follow line ``after``."""
        query = """SELECT seq, path, offset, lines.size FROM lines JOIN shards ON num = shard
                   WHERE corpus=? AND seq>? ORDER BY seq"""
        for seq, path, offset, size in self._sql.execute(query, (corpus, after)):
            yield CataloguedLine(seq, Span(path, offset, size))

    def line(self, seq: int) -> tuple[int, Span] | None:
        """Return the corpus of a line and where it lies."""
        query = "SELECT corpus, path, offset, lines.size FROM lines JOIN shards ON num = shard WHERE seq=?"
        row = self._sql.execute(query, (seq,)).fetchone()
        return None if row is None else (row[0], Span(*row[1:]))

    def corpora_of_id(self, id: str) -> list[str]:
        """Return the names of the corpora that have a line with this id."""
        query = "SELECT DISTINCT name FROM lines JOIN corpora ON num = corpus WHERE id=?"
        return [name for (name,) in self._sql.execute(query, (id,))]

    def writers_of(self, id: str) -> list[str]:
        """Return who wrote the lines with this id."""
        query = "SELECT DISTINCT path FROM lines JOIN shards ON num = shard WHERE id=?"
        return [shard_writer(path)[0] for (path,) in self._sql.execute(query, (id,))]

    def _format(self) -> int:
        return int(self._sql.execute("PRAGMA user_version").fetchone()[0])

    def _recreate(self) -> None:
        for (name,) in self._sql.execute(
            "SELECT name FROM sqlite_master WHERE type='table' AND name!='sqlite_sequence'"
        ).fetchall():
            self._sql.execute(f'DROP TABLE "{name}"')
        for statement in filter(str.strip, SCHEMA.split(";")):
            self._sql.execute(statement)
        self._sql.execute(f"PRAGMA user_version={FORMAT}")

    def _marks(self) -> dict[str, Mark]:
        rows = self._sql.execute("SELECT path, num, size, mtime_ns, inode, seen, checksum FROM shards")
        return {path: Mark(num, ShardStat(*stat), seen, checksum) for path, num, *stat, seen, checksum in rows}

    def _marks_of(self, path: str) -> Mark:
        return self._marks().get(path) or Mark(0, ShardStat(0, 0, 0), 0, 0)

    def _current(self, present: Mapping[str, ShardStat]) -> bool:
        # Every search asks this of every shard, so rows are compared as they come.
        rows = self._sql.execute("SELECT path, size, mtime_ns, inode FROM shards")
        return {row[0]: row[1:] for row in rows} == present

    def _catch_up(self, log: Log, path: str, stat: ShardStat, mark: Mark | None) -> None:
        data = log.read(path)
        seen, checksum = (mark.seen, mark.checksum) if mark else (0, 0)
        if mark and zlib.crc32(data[:seen]) != checksum:
            self._drop(path, mark)
            seen, checksum = 0, 0
        found, size = split_lines(data[seen:])
        shard = self._shard_number(path)
        self._sql.executemany(
            "INSERT INTO lines(corpus, shard, offset, size, id) VALUES(?,?,?,?,?)", self._rows(found, shard, seen)
        )
        self._note(path, stat, seen + size, zlib.crc32(data[seen : seen + size], checksum))

    def _rows(self, found: Iterable[tuple[int, bytes]], shard: int, start: int) -> Iterator[tuple[object, ...]]:
        numbers = self.corpora()
        for offset, line in found:
            try:
                data = decode_line(line)
                name = corpus_of(data)
            except InvalidRecord:
                continue  # ``check`` names it with its line; everything else stays readable
            if name not in numbers:
                numbers[name] = self.corpus(name)
            yield numbers[name], shard, start + offset, len(line), _id_of(data)

    def _drop(self, path: str, mark: Mark) -> None:
        """Forget a shard; what was made of its lines has to be made anew."""
        self._sql.execute(
            """UPDATE corpora SET generation = abs(random()), settled = NULL
               WHERE num IN (SELECT DISTINCT corpus FROM lines WHERE shard=?)""",
            (mark.num,),
        )
        self._sql.execute("DELETE FROM lines WHERE shard=?", (mark.num,))
        self._sql.execute("DELETE FROM shards WHERE num=?", (mark.num,))

    def _shard_number(self, path: str) -> int:
        row = self._sql.execute("SELECT num FROM shards WHERE path=?", (path,)).fetchone()
        if row is not None:
            return int(row[0])
        cursor = self._sql.execute("INSERT INTO shards VALUES(NULL,?,-1,0,0,0,0)", (path,))
        return int(cursor.lastrowid or 0)

    def _note(self, path: str, stat: ShardStat, seen: int, checksum: int) -> None:
        self._sql.execute(
            "UPDATE shards SET size=?, mtime_ns=?, inode=?, seen=?, checksum=? WHERE path=?",
            (stat.size, stat.mtime_ns, stat.inode, seen, checksum, path),
        )


def _id_of(data: Mapping[str, JSON]) -> str:
    own_id = data.get("id")
    return own_id if isinstance(own_id, str) else ""
