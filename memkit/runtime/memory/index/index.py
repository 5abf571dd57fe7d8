"""The whole index: a catalogue of the log's lines and one database per corpus, brought up to date when asked.

To enter some thousand records at once takes a tenth of what it takes one by one, so plain records of imports wait and
are entered together. What the next offer may ask of them stands here meanwhile.
"""

import gc
import sqlite3
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ..log.log import Link, Log, Observe, Span, Users, Written
from ..record.lines import JSON, Sealer, decode_line, is_sealed, shown
from ..record.record import CONSOLIDATED, OPEN_TRUSTS, SHARED, Record, file_stem, replaced_by, unplaced, user_corpus
from ..words.text import fingerprint, query_terms
from .catalogue import OPEN_AT_ONCE, Catalogue, copy_database, is_damaged, is_read_only, is_unwritable, remove_database
from .corpus import CorpusIndex, Position
from .words import one_spelling, sharing

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from .intake import NumberedLine


class WaitingLine(NamedTuple):
    """A line that is staged, and in no index."""

    span: Span
    data: Mapping[str, JSON]
    corpus: str
    link: Link | None


class WaitingLines:
    """The lines of one change, in their order."""

    def __init__(self) -> None:
        self.lines: list[WaitingLine] = []
        self._tails: dict[tuple[str, str], bytes] = {}
        self._ids: set[str] = set()
        self._records: defaultdict[str, list[Record]] = defaultdict(list)
        """Of each corpus."""
        self._values: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        """Places among the records of a corpus, by corpus and digest."""
        self._held: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        """The same by corpus and word."""

    def add(self, line: WaitingLine, record: Record, writer: str) -> None:
        """Take one more line of a writer, which holds ``record``."""
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
        """Return the line of a writer about a user that waits last; None where none does."""
        return self._tails.get((writer, owner))

    def has(self, id: str) -> bool:
        """Return whether a record of this id waits, of whomever."""
        return id in self._ids

    def same_value(self, corpus: str, digest: str) -> list[Record]:
        """Return the records of a corpus whose value is spelled like this or otherwise."""
        return [self._records[corpus][place] for place in self._values.get((corpus, digest), ())]

    def sharing(self, corpus: str, terms: Sequence[str], needed: Collection[str], lacking: int) -> list[Record]:
        """Return the records of a corpus that may hold what is ``needed`` and all other terms but so many."""
        if not terms or corpus not in self._records:
            return []
        lists = {term: self._held.get((corpus, one_spelling(term)), ()) for term in terms}
        found = sharing(sorted(terms, key=lambda term: len(lists[term])), needed, lacking, lists.__getitem__)
        return [self._records[corpus][place] for place in found]


def may_wait(record: Record) -> bool:
    """Return whether nothing that is known of other lines can make of a new record anything but a live one."""
    is_plain = record.actor == "import" and record.trust in OPEN_TRUSTS and not record.is_sealed
    return is_plain and record.scope != SHARED and not replaced_by(record) and CONSOLIDATED not in record.extra


READ_AT_ONCE = 20_000
BYTES_AT_ONCE = 8 << 20
"""Lines are entered together, so many of them or of their bytes: their words make one segment, and few are merged."""
Answer = TypeVar("Answer")
Unserved = Callable[[OSError | sqlite3.OperationalError], bool]


class Index:
    """What can be looked up about a log. Everything here can be deleted and comes back."""

    def __init__(
        self,
        log: Log,
        folder: Path | None,
        observe: Observe,
        forgotten_before: Callable[[], str] = lambda: "",
        *,
        sealer: Sealer,
    ) -> None:
        self._log = log
        self._sealer = sealer
        self._own_folder = self._folder = folder
        self._observe = observe
        self._forgotten_before = forgotten_before
        self._open: OrderedDict[str, CorpusIndex] = OrderedDict()
        self._followed: set[str] = set()
        """Corpora that the question or the change under way caught up with; a change has the store's lock."""
        self._catalogue: Catalogue | None = None
        self.waiting = WaitingLines()
        """Lines of the change under way that are entered as soon as anybody asks for more than what is here."""
        self._borrowed: TemporaryDirectory[str] | None = None

    @property
    def catalogue(self) -> Catalogue:
        """Return the catalogue, opened when it is first asked for."""
        if self.waiting.lines:
            self._enter_waiting()
        return self.entered

    @property
    def entered(self) -> Catalogue:
        """Return the same but for the lines that wait."""
        if self._catalogue is None:
            self._catalogue = self._opened_catalogue()
        return self._catalogue

    def _let_go_of_gone(self) -> None:
        """Close everything where the catalogue's file was taken away; a question that runs ends with what it opened."""
        if self._catalogue is not None and not self._is_changing() and not self._catalogue.database.is_current():
            self.close()

    def refresh(self, users: Users = None, *, anew: bool = False) -> None:
        """Take in what the log has gained or lost of what is about ``users``; with ``anew`` all of it is read again."""
        self._let_go_of_gone()
        if not self._is_changing():
            self._followed.clear()
        self._served(lambda: self.catalogue.refresh(self._log, users, anew=anew), users=users)

    def refresh_to_write(self, users: Users = None) -> None:
        """Take in the same in the store's own place: on a full disk reading goes on elsewhere and writing does not."""
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
        """Return the index of a corpus with every catalogued line in it."""
        if self.waiting.lines:
            self._enter_waiting()
        return self.without_waiting(name)

    def without_waiting(self, name: str) -> CorpusIndex:
        """Return the same but for the lines that wait."""
        if name in self._followed and name in self._open:
            return self._open[name]
        index = self._served(lambda: self._caught_up(name))
        self._followed.add(name)
        return index

    def corpus_holding(self, id: str, user_id: str | None) -> str | None:
        """Return the corpus in which this user may see the record or event ``id``; None may see all."""
        names = self.catalogue.corpora_of_id(id)
        visible = [name for name in names if user_id is None or name in (SHARED, user_corpus(user_id))]
        return next((name for name in visible if self.corpus(name).has(id)), None)

    def has_id(self, id: str) -> bool:
        """Return whether a line has this id, one that waits included."""
        return self.waiting.has(id) or bool(self.entered.corpora_of_id(id))

    def noting(self, ask: Callable[[], Answer]) -> Answer:
        """Return what ``ask`` says, which notes something in the index; elsewhere if its place cannot be written."""
        return self._served(ask)

    def add(
        self, span: Span, data: Mapping[str, JSON], name: str, link: Link | None = None, *, sealed: bool = False
    ) -> None:
        """Enter what a line says that is about to be written, sealed or not; ``begin`` came before.

        Args:
            span: Where it will lie.
            data: What it says.
            name: Of the corpus that it belongs to.
            link: Where it stands among the lines of its writer.
            sealed: Whether it is written sealed.
        """
        index = self.corpus(name)
        (number,) = self.catalogue.add([(span, data, link)])
        self._enter(name, [(number, span, data, "")])
        if sealed:
            index.note_keys(self._sealer.state(str(data["user_id"])))

    def _enter(self, name: str, lines: "Sequence[NumberedLine]") -> None:
        """Enter lines that the catalogue has in their corpus, which held all before them."""
        index = self._open[name]
        index.database.begin()
        if index.position().seq == 0:
            state = self.catalogue.state_of(name)
            self._clear(index, name, state[1] if state else 0)
        index.apply(lines)

    def add_later(self, line: WaitingLine, record: Record, writer: str, *, sealed: bool) -> None:
        """Enter a record that is about to be written, with others where it may wait for them."""
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
        """Start a change that ``commit`` keeps and ``rollback`` drops."""
        self._followed.clear()
        self.catalogue.database.begin()

    def commit(self, written: Mapping[str, Written]) -> None:
        """Keep what was added; the lines are on disk now, so an index that cannot follow is no failure."""
        try:
            # Before the corpora are let go: they are known to hold all that comes before what waits.
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
        """Drop what was added; the lines did not reach the disk."""
        self.waiting = WaitingLines()
        self._followed.clear()
        for index in self._open.values():
            index.rollback()
        if self._catalogue is not None:
            self._catalogue.database.rollback()

    def close(self) -> None:
        """Let go of all files."""
        self.waiting = WaitingLines()
        self._close_some(0)
        if self._catalogue is not None:
            self._catalogue.database.close()
            self._catalogue = None

    def release(self) -> None:
        """Let go of all files for good."""
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
        if self._keys_changed(index, position, name):
            index = self._emptied(name)
            position = index.position()
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
                self._fill(index, state[0], position.seq)
        return index

    def _clear(self, index: CorpusIndex, name: str, generation: int) -> None:
        """Empty an index, but for what stands in for lines that are withheld."""
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

    def _keys_changed(self, index: CorpusIndex, position: Position, name: str) -> bool:
        """Return whether its sealed lines read otherwise now; within a change the keys stay those it began with."""
        if not position.keys or index.database.sql.in_transaction:
            return False
        return position.keys != self._sealer.state(name.removeprefix(user_corpus("")))

    def _emptied(self, name: str) -> CorpusIndex:
        """Return a new index in a new file: bytes of deleted rows would stay in the old one."""
        self.forget(name)
        return self._opened(name)

    def _fill(self, index: CorpusIndex, corpus: int, after: int) -> None:
        shard, start, content = "", 0, b""
        pending, held = [], 0
        owner, catalogue = None, self.catalogue
        for line in catalogue.lines(corpus, after):
            text, data = catalogue.just_said(line.span)
            if not text:
                if line.span.shard != shard or line.span.offset < start:
                    shard, start = line.span.shard, line.span.offset  # what comes before is in the index already
                    content = self._log.read(shard, start)
                first = line.span.offset - start
                data = unplaced(decode_line(content[first : first + line.span.size]))
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

    def _opened_catalogue(self) -> Catalogue:
        path = self._folder / "catalogue.sqlite" if self._folder else None
        return self._whole(lambda: Catalogue(path, self._log.witness), path, self.remove)

    def _whole(self, opened: Callable[[], Answer], path: Path | None, remove: Callable[[], None]) -> Answer:
        """Return what ``opened`` opens at ``path``, anew where what lies there is damaged."""
        try:
            return opened()
        except sqlite3.DatabaseError as error:
            if path is None or not is_damaged(error):
                raise
            self._observe({"event": "index", "action": "rebuilt", "reason": str(error)})
            remove()
            return opened()

    def _served(self, ask: Callable[[], Answer], helps: Unserved = is_unwritable, users: Users = None) -> Answer:
        """Return what ``ask`` says; after an error that another place ``helps``, what it says of the index there."""
        while True:
            try:
                with _uncollected():
                    return ask()
            except (OSError, sqlite3.OperationalError) as error:
                if self._folder is None or self._is_changing() or not helps(error):
                    raise
            self._move()
            self.refresh(users)

    def _is_changing(self) -> bool:
        return self._catalogue is not None and self._catalogue.database.sql.in_transaction

    def _move(self) -> None:
        """Go on with a copy of the index; where that has no place either, in memory."""
        # Not closed, because a search may still be reading one of them.
        self._catalogue, self._open = None, OrderedDict()
        if self._borrowed is None:
            with suppress(OSError):
                self._borrow()
                return
        self._folder = None
        self._observe({"event": "index", "action": "in memory"})

    def _borrow(self) -> None:
        """Work on a copy of the index, or from nothing, where the store itself cannot be written."""
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
        # An index in memory has no file to come back from.
        while len(self._open) > keep and (self._folder is not None or keep == 0):
            _, index = self._open.popitem(last=False)
            with suppress(sqlite3.ProgrammingError):
                index.database.close()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Let nobody look for cycles: lines that are taken in make none, and to go through them took a tenth of the time.

    Threads that do this at once may leave it on for the last of them, which is only slower.
    """
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()
