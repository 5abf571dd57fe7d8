"""The lines of the shards, their owners and positions, and how much of each shard was read."""

import errno
import json
import os
import sqlite3
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from ..interface import ShardProblem
from ..log.clone import DENIED, NO_ROOM, make_private
from ..log.log import Link, Log, ShardStat, Span, Users, Witness, Written, grown, shard_writer, split_lines
from ..record.lines import EMPTY, JSON, MAKE_ROOM, ArchiveError, InvalidRecord, StoreFull, decode_line, to_text
from ..record.record import corpus_of, file_stem, unplaced, user_corpus
from .chains import SCHEMA as CHAINS
from .chains import TAMPERED, ChainedLine, Chains, asked_in, enter_many, entry_of

BUSY_SECONDS = 30.0
OPEN_AT_ONCE = 16
"""Open files of counts, three descriptors each: a server's users alternate, and a process may open only so many."""
CACHE_KIB = 16 * 1024
"""SQLite's page cache per file: with its default of 2 MB, a search of a million records reads many pages twice."""
SUFFIXES = ("", "-wal", "-shm")
VECTORS = ("-vectors", "-vectors-journal", "-hosted", "-hosted-journal")
"""The files that an index of vectors keeps next to the database of its corpus, and that are deleted with it."""


REMOVED_AT_MOST = 10
"""How often a database file is made again because an erasure or a person removed the cache at that moment."""


def _inode_of(path: Path) -> int:
    """Return the inode of a file, which is made if it is missing."""
    for left in reversed(range(REMOVED_AT_MOST)):
        try:
            if not path.exists():
                make_private(path.parent)
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            return path.stat().st_ino
        except FileNotFoundError:
            if not left:
                raise
    raise AssertionError


class Database:
    """A connection that notices when its file was removed, and is closed when nobody holds it any more."""

    def __init__(self, path: Path | None, *, synchronous: str = "NORMAL") -> None:
        self.path = path
        self._inode = _inode_of(path) if path is not None else 0  # first: what takes its place later is another file
        self.sql = sqlite3.connect(
            path or ":memory:",
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=64,
        )
        # Whoever lets a store go without closing it leaves nothing open, and is not warned (from Python 3.13 on).
        weakref.finalize(self, self.sql.close).atexit = False
        if path is not None:
            # NORMAL may lose the last transactions in a power cut, but never their order: marks show what is missing.
            self.sql.execute("PRAGMA synchronous=OFF")  # a new file holds nothing yet that a power cut could destroy
            _use_write_ahead_log(self.sql)
            self.sql.execute(f"PRAGMA synchronous={synchronous}")
            self.sql.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        self._place = os.fspath(path) if path is not None else ""
        self._process = os.getpid()

    def is_current(self) -> bool:
        """Return whether the file is still the one that was opened, and by this very process."""
        if not self._place:
            return True
        try:  # every query checks this several times, and a path takes twice as long
            return os.stat(self._place).st_ino == self._inode and self._process == os.getpid()  # noqa: PTH116
        except FileNotFoundError:
            return False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block as one transaction; inside another transaction, as a part of it."""
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
        """Commit the changes."""
        if self.sql.in_transaction:
            self.sql.execute("COMMIT")

    def rollback(self) -> None:
        """Undo the changes."""
        if self.sql.in_transaction:
            self.sql.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file."""
        self.sql.close()


def _use_write_ahead_log(sql: sqlite3.Connection) -> None:
    # Two processes opening a new file at once: SQLite does not wait here as it does elsewhere.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            sql.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
        time.sleep(0.005)


def copy_database(path: Path, copy: Path) -> None:
    """Copy a database through SQLite itself, if it can open it; a damaged one is not copied.

    Reading and closing the file by other means would lose every lock that this process has on it: another process
    would then remove its write-ahead log (https://www.sqlite.org/howtocorrupt.html, 2.2). If SQLite cannot open it, as
    on an unwritable disk, nobody has such a lock.
    """
    try:
        with (
            closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as given,
            closing(sqlite3.connect(copy)) as taken,
        ):
            given.backup(taken)
    except sqlite3.Error as error:
        copy.unlink(missing_ok=True)
        if isinstance(error, sqlite3.OperationalError) and is_read_only(error):
            import shutil  # the disk of the store cannot be written

            for beside in (path.with_name(path.name + suffix) for suffix in SUFFIXES):
                if beside.exists():  # the bytes alone: a copied mode would be read-only again
                    shutil.copyfile(beside, copy.with_name(beside.name))


def remove_database(path: Path) -> None:
    """Delete a database with the files that SQLite, and an index of vectors, keep next to it."""
    for suffix in (*SUFFIXES, *VECTORS):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).unlink()


def is_damaged(error: sqlite3.DatabaseError) -> bool:
    """Return whether the file itself is damaged, so that a new one helps."""
    return type(error) is sqlite3.DatabaseError or "no such table" in str(error) or "no such column" in str(error)


def is_unwritable(error: OSError | sqlite3.OperationalError) -> bool:
    """Return whether the location of the index cannot be written, so that another location helps."""
    if isinstance(error, OSError):
        return is_read_only(error) or error.errno in (*NO_ROOM, errno.EIO)
    return is_read_only(error) or any(sign in str(error) for sign in ("disk is full", "disk I/O error"))


def is_read_only(error: OSError | sqlite3.OperationalError) -> bool:
    """Return whether writing the location of the index is not permitted; freeing disk space would not help."""
    if isinstance(error, OSError):
        return error.errno in DENIED
    return any(sign in str(error) for sign in ("readonly", "unable to open"))


@contextmanager
def explained(store: Path | None, remove: Callable[[], None]) -> Iterator[None]:
    """Turn SQLite's errors about a store's index, or a full disk, into an error that somebody can act on.

    Raises:
        ArchiveError: The index was damaged; ``remove`` was called.
        StoreFull: There is no space for what was to be written.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        if is_damaged(error):
            remove()
            raise ArchiveError(
                f"The index was damaged ({error}) and has been removed. Try again: it will be rebuilt."
            ) from None
        if isinstance(error, sqlite3.OperationalError) and store is not None:
            place = store / ".memkit" / "cache"
            raise StoreFull(f"The index under {place} cannot be written ({error}). {MAKE_ROOM}") from None
        raise
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise StoreFull(f"{store} has no room left ({error.strerror}). {MAKE_ROOM}") from None


FORMAT = 4
SCHEMA = """
CREATE TABLE shards(
    num INTEGER PRIMARY KEY, path TEXT UNIQUE, size INT, mtime_ns INT, inode INT, seen INT, checksum BLOB, ended INT);
CREATE TABLE lines(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, corpus INT, shard INT, offset INT, size INT, id TEXT, number INT, chain INT,
    type TEXT, link BLOB, parent BLOB, body BLOB, place TEXT);
CREATE INDEX lines_of_corpus ON lines(corpus, seq);
CREATE INDEX lines_of_id ON lines(id);
CREATE INDEX lines_of_link ON lines(link) WHERE link IS NOT NULL;
CREATE TABLE corpora(num INTEGER PRIMARY KEY, name TEXT UNIQUE, generation INT, settled INT);
"""
MOST_KEPT, MOST_PARSED = 64 << 20, 8 << 20
"""The most bytes of a shard's content kept after reading, as text and as parsed objects."""
ENTERED_AT_ONCE = 5_000
"""Lines of a shard that are parsed at once."""
ENTER = """INSERT INTO lines(corpus, shard, offset, size, id, number, chain, type, link, parent, body)
           VALUES(?,?,?,?,?,?,?,?,?,?,?)"""


class Mark(NamedTuple):
    """How much of a shard was read."""

    num: int
    stat: ShardStat
    seen: int
    """Bytes up to the end of the last entered line."""
    checksum: bytes
    """The checksum of those bytes."""
    ended: int
    """The number of lines in them."""


class CataloguedLine(NamedTuple):
    """A line as the catalogue knows it."""

    seq: int
    span: Span
    id: str


class ParsedLine(NamedTuple):
    """A line of a shard that was read but not entered yet."""

    place: tuple[int, int, int]
    """Its offset, size and number."""
    content: Mapping[str, JSON]
    line: bytes


class Catalogue:
    """The lines of all shards."""

    def __init__(self, path: Path | None, witness: Witness | None = None) -> None:
        self.database = Database(path)
        self._sql = self.database.sql
        self.chains = Chains(self._sql, witness, self.database.is_current)
        self._just_said: dict[tuple[str, int], tuple[bytes, Mapping[str, JSON]]] = {}
        """The lines of the last shard that a refresh read, by shard and position: the same lines are entered into a
        corpus next."""
        self._was_current: tuple[Any, ...] = ()
        self._glanced: tuple[Any, ...] = ()
        """The result of a glance at the log when everything was current, and the state of the index then."""
        self._adding: Counter[str] = Counter()
        """Lines of the current change by shard."""
        if self._format() != FORMAT:
            with self.database.transaction():
                if self._format() != FORMAT:  # another process may have been faster
                    self._recreate()

    def refresh(self, log: Log, users: Users = None, *, anew: bool = False) -> None:
        """Take in what the shards about ``users`` have gained or lost since the last call.

        With ``anew`` each is read from its start, whatever its size and times, and compared with what was entered.
        """
        self._adding.clear()
        self._just_said.clear()
        if not anew and (glance := log.glance()) is not None and (glance, *self.written()) == self._glanced:
            return
        present, folders = log.shards(users), log.folders(users)
        if not anew and self._current(present, folders):
            if not self.chains.is_compared:
                with self.database.transaction():
                    self.chains.compare_heads(log)
                    self.chains.reckon()
            if not self._sql.in_transaction and (glance := log.glance()) is not None:
                self._glanced = (glance, *self.written())
            return
        with self.database.transaction():
            self._take_in(log, log.shards(users), folders, anew=anew)

    def written(self) -> tuple[int, int]:
        """Return a value that stays equal as long as nobody writes to the catalogue, elsewhere or here."""
        ((version,),) = self._sql.execute("PRAGMA data_version")
        return version, self._sql.total_changes

    def just_said(self, span: Span) -> tuple[str, Mapping[str, JSON]]:
        """Return, once, the content of a line taken in just now, without its position: as text and parsed.

        Both are empty if it is no longer at hand.
        """
        text, content = self._just_said.pop((span.shard, span.offset), (b"", EMPTY))
        return text.decode(), unplaced(content) if content else decode_line(text) if text else EMPTY

    def add(self, lines: "Sequence[tuple[Span, Mapping[str, JSON], Link | None]]") -> list[int]:
        """Enter lines that are about to be written, each with its position and link; return their numbers."""
        self._just_said.clear()
        numbers: list[int] = []
        for shard, held in groupby(lines, lambda line: line[0].shard):
            numbers += self._add(shard, list(held))
        return numbers

    def _add(self, path: str, lines: "Sequence[tuple[Span, Mapping[str, JSON], Link | None]]") -> Iterable[int]:
        shard = self._shard_number(path)
        (before,) = self._sql.execute("SELECT ended FROM shards WHERE num=?", (shard,)).fetchone()
        before += self._adding[path]
        self._adding[path] += len(lines)
        entries = [entry_of(data, link) for _, data, link in lines]
        chains = self.chains.joined(path, entries)
        corpora = {name: self.corpus(name) for name in {corpus_of(data) for _, data, _ in lines}}
        rows = [
            _row(corpora[corpus_of(data)], shard, (span.offset, span.size, number), chains, entry)
            for number, ((span, data, _), entry) in enumerate(zip(lines, entries, strict=True), before + 1)
        ]
        enter_many(self._sql, ENTER, rows)
        (last,) = self._sql.execute("SELECT seq FROM sqlite_sequence WHERE name='lines'").fetchone()
        return range(last - len(lines) + 1, last + 1)

    def advance(self, log: Log, written: Mapping[str, Written]) -> None:
        """Note that lines entered by ``add`` are now in their shards."""
        for path, addition in written.items():
            mark = self._marks(path).get(path) or Mark(0, addition.stat, 0, b"", 0)
            seen = addition.offset + len(addition.data)
            if mark.seen != addition.offset:
                mark = Mark(0, addition.stat, 0, b"", 0)
            data = log.read(path, mark.seen, seen - mark.seen) if mark.seen != addition.offset else addition.data
            self._note(path, addition.stat, seen, grown(mark.checksum, data), mark.ended + data.count(b"\n"))
        self.chains.keep_heads()

    def corpora(self) -> dict[str, int]:
        """Return the numbers of all corpora by name."""
        return dict(self._sql.execute("SELECT name, num FROM corpora"))

    def has_corpus(self, name: str) -> bool:
        """Return whether a line of this corpus was ever entered, without looking at other users' lines."""
        return self._sql.execute("SELECT 1 FROM corpora WHERE name=?", (name,)).fetchone() is not None

    def corpus(self, name: str) -> int:
        """Return the number of a corpus, new or not."""
        row = self._sql.execute("SELECT num FROM corpora WHERE name=?", (name,)).fetchone()
        if row is None:
            cursor = self._sql.execute("INSERT INTO corpora(name, generation) VALUES(?, abs(random()))", (name,))
            return int(cursor.lastrowid or 0)
        return int(row[0])

    def state_of(self, name: str) -> tuple[int, int, int] | None:
        """Return number, generation and last line of a corpus, or None if it has no lines."""
        row = self._sql.execute("SELECT num, generation FROM corpora WHERE name=?", (name,)).fetchone()
        if row is None:
            return None
        last = self._sql.execute("SELECT max(seq) FROM lines WHERE corpus=?", (row[0],)).fetchone()[0]
        if last is None and not self._sql.execute("SELECT 1 FROM stand_ins WHERE corpus=?", (name,)).fetchone():
            return None
        return int(row[0]), int(row[1]), int(last or 0)

    def is_settled(self, name: str, strangers: Iterable[str]) -> bool:
        """Return whether a corpus had no open questions when last checked, with these strangers and every line."""
        row = self._sql.execute("SELECT num, settled FROM corpora WHERE name=?", (name,)).fetchone()
        last = self._sql.execute("SELECT max(seq) FROM lines WHERE corpus=?", (row[0],)).fetchone()[0] if row else None
        return row is None or _settled(last or 0, strangers) == str(row[1])

    def note_settled(self, name: str, up_to: int, strangers: Iterable[str]) -> None:
        """Note that the lines of a corpus up to this one leave no question open while these writers are strangers."""
        self._sql.execute("UPDATE corpora SET settled=? WHERE name=?", (_settled(up_to, strangers), name))

    def lines(self, corpus: int, after: int) -> Iterator[CataloguedLine]:
        """Yield the lines of a corpus that follow line ``after``."""
        query = """SELECT seq, id, path, offset, lines.size, coalesce(place, '') FROM lines JOIN shards ON num = shard
                   WHERE corpus=? AND seq>? ORDER BY seq"""
        for seq, id, *span in self._sql.execute(query, (corpus, after)):
            yield CataloguedLine(seq, Span(*span), id)

    def line(self, seq: int) -> tuple[int, Span] | None:
        """Return the corpus and the position of a line."""
        query = "SELECT corpus, path, offset, lines.size FROM lines JOIN shards ON num = shard WHERE seq=?"
        row = self._sql.execute(query, (seq,)).fetchone()
        return None if row is None else (row[0], Span(*row[1:]))

    def corpora_of_id(self, id: str) -> list[str]:
        """Return the names of the corpora that have a line with this id."""
        query = "SELECT DISTINCT name FROM lines JOIN corpora ON num = corpus WHERE id=?"
        return [name for (name,) in self._sql.execute(query, (id,))]

    def ids_beginning(self, beginning: str, most: int) -> list[str]:
        """Return the first ids with this prefix, up to a limit."""
        query = "SELECT DISTINCT id FROM lines WHERE id>=? AND id<?||char(1114111) ORDER BY id LIMIT ?"
        return [id for (id,) in self._sql.execute(query, (beginning, beginning, most))]

    def beside(self, id: str) -> tuple[bool, list[str]]:
        """Return whether a line has this id, and its neighbours in order: an id with the same prefix is among them."""
        query = "SELECT (SELECT max(id) FROM lines WHERE id<?), (SELECT min(id) FROM lines WHERE id>?)"
        before, after = self._sql.execute(query, (id, id)).fetchone()
        is_known = self._sql.execute("SELECT 1 FROM lines WHERE id=?", (id,)).fetchone() is not None
        return is_known, [one for one in (before, after) if one is not None]

    def writers(self) -> set[str]:
        """Return the writers of all lines."""
        return {shard_writer(path)[0] for (path,) in self._shards("path", ())}

    def writers_of(self, id: str) -> list[str]:
        """Return the writers of the lines with this id."""
        query = "SELECT DISTINCT path FROM lines JOIN shards ON num = shard WHERE id=?"
        return [shard_writer(path)[0] for (path,) in self._sql.execute(query, (id,))]

    def _format(self) -> int:
        return int(self._sql.execute("PRAGMA user_version").fetchone()[0])

    def _recreate(self) -> None:
        if place := self.database.path:  # file names of another format reveal whose they are
            for path in (place.parent / "users").glob("*.sqlite*"):
                path.unlink(missing_ok=True)
        for (name,) in self._sql.execute(
            "SELECT name FROM sqlite_master WHERE type='table' AND name!='sqlite_sequence'"
        ).fetchall():
            self._sql.execute(f'DROP TABLE "{name}"')
        for statement in filter(str.strip, f"{SCHEMA}{CHAINS}".split(";")):
            self._sql.execute(statement)
        self._sql.execute(f"PRAGMA user_version={FORMAT}")

    def _marks(self, *folders: str) -> dict[str, Mark]:
        rows = self._shards("path, num, size, mtime_ns, inode, seen, checksum, ended", folders)
        return {
            path: Mark(num, ShardStat(*stat), seen, bytes(check), ended)
            for path, num, *stat, seen, check, ended in rows
        }

    def _shards(self, columns: str, folders: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the shards whose names begin with one of ``folders``, or of all shards."""
        query = f"SELECT {columns} FROM shards"
        for folder in folders:
            yield from self._sql.execute(f"{query} WHERE path>=? AND path<?||char(1114111)", [folder] * 2)
        yield from self._sql.execute(query) if not folders else ()

    def _current(self, present: Mapping[str, ShardStat], folders: Sequence[str] | None) -> bool:
        # Every search asks this for every shard. A current state stays so while nobody has written, here or elsewhere.
        asked = (*self.written(), folders, present)
        if asked != self._was_current:
            rows = self._shards("path, size, mtime_ns, inode", folders or ())
            if {row[0]: row[1:] for row in rows} != present:
                return False
            if not self._sql.in_transaction:  # a rolled-back change does not count as a write
                self._was_current = asked
        return True

    def _take_in(
        self, log: Log, present: Mapping[str, ShardStat], folders: Sequence[str] | None, *, anew: bool
    ) -> None:
        marks, dropped = self._marks(*folders or ()), set[str]()
        since = self._sql.execute("SELECT coalesce(max(seq), 0) FROM lines").fetchone()[0]
        for path in marks.keys() - present.keys():
            self._drop(path, marks[path])
            dropped.add(shard_writer(path)[0])
        wanted = [path for path, stat in present.items() if anew or path not in marks or marks[path].stat != stat]
        for path in sorted(wanted, key=self.chains.reading_order() if len(wanted) > 1 else None):
            if self._catch_up(log, path, present[path], marks.get(path), anew=anew):
                dropped.add(shard_writer(path)[0])
        for path in self.chains.unlinked_among_linked():
            if path in present:  # read before the first line with a link was
                self._drop(path, self._marks(path)[path])
                self._catch_up(log, path, present[path], None, anew=True)
                dropped.add(shard_writer(path)[0])
        for writer in dropped:
            self.chains.recount(writer)
        self.chains.settle(log, since, dropped=bool(dropped))
        self.chains.compare_heads(log)
        self.chains.reckon()
        self.chains.keep_heads()

    def _catch_up(self, log: Log, path: str, stat: ShardStat, mark: Mark | None, *, anew: bool) -> bool:
        """Take in what a shard gained; return whether it was dropped first because it lost something."""
        mark = mark or Mark(0, stat, 0, b"", 0)
        known = mark.seen if not anew and log.only_grew(mark.stat, stat) else 0
        data = log.read(path, known)
        is_changed = known < mark.seen and grown(b"", data[: mark.seen]) != mark.checksum
        if is_changed:
            self._drop(path, mark)
            mark = Mark(0, stat, 0, b"", 0)
        elif not mark.seen:
            self.chains.forget_flaws(path)
        fresh = data[mark.seen - known :]
        found, size = split_lines(fresh)
        self._enter_all(path, mark, fresh, found)
        ended = mark.ended + fresh.count(b"\n", 0, size)
        self.chains.note_end(path, ended + 1, fresh[size:])
        self._note(path, stat, mark.seen + size, grown(mark.checksum, fresh[:size]), ended)
        return is_changed

    def _enter_all(self, path: str, mark: Mark, data: bytes, found: list[tuple[int, bytes]]) -> None:
        """Judge and enter the lines in the unread part of a shard."""
        from ..log.check import checked_id

        def checked(line: bytes) -> Mapping[str, JSON]:
            content = decode_line(line)
            checked_id(content)
            return content

        def has_link(line: bytes) -> bool:
            with suppress(InvalidRecord):
                return "link" in checked(line)
            return False

        @cache
        def mixed() -> bool:  # not called while all of the lines have links
            if self.chains.has_links(shard_writer(path)[0]) or any(
                b'"link"' in line and has_link(line) for _, line in found
            ):
                return True
            return not mark.seen and self.chains.has_lost_links(path, data)

        self._just_said, number, counted = {}, mark.ended + 1, 0
        for start in range(0, len(found), ENTERED_AT_ONCE):
            parsed = list[ParsedLine]()
            for offset, line in found[start : start + ENTERED_AT_ONCE]:
                number, counted = number + data.count(b"\n", counted, offset), offset
                try:
                    parsed.append(ParsedLine((mark.seen + offset, len(line), number), checked(line), line))
                except InvalidRecord as error:
                    self.chains.damaged(path, number, line, str(error))
            self._enter(path, parsed, mixed, size=len(data))

    def _enter(
        self,
        path: str,
        parsed: Sequence[ParsedLine],
        mixed: Callable[[], bool],
        *,
        size: int,
    ) -> None:
        """Judge and enter lines of a shard; ``size`` is their total."""
        key, numbers, shard = self.chains.key_for(shard_writer(path)[0]), self.corpora(), self._shard_number(path)
        ids = [_id_of(content) for _, content, _ in parsed]
        was_relinked = key and any("relinked" in content for _, content, _ in parsed)
        said, ours = self.chains.said(ids), self.chains.ours(ids) if was_relinked else set()
        entries, places = list[ChainedLine](), list[tuple[int, int, tuple[int, int, int]]]()
        for place, content, line in parsed:
            judged = self.chains.judged(content, said, ours=ours, mixed=mixed, key=key, line=line)
            if isinstance(judged, str):
                self.chains.flaw(ShardProblem(TAMPERED, path, place[2], judged), content)
                continue
            entry, text = judged
            if (name := corpus_of(content)) not in numbers:
                numbers[name] = self.corpus(name)
            if entry.link:
                said[entry.id].add(entry.link.body)
                ours.add(entry.id)
                if size < MOST_KEPT:
                    self._just_said[path, place[0]] = text, content if size < MOST_PARSED else EMPTY
            entries.append(entry)
            places.append((numbers[name], shard, place))
        chains = self.chains.joined(path, entries)
        enter_many(self._sql, ENTER, [_row(*one, chains, entry) for one, entry in zip(places, entries, strict=True)])

    def _drop(self, path: str, mark: Mark) -> None:
        """Forget a shard; everything derived from its lines has to be rebuilt."""
        self._sql.execute(
            """UPDATE corpora SET generation = abs(random()), settled = NULL
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


def _settled(up_to: int, strangers: Iterable[str]) -> str:
    return " ".join([str(up_to), *sorted(strangers)])


def _row(
    corpus: int, shard: int, place: tuple[int, int, int], chains: Mapping[str, int], entry: ChainedLine
) -> tuple[object, ...]:
    """Return a line as a row, with its offset, size and number, and what is known about it."""
    offset, size, number = place
    return (
        corpus, shard, offset, size, entry.id, number, chains[entry.owner], entry.type, *(entry.link or _UNLINKED),
    )  # fmt: skip


_UNLINKED = (None, None, None)


def _id_of(data: Mapping[str, JSON]) -> str:
    own_id = data.get("id")
    return own_id if isinstance(own_id, str) else ""


USES_SCHEMA = "CREATE TABLE IF NOT EXISTS access(id TEXT PRIMARY KEY, uses INT, last TEXT) WITHOUT ROWID"


class Use(NamedTuple):
    """How a record was used on this machine."""

    uses: int
    last: str


class AccessCounts:
    """Uses of records, one file per recalling user, so that no user's habits influence another's scores."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._open: dict[str, Database] = {}
        """By user, the most recently requested last."""

    def uses(self, user_id: str, ids: Iterable[str]) -> dict[str, int]:
        """Return how often this user recalled each of ``ids``, without those never recalled; empty if unreadable."""
        if not self._exists(user_id):
            return {}
        query = "SELECT id, uses FROM access WHERE id IN ({0})"
        # In a full or read-only place, SQLite can read a file no more than write it.
        with suppress(OSError, sqlite3.DatabaseError):
            return dict(asked_in(self._database(user_id).sql, query, list(ids)))
        return {}

    def count(self, user_id: str, ids: Iterable[str], moment: datetime) -> None:
        """Count one more use of each of ``ids``; if nothing can be written, nothing is counted."""
        query = """INSERT INTO access SELECT value, 1, ? FROM json_each(?) WHERE true ON CONFLICT(id) DO UPDATE
                   SET uses = uses + 1, last = max(last, excluded.last)"""
        self._let_go_of_gone()
        with suppress(OSError, sqlite3.DatabaseError):  # a single statement is a transaction
            self._database(user_id).sql.execute(query, (to_text(moment), json.dumps(list(ids))))

    def carry_over(self, user_id: str, sources: Iterable[str], target: str) -> None:
        """Count every use of ``sources`` as one of ``target``; if nothing can be written, counting starts anew."""
        ids = list(sources)
        query = f"""INSERT OR REPLACE INTO access SELECT ?, sum(uses), max(last) FROM access
                    WHERE id IN ({",".join("?" * len(ids))}) HAVING sum(uses)"""
        with suppress(OSError, sqlite3.DatabaseError):
            if self._exists(user_id):
                self._database(user_id).sql.execute(query, (target, *ids))

    def totals(self, user_id: str | None = None) -> dict[str, Use]:
        """Return how often and when last each record was recalled by a user, or by anyone.

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
        """Drop the counts of records that no longer exist, and return how many there were."""
        dropped = 0
        for database in self._databases(user_id):
            ids = [id for (id,) in database.sql.execute("SELECT id FROM access") if not is_known(id)]
            with database.transaction():
                database.sql.executemany("DELETE FROM access WHERE id=?", [(id,) for id in ids])
            dropped += len(ids)
        return dropped

    def bring_back(self, user_id: str, counts: Mapping[str, Use]) -> None:
        """Restore counts from elsewhere; of two counts, the higher one is kept."""
        query = """INSERT INTO access VALUES(?,?,?) ON CONFLICT(id) DO UPDATE
                   SET uses = max(uses, excluded.uses), last = max(last, excluded.last)"""
        self._let_go_of_gone()
        database = self._database(user_id)
        with database.transaction():
            database.sql.executemany(query, [(id, use.uses, use.last) for id, use in counts.items()])

    def close(self) -> None:
        """Close all files."""
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
                database.sql.execute(USES_SCHEMA)
            except sqlite3.DatabaseError as error:
                raise ArchiveError(
                    f"The access counts in {path} cannot be read ({error}). Delete that file to start over."
                ) from None
            try:
                yield database
            finally:
                database.close()

    def _exists(self, user_id: str) -> bool:
        self._let_go_of_gone()
        return user_id in self._open or ((path := self._path(user_id)) is not None and path.exists())

    def _let_go_of_gone(self) -> None:
        """Close files that were removed: an erased user's counts must not live on in an open one."""
        for user_id in [user_id for user_id, database in self._open.items() if not database.is_current()]:
            self._open.pop(user_id).close()

    def _database(self, user_id: str) -> Database:
        database = self._open.pop(user_id, None)
        if database is None:
            if self._folder is not None and len(self._open) == OPEN_AT_ONCE:
                self._open.pop(next(iter(self._open))).close()
            # Searching does not sync: losing a count in a power cut does no harm.
            database = Database(self._path(user_id), synchronous="OFF")
            database.sql.execute(USES_SCHEMA)
        self._open[user_id] = database
        return database

    def _path(self, user_id: str) -> Path | None:
        if self._folder is None:
            return None
        path = self._folder / f"{file_stem(user_corpus(user_id))}.sqlite"
        if not path.exists():
            with suppress(OSError):  # the old name, which revealed whose it is
                path.with_name(f"{user_corpus(user_id).encode().hex()}.sqlite").rename(path)
        return path
