"""The write gate's view of the archive, and the values that may not come back to a user.

A rejected value is known from its record, an erased one from a keyed digest. Only the value itself is barred, in
every spelling that ``stated`` normalises; a text that says the same in other words is another value.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import accumulate, combinations
from typing import TYPE_CHECKING, NamedTuple

from ..index.corpus import CorpusIndex, core_sections, edits_of_session
from ..index.index import Index
from ..index.words import coverage, weighed
from ..interface import MemorySettings, Tombstone
from ..record.lines import NoTombstoneKey, to_text
from ..record.record import EXPIRED, SHARED, Record, has_expired, is_for, is_valid, user_corpus
from ..words.text import fingerprint, keyed_fingerprints, query_terms

if TYPE_CHECKING:
    from ..record.events import Event


TombstoneKey = Callable[[], bytes | None]
"""Returns the store's key, or None if this machine does not have it."""
ERASED = "erased"
"""The owner of the lines of keyed tombstones: only the digest knows whose value it was."""


class Tombstones:
    """The tombstones of an archive, as seen by one offer."""

    def __init__(self, index: Index, key: TombstoneKey) -> None:
        self._index = index
        self._key = key

    def bars(self, user_id: str, text: str) -> bool:
        """Return whether this value was rejected or erased for this user and not allowed again since."""
        return next(self.of(user_id, text), None) is not None

    def of(self, user_id: str, text: str) -> Iterator[Tombstone]:
        """Yield every tombstone that bars this value."""
        digest = fingerprint(text)
        own = self._index.without_waiting(user_corpus(user_id))  # a line that waits is not a tombstone
        for scope, corpus in (("user", own), (SHARED, self._shared())):
            for record_id in corpus.tombstones(digest) if corpus else ():
                yield Tombstone("rejected", record_id, scope)
        for keyed in self._erased(user_id, text):
            yield Tombstone("erased", keyed, SHARED)

    def cannot_be_checked(self) -> bool:
        """Return whether erased values are barred by digests whose key is not here."""
        shared = self._shared()
        return shared is not None and shared.has_keyed_tombstones() and self._key() is None

    def brought_back(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the records whose value was erased here: a merge passes no gate, and another clone still had them.

        ``records`` is read only where something was erased.
        """
        shared = self._shared()
        erased = {event.target for event in shared.events(op="tombstone")} if shared is not None else set[str]()
        if shared is None or not erased or (key := self._key()) is None:
            return
        barred = {digest for digest in erased if _is_barred(shared, digest)}
        for record in records:
            if not barred.isdisjoint(keyed_fingerprints(key, record.user_id, record.text)):
                yield record

    def _erased(self, user_id: str, text: str) -> Iterator[str]:
        """Yield the digests that bar this value since its erasure."""
        shared = self._shared()
        if shared is None or not shared.has_keyed_tombstones() or (key := self._key()) is None:
            return
        yield from (digest for digest in keyed_fingerprints(key, user_id, text) if _is_barred(shared, digest))

    def _shared(self) -> CorpusIndex | None:
        return _entered_shared(self._index)


def _is_barred(shared: CorpusIndex, digest: str) -> bool:
    from ..record.events import is_proposal

    counting = (event for event in shared.events(target=digest) if not is_proposal(event))
    said = [event.op for event in counting if event.op in ("tombstone", "allow")]
    return bool(said) and said[-1] == "tombstone"


def _entered_shared(index: Index) -> CorpusIndex | None:
    """Return the shared records, none of which ever waits; None if there are none."""
    has_any = index.entered.has_corpus(SHARED) and index.entered.state_of(SHARED)
    return index.without_waiting(SHARED) if has_any else None


def burials(
    key: bytes | None, user_id: str, values: Iterable[str], *, now: datetime, new_id: Callable[[], str]
) -> "Iterator[Event]":
    """Yield the events that bar erased ``values`` of a user without containing anything that reveals them.

    They are ordered by digest, which reveals nothing about the order in which the values were told.

    Raises:
        NoTombstoneKey: There is no key, and a digest without one can be guessed.
    """
    from ..record.events import Event

    if key is None:
        raise NoTombstoneKey("Tombstones of erased values need the store's key, which is not here.")
    at = to_text(now)
    for digest in _once_in_order(keyed_fingerprints(key, user_id, value)[0] for value in values):
        yield Event(id=new_id(), op="tombstone", target=digest, user_id=ERASED, at=at, actor="program", scope=SHARED)


def _once_in_order(texts: Iterable[str]) -> Iterator[str]:
    """Yield ``texts`` sorted and without repeats; SQLite keeps in an unnamed file what exceeds its page cache."""
    import sqlite3  # used only for an erasure
    from contextlib import closing

    with closing(sqlite3.connect("", isolation_level=None)) as base:
        base.execute("CREATE TABLE texts(text TEXT PRIMARY KEY) WITHOUT ROWID")
        base.execute("BEGIN")
        base.executemany("INSERT OR IGNORE INTO texts VALUES(?)", ((text,) for text in texts))
        yield from (text for (text,) in base.execute("SELECT text FROM texts ORDER BY text"))


MOST_SIMILAR = 20
MOST_ROWS = 100
"""The most records scored for one offer, however many contain a common word of it."""


Seen = Callable[[Record], Record]
"""Returns a record with the taint of its writers, if nobody here trusted them."""


class IndexView:
    """The archive as seen by one offer: the user's own records and the shared ones."""

    def __init__(
        self, index: Index, now: datetime, tombstone_key: TombstoneKey, seen: Seen, *, hidden: Collection[str] = ()
    ) -> None:
        self._index = index
        self._now = now
        self._hidden = hidden
        self._seen = seen
        self.tombstones = Tombstones(index, tombstone_key)

    def similar(self, text: str, user_id: str) -> list[Record]:
        """Return live records on the same subject, identical values first, then nearest first, at most twenty."""
        found: dict[str, Record] = {}
        for corpus in self._visible(user_id):
            same = corpus.same_value(fingerprint(text))
            # Hidden records must not take the place of those behind them.
            most = MOST_SIMILAR if not self._hidden else None
            near = self._nearest(corpus, query_terms(text), most)
            found.update({record.id: record for record in (*same, *near)})
        shown = [record for id, record in found.items() if id not in self._hidden]
        return list(map(self._seen, shown[:MOST_SIMILAR]))

    def alike(self, text: str, user_id: str, at: float) -> list[Record]:
        """Return the live records that may say the same as ``text``, identical values first, then oldest first."""
        from ..gate.duplicates import sought

        digest, wanted = fingerprint(text), sought(text, at)
        own, found = user_corpus(user_id), dict[str, Record]()
        for corpus in filter(None, (self._index.without_waiting(own), _entered_shared(self._index))):
            found |= {one.id: one for one in (*corpus.same_value(digest), *corpus.sharing(*wanted))}
        waiting = self._index.waiting
        told = (*waiting.same_value(own, digest), *waiting.sharing(own, *wanted))
        found |= {one.id: one for one in told}
        return [self._seen(record) for id, record in found.items() if id not in self._hidden]

    def holds(self, record: Record) -> bool:
        """Return whether the dates of ``record`` make it valid now."""
        return is_valid(record, self._now)

    def is_tombstoned(self, user_id: str, text: str) -> bool:
        """Return whether this value was rejected or erased for this user, in any spelling."""
        return self.tombstones.bars(user_id, text)

    def session_writes(self, user_id: str, session_id: str) -> int:
        """Return how many records and core memory edits this session wrote, except those of imports and programs."""
        records = sum(corpus.session_writes(session_id, user_id) for corpus in self._visible(user_id))
        return records + edits_of_session(self._index.user(user_id), session_id)

    def live(self, id: str) -> Record | None:
        """Return the record in its present state if it is live."""
        found = (self._index.corpus(name).live(id) for name in self._index.catalogue.corpora_of_id(id))
        return next((self._seen(record) for record in found if record), None)

    def core_sections(self, user_id: str, agent_id: str | None = None) -> dict[str, str]:
        """Return the current core sections of this user's agent."""
        return core_sections(self._index.user(user_id), agent_id)

    def _visible(self, user_id: str) -> list[CorpusIndex]:
        shared = [self._index.shared()] if self._index.catalogue.state_of(SHARED) else []
        return [self._index.user(user_id), *shared]

    def _nearest(self, corpus: CorpusIndex, terms: list[str], most: int | None) -> list[Record]:
        """Return the records that share most of ``terms``: of the rarest words, and the newest with two others."""
        statistics = corpus.statistics(terms)
        rare, common = split_by_rarity(statistics.frequencies, MOST_ROWS)
        documents = corpus.best(rare, statistics, MOST_SIMILAR)
        pairs = combinations(common[:3], 2) if len(common) > 1 else [common]
        for pair in pairs:
            documents += corpus.newest(pair, MOST_SIMILAR // 2)
        query = weighed(statistics, terms)
        worded = corpus.worded(documents)
        shares = {document: (-coverage(query, dict.fromkeys(held, 1.0)), id) for document, id, held in worded}
        return [found.record for found in corpus.found(sorted(shares, key=shares.__getitem__)[:most])]


def split_by_rarity(frequencies: Mapping[str, int], most_rows: int) -> tuple[list[str], list[str]]:
    """Split words into the rarest that occur in at most ``most_rows`` records together, and the rest, rarest first."""
    known = sorted(frequencies, key=lambda term: (frequencies[term], term))
    held = list(accumulate(frequencies[term] for term in known))
    count = bisect_right(held, most_rows)
    return known[:count], known[count:]


# Summaries for a person or a session.

STATUSES = ("live", "superseded", "retired", "quarantined", "rejected")
COUNTED = ("type", "trust", "actor", "scope", "source")
"""Fields of live records whose values are counted."""


class ArchiveCensus(NamedTuple):
    """The content of a part of the archive."""

    records: int
    status: Mapping[str, int]
    live: Mapping[str, Mapping[str, int]]
    """Counts of live records by type, trust, actor, scope and source."""
    tainted: int
    """Live records that may have been steered from outside and are left out of recall."""
    source_urls: int
    """Distinct links that live records came from."""
    text_bytes: int
    """Total size of live records."""
    waiting: Mapping[str, int]
    """Quarantined records and core edits that wait for a person."""
    open_questions: int
    tombstones: Mapping[str, int]
    """Barred values: rejected ones, and keyed digests of erased ones."""
    oldest: str | None
    newest: str | None


def census(
    corpora: Iterable[CorpusIndex], now: datetime, user_id: str | None, open_questions: int, seen: Seen
) -> ArchiveCensus:
    """Count the content of the corpora, of all or of one user; shared records count for their owner.

    A record that is neither closed nor still valid is ``expired``: it answers nothing, and the next sweep retires it.
    """
    status: Counter[str] = Counter(dict.fromkeys(STATUSES, 0))
    live: list[Record] = []
    tombstones, core = Counter({"rejected": 0, "erased": 0}), 0
    for corpus in corpora:
        for record, state in corpus.everything():
            if user_id in (None, record.user_id):
                state = EXPIRED if state == "live" and has_expired(record, now) else state
                status[state] += 1
                live += [record] if state == "live" else []
        tombstones.update(corpus.tombstone_counts())
        core += sum(event.op == "core" for event in corpus.waiting()[1])
    created = [record.created_at for record in live]
    return ArchiveCensus(
        records=status.total(),
        status=dict(status),
        live={field: dict(sorted(Counter(getattr(record, field) for record in live).items())) for field in COUNTED},
        tainted=sum(bool(seen(record).taint) for record in live),
        source_urls=len({record.source_url for record in live if record.source_url}),
        text_bytes=sum(len(record.text.encode()) for record in live),
        waiting={"records": status["quarantined"], "core": core},
        open_questions=open_questions,
        tombstones=dict(tombstones),
        oldest=min(created, default=None),
        newest=max(created, default=None),
    )


class Waiting(NamedTuple):
    """Something without effect until a person approves or rejects it."""

    id: str
    kind: str
    """``record``, ``core``, or an agent's request about a record, such as ``forget``"""
    user_id: str
    text: str
    """The proposed text of the record or section, or the record that it is about."""
    taint: tuple[str, ...] = ()


def waiting(corpora: Iterable[CorpusIndex], user_id: str | None = None) -> list[Waiting]:
    """Return what waits for a person, for everyone or one user, oldest first."""
    found: list[Waiting] = []
    for corpus in corpora:
        records, events = corpus.waiting()
        found += [Waiting(one.id, "record", one.user_id, one.text, one.taint) for one in records]
        for event in events:
            fields, is_core = event.fields, event.op == "core"
            taint = fields.get("taint", ())
            text = f"{event.target.removeprefix('core/')}: {fields.get('text', '')}" if is_core else event.target
            origins = tuple(map(str, taint)) if isinstance(taint, list | tuple) else ()
            found.append(Waiting(event.id, event.op, event.user_id, text, origins))
    return sorted(one for one in found if user_id in (None, one.user_id))


class SessionOpening(NamedTuple):
    """Records shown unasked."""

    goals: tuple[Record, ...] = ()
    """Ordered by due date, then newest first."""
    left_out: int = 0
    """Open goals and commitments beyond ``recall.at_session_start``."""


def opening(
    goals: Iterable[Record],
    settings: MemorySettings,
    now: datetime,
    *,
    session_id: str | None = None,
    agent_id: str | None = None,
) -> SessionOpening:
    """Return what concerns this session and this agent and is sure enough to enter a prompt.

    Nobody asked for it, so only clean records are returned: any other would taint the first turn of every
    session, and could speak to the model there.
    """
    least = settings.retrieval.min_confidence

    def is_fit(record: Record) -> bool:
        return (
            record.confidence >= least
            and not record.taint
            and is_valid(record, now)
            and is_for(record, session_id, agent_id)
        )

    open_goals = sorted(filter(is_fit, goals), key=lambda record: record.id, reverse=True)
    open_goals.sort(key=lambda record: due(record) or "9999")
    most = settings.recall.at_session_start
    return SessionOpening(tuple(open_goals[:most]), max(0, len(open_goals) - most))


def due(record: Record) -> str | None:
    """Return the day by which a goal is to be reached, if one was given."""
    said = record.extra.get("due")
    return said if isinstance(said, str) else None
