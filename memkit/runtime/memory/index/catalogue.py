"""Which lines the shards hold, whose they are and where they lie, and how much of each shard was seen."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ..interface import ShardProblem
from ..log.check import checked_id
from ..log.links import Link, grown
from ..log.log import Log, ShardStat, Span, Written, shard_writer, split_lines
from ..log.witness import Witness
from ..record.errors import InvalidRecord
from ..record.lines import JSON, decode_line
from ..record.record import corpus_of
from .chains import SCHEMA as CHAINS
from .chains import TAMPERED, Chains, Entry, entry_of, shard_order
from .database import Database

FORMAT = 2
SCHEMA = """
CREATE TABLE shards(
    num INTEGER PRIMARY KEY, path TEXT UNIQUE, size INT, mtime_ns INT, inode INT, seen INT, checksum BLOB, ended INT);
CREATE TABLE lines(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, corpus INT, shard INT, offset INT, size INT, id TEXT, number INT, chain INT,
    type TEXT, link BLOB, parent BLOB, body BLOB, place TEXT);
CREATE INDEX lines_of_corpus ON lines(corpus, seq);
CREATE INDEX lines_of_id ON lines(id);
CREATE INDEX lines_of_link ON lines(link) WHERE link IS NOT NULL;
CREATE TABLE corpora(num INTEGER PRIMARY KEY, name TEXT UNIQUE, generation INT);
"""
ENTER = """INSERT INTO lines(corpus, shard, offset, size, id, number, chain, type, link, parent, body)
           VALUES(?,?,?,?,?,?,?,?,?,?,?)"""


class Mark(NamedTuple):
    """How much of a shard was seen."""

    num: int
    stat: ShardStat
    seen: int
    """Bytes up to the end of the last line that was taken in."""
    checksum: bytes
    """Of those bytes."""
    ended: int
    """Lines that end in them."""


class CataloguedLine(NamedTuple):
    """A line as the catalogue knows it."""

    seq: int
    span: Span


class Catalogue:
    """The lines of all shards."""

    def __init__(self, path: Path | None, witness: Witness | None = None) -> None:
        self.database = Database(path)
        self._sql = self.database.sql
        self.chains = Chains(self._sql, witness)
        self._adding: Counter[str] = Counter()
        """Lines of the change under way by shard."""
        if self._format() != FORMAT:
            with self.database.transaction():
                if self._format() != FORMAT:  # another process may have been faster
                    self._recreate()

    def refresh(self, log: Log) -> None:
        """Take in what the shards have gained or lost since last time."""
        self._adding.clear()
        present = log.shards()
        if self._current(present):
            if not self.chains.is_compared:
                with self.database.transaction():
                    self.chains.compare_heads(log)
            return
        with self.database.transaction():
            self._take_in(log, log.shards(), lambda mark, stat: mark.stat != stat)

    def recheck(self, log: Log) -> None:
        """Read every shard anew, whatever its size and times say, and compare it with what was entered."""
        with self.database.transaction():
            self._take_in(log, log.shards(), lambda mark, stat: True)

    def add(self, span: Span, data: Mapping[str, JSON], link: Link | None) -> int:
        """Enter a line that is about to be written; return its number."""
        entry, shard = entry_of(data)._replace(link=link), self._shard_number(span.shard)
        self._adding[span.shard] += 1
        ended = self._sql.execute("SELECT ended FROM shards WHERE num=?", (shard,)).fetchone()[0]
        return self._enter(span, entry, self.corpus(corpus_of(data)), shard, ended + self._adding[span.shard])

    def advance(self, log: Log, written: Mapping[str, Written]) -> None:
        """Note that lines entered by ``add`` are now in their shards."""
        present = log.shards()
        for path, addition in written.items():
            mark = self._marks_of(path)
            seen = addition.offset + len(addition.data)
            if mark.seen != addition.offset:
                mark = Mark(0, present[path], 0, b"", 0)
            data = log.read(path, mark.seen, seen - mark.seen) if mark.seen != addition.offset else addition.data
            self._note(path, present[path], seen, grown(mark.checksum, data), mark.ended + data.count(b"\n"))
        self.chains.keep_heads()

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

    def lines(self, corpus: int, after: int) -> Iterator[CataloguedLine]:
        """Yield the lines of a corpus that follow line ``after``."""
        query = """SELECT seq, path, offset, lines.size, coalesce(place, '') FROM lines JOIN shards ON num = shard
                   WHERE corpus=? AND seq>? ORDER BY seq"""
        for seq, *span in self._sql.execute(query, (corpus, after)):
            yield CataloguedLine(seq, Span(*span))

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
        for statement in filter(str.strip, f"{SCHEMA}{CHAINS}".split(";")):
            self._sql.execute(statement)
        self._sql.execute(f"PRAGMA user_version={FORMAT}")

    def _marks(self) -> dict[str, Mark]:
        rows = self._sql.execute("SELECT path, num, size, mtime_ns, inode, seen, checksum, ended FROM shards")
        return {
            path: Mark(num, ShardStat(*stat), seen, bytes(check), ended)
            for path, num, *stat, seen, check, ended in rows
        }

    def _marks_of(self, path: str) -> Mark:
        return self._marks().get(path) or Mark(0, ShardStat(0, 0, 0), 0, b"", 0)

    def _current(self, present: Mapping[str, ShardStat]) -> bool:
        # Every search asks this of every shard, so rows are compared as they come.
        rows = self._sql.execute("SELECT path, size, mtime_ns, inode FROM shards")
        return {row[0]: row[1:] for row in rows} == present

    def _take_in(self, log: Log, present: Mapping[str, ShardStat], changed: Callable[[Mark, ShardStat], bool]) -> None:
        marks, dropped = self._marks(), set[str]()
        since = self._sql.execute("SELECT coalesce(max(seq), 0) FROM lines").fetchone()[0]
        for path in marks.keys() - present.keys():
            self._drop(path, marks[path])
            dropped.add(shard_writer(path)[0])
        wanted = [path for path in present if path not in marks or changed(marks[path], present[path])]
        for path in sorted(wanted, key=shard_order):
            if self._catch_up(log, path, present[path], marks.get(path)):
                dropped.add(shard_writer(path)[0])
        for writer in dropped:
            self.chains.recount(writer)
        self.chains.settle(log, since, dropped=bool(dropped))
        self.chains.compare_heads(log)
        self.chains.keep_heads()

    def _catch_up(self, log: Log, path: str, stat: ShardStat, mark: Mark | None) -> bool:
        """Take in what a shard gained; return whether it was dropped first, because it lost something."""
        data = log.read(path)
        mark = mark or Mark(0, stat, 0, b"", 0)
        is_changed = bool(mark.seen) and grown(b"", data[: mark.seen]) != mark.checksum
        if is_changed:
            self._drop(path, mark)
            mark = Mark(0, stat, 0, b"", 0)
        elif not mark.seen:
            self.chains.forget_flaws(path)
        found, size = split_lines(data[mark.seen :])
        self._enter_all(path, mark, data[mark.seen :], found)
        seen, ended = mark.seen + size, mark.ended + data.count(b"\n", mark.seen, mark.seen + size)
        self.chains.note_end(path, ended + 1, data[seen:])
        self._note(path, stat, seen, grown(mark.checksum, data[mark.seen : seen]), ended)
        return is_changed

    def _enter_all(self, path: str, mark: Mark, data: bytes, found: list[tuple[int, bytes]]) -> None:
        """Judge and enter the lines of the part of a shard that was not read before."""
        numbers, shard, number, counted = self.corpora(), self._shard_number(path), mark.ended + 1, 0
        parsed = []
        for offset, line in found:
            number, counted = number + data.count(b"\n", counted, offset), offset
            try:
                content = decode_line(line)
                checked_id(content)
                parsed.append((number, offset, len(line), content))
            except InvalidRecord as error:
                self.chains.damaged(path, number, line, str(error))
        mixed = self.chains.has_links(shard_writer(path)[0]) or any("link" in content for *_, content in parsed)
        for number, offset, size, content in parsed:
            entry = self.chains.judged(content, path, mixed=mixed)
            if isinstance(entry, str):
                self.chains.flaw(ShardProblem(TAMPERED, path, number, entry), content)
                continue
            name = corpus_of(content)
            if name not in numbers:
                numbers[name] = self.corpus(name)
            self._enter(Span(path, mark.seen + offset, size), entry, numbers[name], shard, number)

    def _enter(self, span: Span, entry: Entry, corpus: int, shard: int, number: int) -> int:
        chain, link = self.chains.joined(span.shard, entry), entry.link
        place = (link.own, link.parent, link.body) if link else (None, None, None)
        row = (corpus, shard, span.offset, span.size, entry.id, number, chain, entry.type, *place)
        return int(self._sql.execute(ENTER, row).lastrowid or 0)

    def _drop(self, path: str, mark: Mark) -> None:
        """Forget a shard; what was made of its lines has to be made anew."""
        self._sql.execute(
            """UPDATE corpora SET generation = abs(random())
               WHERE num IN (SELECT DISTINCT corpus FROM lines WHERE shard=?)""",
            (mark.num,),
        )
        self.chains.leaving(mark.num, path)
        self.chains.forget_flaws(path)
        self._sql.execute("DELETE FROM lines WHERE shard=?", (mark.num,))
        self._sql.execute("DELETE FROM shards WHERE num=?", (mark.num,))

    def _shard_number(self, path: str) -> int:
        row = self._sql.execute("SELECT num FROM shards WHERE path=?", (path,)).fetchone()
        if row is not None:
            return int(row[0])
        cursor = self._sql.execute("INSERT INTO shards VALUES(NULL,?,-1,0,0,0,x'',0)", (path,))
        return int(cursor.lastrowid or 0)

    def _note(self, path: str, stat: ShardStat, seen: int, checksum: bytes, ended: int) -> None:
        self._sql.execute(
            "UPDATE shards SET size=?, mtime_ns=?, inode=?, seen=?, checksum=?, ended=? WHERE path=?",
            (stat.size, stat.mtime_ns, stat.inode, seen, checksum, ended, path),
        )
