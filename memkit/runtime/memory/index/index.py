"""The whole index: a catalogue of the log's lines and one database per corpus, brought up to date on demand.

Entering some thousand records at once takes a tenth of the time of entering them singly, so plain imported records
wait and are entered together. What the next offer may ask about them is answered here meanwhile.
"""

import gc
import sqlite3
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ..log.log import Link, Log, Observe, Span, Users, Written
from ..record.lines import JSON, ArchiveError, InvalidRecord, Sealer, decode_line, is_sealed, shown
from ..record.record import (
    CONSOLIDATED,
    OPEN_TRUSTS,
    SHARED,
    Record,
    corpus_of,
    file_stem,
    replaced_by,
    unplaced,
    user_corpus,
)
from ..words.text import fingerprint, query_terms
from .catalogue import (
    OPEN_AT_ONCE,
    Catalogue,
    CataloguedLine,
    copy_database,
    is_damaged,
    is_read_only,
    is_unwritable,
    remove_database,
)
from .chains import entry_of
from .corpus import CorpusIndex, Position
from .words import one_spelling, sharing

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from .intake import NumberedLine


class WaitingLine(NamedTuple):
    """A staged line that is in no index yet."""

    span: Span
    data: Mapping[str, JSON]
    corpus: str
    link: Link | None


class WaitingLines:
    """The lines of one change, in order."""

    def __init__(self) -> None:
        self.lines: list[WaitingLine] = []
        self._tails: dict[tuple[str, str], bytes] = {}
        self._ids: set[str] = set()
        self._records: defaultdict[str, list[Record]] = defaultdict(list)
        """By corpus."""
        self._values: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        """Positions among the records of a corpus, by corpus and digest."""
        self._held: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        """The same, by corpus and word."""

    def add(self, line: WaitingLine, record: Record, writer: str) -> None:
        """Add a writer's line, which holds ``record``."""
        self.lines.append(line)
        if line.link:
            self._tails[writer, record.user_id] = line.link.own
        records, name = self._records[line.corpus], line.corpus
        self._ids.add(record.id)
        self._values[name, fingerprint(record.text)].append(len(records))
        for term in query_terms(record.text):
            self._held[name, one_spelling(term)].append(len(records))
        records.append(record)

    def tail(self, writer: str, owner: str) -> bytes | None:
        """Return the last waiting line of a writer about a user; None if there is none."""
        return self._tails.get((writer, owner))

    def has(self, id: str) -> bool:
        """Return whether a record with this id is waiting, for any user."""
        return id in self._ids

    def same_value(self, corpus: str, digest: str) -> list[Record]:
        """Return the records of a corpus with this value in any spelling."""
        return [self._records[corpus][place] for place in self._values.get((corpus, digest), ())]

    def sharing(self, corpus: str, terms: Sequence[str], needed: Collection[str], lacking: int) -> list[Record]:
        """Return the records of a corpus that may contain all ``needed`` terms and lack at most ``lacking`` others."""
        if not terms or corpus not in self._records:
            return []
        lists = {term: self._held.get((corpus, one_spelling(term)), ()) for term in terms}
        found = sharing(sorted(terms, key=lambda term: len(lists[term])), needed, lacking, lists.__getitem__)
        return [self._records[corpus][place] for place in found]


def may_wait(record: Record) -> bool:
    """Return whether a new record is certain to be live, whatever other lines say."""
    is_plain = record.actor == "import" and record.trust in OPEN_TRUSTS and not record.is_sealed
    return is_plain and record.scope != SHARED and not replaced_by(record) and CONSOLIDATED not in record.extra


READ_AT_ONCE = 20_000
BYTES_AT_ONCE = 8 << 20
"""Lines, or bytes of them, entered together: their words form one segment, so that few are merged."""
REWRITTEN_AT_MOST = 5
"""How often a corpus is read again because its shards were rewritten meanwhile."""
Answer = TypeVar("Answer")
Unserved = Callable[[OSError | sqlite3.OperationalError], bool]


class Index:
    """Everything that can be looked up about a log. All of it can be deleted and rebuilt."""

    def __init__(
        self,
        log: Log,
        folder: Path | None,
        observe: Observe,
        forgotten_before: Callable[[], str] = lambda: "",
        *,
        sealer: Sealer,
        strangers: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """Index ``log`` in ``folder``; ``strangers`` returns the writers of its lines whom nobody here trusted."""
        self._log = log
        self._sealer = sealer
        self._strangers = strangers
        self._own_folder = self._folder = folder
        self._observe = observe
        self._forgotten_before = forgotten_before
        self._open: OrderedDict[str, CorpusIndex] = OrderedDict()
        self._followed: set[str] = set()
        """Corpora that the current query or change brought up to date; a change holds the store's lock."""
        self._catalogue: Catalogue | None = None
        self.waiting = WaitingLines()
        """Lines of the current change, entered as soon as anyone asks for more than is known here."""
        self._borrowed: TemporaryDirectory[str] | None = None

    @property
    def catalogue(self) -> Catalogue:
        """Return the catalogue, opened on first use."""
        if self.waiting.lines:
            self._enter_waiting()
        return self.entered

    @property
    def entered(self) -> Catalogue:
        """Return the same without entering the waiting lines."""
        if self._catalogue is None:
            path = self._folder / "catalogue.sqlite" if self._folder else None
            self._catalogue = self._whole(lambda: Catalogue(path, self._log.witness), path, self.remove)
        return self._catalogue

    def _let_go_of_gone(self) -> None:
        """Close everything if the catalogue's file was removed; a running query finishes with what it opened."""
        if self._catalogue is not None and not self._is_changing() and not self._catalogue.database.is_current():
            self.close()

    def refresh(self, users: Users = None, *, anew: bool = False) -> None:
        """Take in what the log has gained or lost about ``users``; with ``anew`` all of it is read again."""
        for _ in range(REWRITTEN_AT_MOST):
            self._let_go_of_gone()
            if not self._is_changing():
                self._followed.clear()
            self._served(lambda: self.catalogue.refresh(self._log, users, anew=anew), users=users)
            if self._is_changing() or self.catalogue.database.is_current():
                return  # else an erasure removed it meanwhile, and to it the erased lines are missing

    def refresh_to_write(self, users: Users = None) -> None:
        """Do the same in the store's own place: on a full disk, reading continues elsewhere, but writing does not."""
        if self._folder != self._own_folder:
            self.release()
            self._folder, self._borrowed = self._own_folder, None
        self._let_go_of_gone()
        self._served(lambda: self.catalogue.refresh(self._log, users), helps=is_read_only, users=users)

    def user(self, user_id: str) -> CorpusIndex:
        """Return the index of a user's own records."""
        return self.corpus(user_corpus(user_id))

    def shared(self) -> CorpusIndex:
        """Return the index of the shared records."""
        return self.corpus(SHARED)

    def corpora(self) -> list[str]:
        """Return the names of all corpora."""
        return sorted(self.catalogue.corpora())

    def corpus(self, name: str) -> CorpusIndex:
        """Return the index of a corpus including every catalogued line."""
        if self.waiting.lines:
            self._enter_waiting()
        return self.without_waiting(name)

    def without_waiting(self, name: str) -> CorpusIndex:
        """Return the same without entering the waiting lines."""
        if name in self._followed and name in self._open:
            return self._open[name]
        index = self._served(lambda: self._read_whole(name))
        self._followed.add(name)
        return index

    def _read_whole(self, name: str) -> CorpusIndex:
        """Return the index of a corpus caught up, also if another process rewrites its shards meanwhile."""
        for _ in range(REWRITTEN_AT_MOST):
            try:
                return self._caught_up(name)
            except _Rewritten:
                if self._is_changing():
                    break
                self.refresh(anew=True)
        raise ArchiveError("Another program is rewriting the archive. Nothing was changed; try again when it is done.")

    def is_settled(self, name: str) -> bool:
        """Return whether a corpus had no open questions when last checked, and no line or trust changed since."""
        return self.catalogue.is_settled(name, self._strangers())

    def note_settled(self, name: str, up_to: int) -> None:
        """Note that the lines of a corpus up to this one leave no question open."""
        with self.catalogue.database.transaction():
            self.catalogue.note_settled(name, up_to, self._strangers())

    def corpus_holding(self, id: str, user_id: str | None) -> str | None:
        """Return the corpus in which this user may see the record or event ``id``; None may see all."""
        names = self.catalogue.corpora_of_id(id)
        visible = [name for name in names if user_id is None or name in (SHARED, user_corpus(user_id))]
        return next((name for name in visible if self.corpus(name).has(id)), None)

    def has_id(self, id: str) -> bool:
        """Return whether a line has this id, including waiting ones."""
        return self.waiting.has(id) or bool(self.entered.corpora_of_id(id))

    def noting(self, ask: Callable[[], Answer]) -> Answer:
        """Return the result of ``ask``, which writes to the index; uses another place if that cannot be written."""
        return self._served(ask)

    def add(
        self, span: Span, data: Mapping[str, JSON], name: str, link: Link | None = None, *, sealed: bool = False
    ) -> None:
        """Enter a line, sealed or not, that is about to be written; requires a preceding ``begin``."""
        index = self.corpus(name)
        (number,) = self.catalogue.add([(span, data, link)])
        self._enter(name, [(number, span, data, "")])
        if sealed:
            index.note_keys(self._sealer.state(str(data["user_id"])))

    def _enter(self, name: str, lines: "Sequence[NumberedLine]") -> None:
        """Enter catalogued lines in their corpus, which has all earlier ones."""
        index = self._open[name]
        index.database.begin()
        if index.position().seq == 0:
            state = self.catalogue.state_of(name)
            self._clear(index, name, state[1] if state else 0)
        index.apply(lines)

    def add_later(self, line: WaitingLine, record: Record, writer: str, *, sealed: bool) -> None:
        """Enter a record that is about to be written, together with others if it may wait."""
        if sealed or not may_wait(record):
            self.add(*line, sealed=sealed)
        else:
            self.waiting.add(line, record, writer)

    def _enter_waiting(self) -> None:
        lines, self.waiting = self.waiting.lines, WaitingLines()
        numbers = self.catalogue.add([(line.span, line.data, line.link) for line in lines])
        entering: defaultdict[str, list[NumberedLine]] = defaultdict(list)
        for number, line in zip(numbers, lines, strict=True):
            entering[line.corpus].append((number, line.span, line.data, ""))
        for name, numbered in entering.items():
            self._enter(name, numbered)

    def begin(self) -> None:
        """Start a change that ``commit`` keeps and ``rollback`` undoes."""
        self._followed.clear()
        self.catalogue.database.begin()

    def commit(self, written: Mapping[str, Written]) -> None:
        """Commit the change; the lines are on disk by now, so an index that cannot follow is not an error."""
        try:
            # Before the corpora are released: they are known to contain everything before the waiting lines.
            self.catalogue.advance(self._log, written)
            self.catalogue.database.commit()
            for index in self._open.values():
                index.database.commit()
            self._followed.clear()
        except sqlite3.OperationalError as error:
            self.rollback()
            self._observe({"event": "index", "action": "behind", "reason": str(error)})
        self._close_some(OPEN_AT_ONCE)

    def rollback(self) -> None:
        """Undo the change; the lines did not reach the disk."""
        self.waiting = WaitingLines()
        self._followed.clear()
        for index in self._open.values():
            index.rollback()
        if self._catalogue is not None:
            self._catalogue.database.rollback()

    def close(self) -> None:
        """Close all files."""
        self.waiting = WaitingLines()
        self._close_some(0)
        if self._catalogue is not None:
            self._catalogue.database.close()
            self._catalogue = None

    def release(self) -> None:
        """Close all files for good."""
        self.close()
        if self._borrowed is not None:
            self._borrowed.cleanup()

    def remove(self) -> None:
        """Delete every file of the index."""
        self.close()
        if self._folder is None:
            return
        users = list((self._folder / "users").glob("*.sqlite"))
        for path in (self._folder / "catalogue.sqlite", self._folder / "shared.sqlite", *users):
            remove_database(path)

    def forget(self, name: str) -> None:
        """Delete the files of one corpus."""
        if name in self._open:
            self._open.pop(name).database.close()
        if path := self._path(name):
            remove_database(path)

    def _caught_up(self, name: str) -> CorpusIndex:
        catalogue = self.entered
        index = self._opened(name)
        state = catalogue.state_of(name)
        generation, last = state[1:] if state else (0, 0)
        position = index.position()
        if self._reads_otherwise(index, position, name):
            self.forget(name)  # an index in the old file would keep bytes of deleted rows
            index = self._opened(name)
            position = index.position()
        if not index.database.sql.in_transaction:
            index.note_strangers(self._strangers())
        if (position.generation, position.seq) == (generation, last):
            index.follow(position)
            return index
        with index.database.transaction():
            position = index.position()
            index.follow(position)
            if position.generation != generation or not self._is_on_track(state, position):
                self._clear(index, name, generation)
                position = Position(generation, 0, "")
            if state:
                self._fill(index, name, state[0], position.seq)
        return index

    def _clear(self, index: CorpusIndex, name: str, generation: int) -> None:
        """Empty an index, except for stand-ins for withheld lines."""
        index.clear(generation)
        stand_ins = self.catalogue.chains.stand_ins.of(name)
        index.hold((one.held, one.span.writer, one.span.place, one.bars) for one in stand_ins if one.held)
        said = [(one.span, decode_line(one.line.encode())) for one in stand_ins if one.line]
        index.apply([(0, span, shown(data, self._sealer), "") for span, data in said])
        if sealed := [str(data["user_id"]) for _, data in said if is_sealed(data)]:
            index.note_keys(self._sealer.state(sealed[0]))

    def _is_on_track(self, state: tuple[int, int, int] | None, position: Position) -> bool:
        """Return whether the last line that a corpus took in is still that line."""
        if position.seq == 0:
            return True
        line = self.catalogue.line(position.seq)
        return bool(state and line and line[0] == state[0] and f"{line[1].shard}:{line[1].offset}" == position.place)

    def _reads_otherwise(self, index: CorpusIndex, position: Position, name: str) -> bool:
        """Return whether lines taken in read differently now, with other keys or after a word about their writers.

        Within a change, the initial keys and strangers stay in effect.
        """
        if index.database.sql.in_transaction:
            return False
        if position.keys and position.keys != self._sealer.state(name.removeprefix(user_corpus(""))):
            return True
        return index.has_lines_of(index.strangers() ^ set(self._strangers()))

    def _fill(self, index: CorpusIndex, name: str, corpus: int, after: int) -> None:
        shard, start, content = "", 0, b""
        pending, held = [], 0
        owner, catalogue = None, self.catalogue
        for line in catalogue.lines(corpus, after):
            text, data = catalogue.just_said(line.span)
            if not text:
                if line.span.shard != shard or line.span.offset < start:
                    shard, start = line.span.shard, line.span.offset  # everything before is in the index already
                    content = self._log.read(shard, start)
                first = line.span.offset - start
                data = _still_there(line, name, content[first : first + line.span.size])
            if is_sealed(data):
                owner = str(data["user_id"])
                text, data = "", shown(data, self._sealer)
            pending.append((line.seq, line.span, data, text))
            held += line.span.size
            if len(pending) == READ_AT_ONCE or held > BYTES_AT_ONCE:
                index.apply(pending)
                pending, held = [], 0
        index.apply(pending)
        if owner is not None:
            index.note_keys(self._sealer.state(owner))

    def _opened(self, name: str) -> CorpusIndex:
        index = self._open.get(name)
        if index is not None and not index.database.is_current():
            self._open.pop(name).database.close()
            index = None
        if index is None:
            index = self._open[name] = self._opened_corpus(name)
            if not index.database.sql.in_transaction and not self.entered.database.sql.in_transaction:
                self._close_some(OPEN_AT_ONCE)
        self._open.move_to_end(name)
        return index

    def _whole(self, opened: Callable[[], Answer], path: Path | None, remove: Callable[[], None]) -> Answer:
        """Return the result of ``opened`` for ``path``, starting afresh if that file is damaged."""
        try:
            return opened()
        except sqlite3.DatabaseError as error:
            if path is None or not is_damaged(error):
                raise
            self._observe({"event": "index", "action": "rebuilt", "reason": str(error)})
            remove()
            return opened()

    def _served(self, ask: Callable[[], Answer], helps: Unserved = is_unwritable, users: Users = None) -> Answer:
        """Return the result of ``ask``; after an error that a move ``helps``, the result of the index elsewhere."""
        for tries in count(1):
            try:
                with _uncollected():
                    return ask()
            except (OSError, sqlite3.OperationalError) as error:
                if self._folder is None or self._is_changing() or not helps(error):
                    raise
                is_gone = tries < REWRITTEN_AT_MOST and isinstance(error, sqlite3.Error) and self._was_removed()
            if is_gone:  # made anew in its place: an erasure knows of no other
                self._catalogue, self._open = None, OrderedDict()
            else:
                self._move()
            self.refresh(users)
        raise AssertionError

    def _was_removed(self) -> bool:
        """Return whether a file of the index was removed under the hands of this process."""
        opened = [self._catalogue, *self._open.values()]
        is_there = self._folder is not None and (self._folder / "catalogue.sqlite").exists()
        return not (is_there and all(one.database.is_current() for one in opened if one is not None))

    def _is_changing(self) -> bool:
        return self._catalogue is not None and self._catalogue.database.sql.in_transaction

    def _move(self) -> None:
        """Continue with a copy of the index, or in memory if there is no place for one."""
        # Not closed, because a search may still be reading one of them.
        self._catalogue, self._open = None, OrderedDict()
        if self._borrowed is None:
            with suppress(OSError):
                self._borrow()
                return
        self._folder = None
        self._observe({"event": "index", "action": "in memory"})

    def _borrow(self) -> None:
        """Use a copy of the index, or start empty, if the store itself cannot be written."""
        import tempfile

        own = self._folder or Path()
        self._borrowed = tempfile.TemporaryDirectory(prefix="memkit-index-")
        self._folder = Path(self._borrowed.name) / "cache"
        self._observe({"event": "index", "action": "borrowed", "path": str(self._folder)})
        for path in own.rglob("*.sqlite"):
            copy = self._folder / path.relative_to(own)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy_database(path, copy)

    def _opened_corpus(self, name: str) -> CorpusIndex:
        path = self._path(name)
        return self._whole(
            lambda: CorpusIndex(path, self._forgotten_before), path, lambda: remove_database(path) if path else None
        )

    def _path(self, name: str) -> Path | None:
        if self._folder is None:
            return None
        if name == SHARED:
            return self._folder / "shared.sqlite"
        return self._folder / "users" / f"{file_stem(name)}.sqlite"

    def _close_some(self, keep: int) -> None:
        # An index in memory has no file to recover from.
        while len(self._open) > keep and (self._folder is not None or keep == 0):
            _, index = self._open.popitem(last=False)
            with suppress(sqlite3.ProgrammingError):
                index.database.close()


class _Rewritten(Exception):
    """Tell that a shard was rewritten after the catalogue had taken it in."""


def _still_there(line: CataloguedLine, corpus: str, content: bytes) -> dict[str, JSON]:
    """Return the content of a catalogued line; raise ``_Rewritten`` if something else is in its place by now."""
    try:
        data = decode_line(content)
        if entry_of(data).id != line.id or corpus_of(data) != corpus:
            raise _Rewritten
    except InvalidRecord as error:
        raise _Rewritten from error
    return unplaced(data)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable cycle collection: taken-in lines form no cycles, and searching them took a tenth of the time.

    If several threads do this at once, collection may stay on for the last of them, which is merely slower.
    """
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()
