"""Queries on the archive: each folds the append-only log through an index that follows it.

A search at the command line is a process of its own, so code that only some queries need is imported by them.
"""

import json
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, date, datetime
from functools import cached_property
from heapq import merge
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar, cast

from ..index.catalogue import OPEN_AT_ONCE, explained
from ..index.chains import MISSING, TAMPERED, TORN
from ..index.corpus import CorpusIndex, consent, core_edit, core_history, core_sections, standing_edits
from ..index.index import Index
from ..interface import (
    ANYWHERE,
    NO_KEYS,
    Circumstances,
    Decision,
    MemorySettings,
    SearchReport,
    ShardProblem,
    StoredRecord,
    StoreKeys,
)
from ..log.clone import cache_folder, lock_file, require_private, state_folder
from ..log.log import Log, Observe
from ..log.shards import is_locked
from ..record.lines import JSON, RecordNotFound, StoreClosed, is_sealed, parse_time, seconds_before, to_text, utc_now
from ..record.record import SHARED, Record, is_for, is_valid, told_when, union, user_corpus, was_true

if TYPE_CHECKING:
    from ..index.catalogue import AccessCounts, Use
    from ..index.chains import Lacking, TamperedLine, Withheld
    from ..index.documents import Documents
    from ..index.graph import MemoryGraph, RelationGraph
    from ..index.search import VectorIndex
    from ..index.steps import Steps
    from ..lifecycle.consolidation import ConsolidationPlan, Tell
    from ..lifecycle.questions import OpenQuestion
    from ..lifecycle.reflection import Infer, Reflection
    from ..lifecycle.revocation import Revocation, RevokedSource
    from ..log.check import Sealed
    from ..record.events import Event
    from .transfer import Brought
    from .view import ArchiveCensus, IndexView, SessionOpening, Waiting


Answer = TypeVar("Answer")


def unobserved(event: dict[str, object]) -> None:
    """Do nothing."""


NOBODY = ""
"""The user of a query that only asks for shared records."""
MOST_USED = 5
"""The number of records in the list of the most used ones."""


def _beginning(one: str, other: str) -> str:
    same = (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
    return one[: next(same, min(len(one), len(other)))]


def _told(record: Record) -> str:
    return told_when(record.created_at, record.id)


def _sorted_aside(held: Iterable[Iterator[Record]]) -> Iterator[Record]:
    """Yield the records of many corpora in the order they were told, reading one corpus at a time.

    SQLite sorts them, in an unnamed file if there are many.
    """
    with closing(sqlite3.connect("", isolation_level=None)) as aside:
        aside.execute("CREATE TABLE told(moment TEXT, data TEXT)")
        aside.execute("BEGIN")
        for records in held:
            rows = ((_told(record), json.dumps(record.to_data())) for record in records)
            aside.executemany("INSERT INTO told VALUES(?, ?)", rows)
        for (data,) in aside.execute("SELECT data FROM told ORDER BY moment"):
            yield Record.from_checked(json.loads(data))


class ArchiveReader:
    """Long-term memory of many users, for reading: the present state, or that of a commit."""

    def __init__(
        self,
        log: Log,
        *,
        path: Path | None = None,
        settings: MemorySettings | None = None,
        clock: Callable[[], datetime] = utc_now,
        observe: Observe = unobserved,
        cache: Path | None = None,
        keys: StoreKeys = NO_KEYS,
        vectors: "Callable[[], VectorIndex] | None" = None,
    ) -> None:
        """Read ``log``; its index is in the store at ``path`` or else in ``cache``, or in memory without either."""
        self.settings = settings or MemorySettings()
        self.path = path
        if path is not None:
            require_private(path)
        self._clock = clock
        self._observe = observe
        self._tombstone_key = keys.tombstone_key
        self._sealer = keys.sealer
        self._vectors = vectors
        self.foreign: Callable[[str], bool] | None = None
        """Returns whether a writer belongs to another clone and nobody here trusted the store."""
        self._guard = threading.RLock()
        self._readers = 0
        """The number of nested queries in progress."""
        self._strange: dict[str, bool] = {}
        self._known_strangers: frozenset[str] | None = None
        """The writers whom nobody here trusted, looked up once per query or change; most stores have none."""
        self._written_as = set[str]()
        """The writers under which this very archive wrote: those of a copy or a draft are no clone's."""
        self._in_question: frozenset[str | None] = frozenset()
        """The users that those queries concern."""
        self._cache = cache
        self.moved: Callable[[], Log | None] = lambda: None
        """Returns where memory moved to since it was opened; None if it did not move."""
        self._read_from(log)
        self._closed = False
        self.damage: list[ShardProblem] = []
        """Problems found in the lines of the shards, or lines moved back; each was reported once."""
        self._told: tuple[object, ...] = ()
        """The catalogue, and its content at the last check."""
        self.leaves_traces = True
        """False while nothing may be written on anyone's behalf: no use is counted, and every write is refused."""

    def _read_from(self, log: Log) -> None:
        self._log = log
        folder = cache_folder(self.path) / log.cache if self.path else self._cache
        self._index = Index(
            log, folder, self._observe, self._forgotten_before, sealer=self._sealer, strangers=self._all_strangers
        )

    def keep_index_in(self, folder: Path) -> None:
        """Keep the index of an in-memory archive in a folder from now on."""
        self._cache = folder
        self._read_from(self._log)

    def _follow_move(self) -> bool:
        """Follow memory to where it was moved meanwhile; return whether it was moved."""
        if (log := self.moved()) is None:
            return False
        self._index.release()
        self._log.close()
        self._read_from(log)
        return True

    @property
    def state_folder(self) -> Path | None:
        """Return the folder of this clone's work in progress; None for an archive in memory."""
        return state_folder(self.path) if self.path else None

    @cached_property
    def _access(self) -> "AccessCounts":
        """Return the access counts of each record on this machine."""
        from ..index.catalogue import AccessCounts

        return AccessCounts(state_folder(self.path) / "access" if self.path else None)

    def count_in(self, counts: "AccessCounts") -> None:
        """Count uses elsewhere from now on, for example where other instances count theirs."""
        self._access = counts

    # ------------------------------------------------------------------ records

    def get(self, record_id: str, *, user_id: str | None = None) -> StoredRecord | None:
        """Return a record in its present state with its history, None if it belongs to another user."""
        with self._reading(user_id):
            name = self._index.corpus_holding(record_id, user_id)
            folded = self._index.corpus(name).stored(record_id) if name else None
            if folded is None:
                return None
            return StoredRecord(
                folded.record,
                folded.status,
                folded.history,
                folded.closed_at,
                folded.ended,
                folded.superseded_by,
                folded.withheld,
            )

    def ids_beginning(self, beginning: str, *, user_id: str | None = None, most: int = 5) -> list[str]:
        """Return up to ``most`` line ids with this prefix, in order; given a user, only of lines about them."""
        with self._reading(user_id):
            catalogue = self._index.catalogue
            found = catalogue.ids_beginning(beginning, most if user_id is None else -1)
            visible = {SHARED, user_corpus(user_id)} if user_id is not None else None
            mine = (id for id in found if visible is None or visible & {*catalogue.corpora_of_id(id)})
            return list(islice(mine, most))

    def shortened(self, ids: Iterable[str], least: int = 6) -> dict[str, str]:
        """Return for each line id its shortest prefix that no other id has."""
        with self._reading(None):
            found: dict[str, str] = {}
            for id in ids:
                is_known, beside = self._index.catalogue.beside(id)
                if is_known:
                    shared = max((len(_beginning(id, other)) for other in beside), default=0)
                    found[id] = id[: max(least, shared + 1)]
            return found

    def decision_under(self, first_id: str, *, user_id: str) -> Decision | None:
        """Return the decision on the offer that wrote a line with this id, None if there is no such line."""
        with self._reading(user_id):
            names = self._index.catalogue.corpora_of_id(first_id)
            visible = (name for name in names if name in (SHARED, user_corpus(user_id)))
            line = next((self._index.corpus(name).line(first_id) for name in visible), None)
            if line is None:
                return None
            from .transfer import decision_behind

            return decision_behind(json.loads(line))

    def forgotten_since(self, record_id: str, *, user_id: str | None = None) -> str | None:
        """Return when a retired or superseded record that only the shards still hold was closed; None for any other."""
        with self._reading(user_id):
            names = self._index.catalogue.corpora_of_id(record_id)
            visible = [name for name in names if user_id is None or name in (SHARED, user_corpus(user_id))]
            return next(filter(None, (self._index.corpus(name).forgotten_since(record_id) for name in visible)), None)

    def records(
        self,
        *,
        user_id: str | None,
        types: Sequence[str] = (),
        tags: Sequence[str] = (),
        scope: str | None = None,
        session_id: str | None = None,
        status: str | None = "live",
        as_of: str | datetime | None = None,
        limit: int | None = None,
    ) -> list[Record]:
        """Return records in order of id: a user's own and the shared ones, or everyone's for None.

        With ``as_of``, return those true then, including records superseded since; ``status`` is ignored. The status
        ``held`` covers live records and those that would be live if somebody here could read their text.
        """
        moment = parse_time(as_of) if as_of is not None else None
        first = "live" if moment or status == "held" else status

        def wanted(record: Record) -> bool:
            fits = set(tags) <= set(record.tags) and scope in (None, record.scope)
            return fits and (moment is None or was_true(record, moment))

        def superseded_since(corpus: CorpusIndex, moment: datetime) -> Iterator[Record]:
            records = (past.record for past in corpus.superseded_after(to_text(moment)))
            fitting = (record for record in records if not types or record.type in types)
            return (record for record in fitting if session_id in (None, record.session_id))

        found: list[Record] = []
        with self._reading(user_id):
            for corpus in self._corpora(user_id):
                held = corpus.records(status=first, types=types, session_id=session_id)
                found += islice(filter(wanted, held), limit)
                found += filter(wanted, superseded_since(corpus, moment)) if moment else ()
                if status == "held":
                    unread = corpus.records(status="sealed", types=types, session_id=session_id)
                    found += islice(filter(wanted, unread), limit)
        return sorted(found, key=lambda record: record.id)[:limit]

    def told(
        self,
        *,
        user_id: str | None,
        types: Sequence[str] = (),
        tags: Sequence[str] = (),
        scope: str | None = None,
        session_id: str | None = None,
        status: str | None = "live",
    ) -> Iterator[Record]:
        """Yield what ``records`` returns, oldest first; the archive is held meanwhile, the records are not."""
        wanted = set(tags)
        states = ("live", "sealed") if status == "held" else (status,)
        with self._reading(user_id):
            held = (
                corpus.records(status=state, types=types, session_id=session_id, by_time=True)
                for corpus in self._corpora(user_id)
                for state in states
            )
            # Beyond this number, the first corpus is closed before the last one is opened, and none can be read on.
            are_many = len(self._names(user_id)) > OPEN_AT_ONCE
            for record in _sorted_aside(held) if are_many else merge(*held, key=_told):
                if wanted <= set(record.tags) and scope in (None, record.scope):
                    yield record

    def browse(
        self,
        user_id: str,
        *,
        status: str = "live",
        types: Sequence[str] = (),
        tags: Sequence[str] = (),
        words: Sequence[str] = (),
        before: str | None = None,
        limit: int = 50,
    ) -> list[Record]:
        """Return one page of what a user may see, newest first, beginning ``before`` an id.

        A search finds what is live; ``words`` find, literally, what is in another state.
        """
        wanted, said = set(tags), [word.casefold() for word in words]
        with self._reading(user_id):
            held = [
                corpus.records(status=status, types=types, newest_first=True, before=before)
                for corpus in self._corpora(user_id)
            ]
            fitting = (
                record
                for record in merge(*held, key=attrgetter("id"), reverse=True)
                if wanted <= set(record.tags) and all(word in record.text.casefold() for word in said)
            )
            return list(islice(fitting, limit))

    def search(
        self,
        query: str,
        *,
        user_id: str,
        k: int | None = None,
        types: Sequence[str] = (),
        tags: Sequence[str] = (),
        min_confidence: float = 0.0,
        as_of: str | datetime | None = None,
        where: Circumstances = ANYWHERE,
    ) -> SearchReport:
        """Return the live records that best fit ``query``, or an abstention if nothing relevant is here.

        At most ``k``; without it five, and more where the query names more things than five records hold.
        """
        from ..index.search import FOUND, ByMeaning, SearchQuestion, search

        question = SearchQuestion(
            query=query, now=self._clock(), k=k, types=types, tags=tags, min_confidence=min_confidence,
            as_of=parse_time(as_of) if as_of is not None else None, session_id=where.session_id,
            agent_id=where.agent_id, task_tags=where.task_tags, bars=lambda record: self._is_barred(user_id, record),
            is_stale=lambda record: bool(self.stale_parents(record)),
        )  # fmt: skip
        if not self._long_term:
            return SearchReport((), abstained=True)
        # The first query loads the host's model.
        told = self.settings.retrieval.vector_floor
        floor = told if isinstance(told, float) else None
        meaning = ByMeaning(self._vectors(), query, floor) if self._vectors is not None else None
        most = FOUND if k is None else k
        with self._reading(user_id):
            corpora = list(self._corpora(user_id))
            related = any(corpus.has_relations() for corpus in corpora)
            report = search(
                question,
                corpora,
                self.settings.retrieval,
                lambda ids: self._access.uses(user_id, ids),
                meaning,
                (lambda: self._steps(query, user_id, corpora, question.as_of, most)) if related else None,
            )
            if self.leaves_traces and report.hits:
                self._access.count(user_id, [hit.id for hit in report.hits], question.now)
        return report

    def core_sections(self, user_id: str, agent_id: str | None = None) -> dict[str, str]:
        """Return the current core sections of a user, those of one agent if the user has several."""
        with self._reading(user_id):
            return core_sections(self._index.user(user_id), agent_id)

    def core_history(self, user_id: str) -> list[dict[str, JSON]]:
        """Return every edit of the core sections of a user's agents, oldest first."""
        with self._reading(user_id):
            return core_history(self._index.user(user_id))

    def core_edit(self, id: str, *, user_id: str | None = None) -> dict[str, JSON] | None:
        """Return one edit of a core section, None if it belongs to another user."""
        with self._reading(user_id):
            name = self._index.corpus_holding(id, user_id)
            edit = core_edit(self._index.corpus(name), id) if name else None
            strangers = self.strangers_of(id, str(edit["user_id"])) if edit else ()
        return {**edit, "taint": union(cast("list[str]", edit["taint"]), strangers)} if edit else None

    def proposal(self, id: str, *, user_id: str | None = None) -> "Event | None":
        """Return a mark on a record that was made under taint and waits for a person, None if it is another user's."""
        from ..record.events import is_proposal

        with self._reading(user_id):
            name = self._index.corpus_holding(id, user_id)
            event = self._index.corpus(name).event(id) if name else None
        return event if event is not None and is_proposal(event) else None

    def is_unreadable(self, id: str, *, user_id: str | None = None) -> bool:
        """Return whether a record or an event is sealed with a key that is elsewhere."""
        with self._reading(user_id):
            name = self._index.corpus_holding(id, user_id)
            line = self._index.corpus(name).line(id) if name else None
        return line is not None and is_sealed(json.loads(line))

    def tainted_by(self, origin: str, *, user_id: str | None = None) -> list[Record]:
        """Return the live records that come from one origin or may have been steered by it."""
        found = self.records(user_id=user_id)
        return [record for record in found if record.taint and origin in (*record.taint, record.source_url)]

    def taint_of(self, record: Record, user_id: str) -> tuple[str, ...]:
        """Return the taint of this user's prompt if ``record`` enters it: its own, or that another user shared it.

        Anything that a person entered at the command line or approved is vouched for, as far as the store is trusted.
        """
        if strangers := self.strangers_of(record.id, record.user_id):
            return (*record.taint, *strangers)
        if record.taint or record.user_id == user_id or record.actor == "person":
            return record.taint
        return () if record.trust == "verified" and record.actor != "user" else (f"record:{record.id}",)

    def core_taint(self, user_id: str, agent_id: str | None = None) -> tuple[str, ...]:
        """Return the taint of a prompt caused by its core sections: writers whom nobody here trusted."""
        if self.foreign is None:
            return ()
        found = (self.strangers_of(event.id, user_id) for event in self._standing_core(user_id, agent_id))
        return tuple(dict.fromkeys(origin for origins in found for origin in origins))

    def core_parents(self, user_id: str, agent_id: str | None = None) -> list[str]:
        """Return the ids of the core edits in the prompt that are in an agent's own words."""
        return [event.id for event in self._standing_core(user_id, agent_id) if event.fields.get("trust") != "verified"]

    def _standing_core(self, user_id: str, agent_id: str | None) -> "list[Event]":
        with self._reading(user_id):
            return list(standing_edits(self._index.user(user_id), agent_id).values())

    def _seen(self, record: Record) -> Record:
        """Return a record as the gate and a plan have to see it: tainted by writers whom nobody here trusted, too."""
        strangers = self._strange_writers(record.id, record.user_id)
        return record._replace(taint=union(record.taint, strangers)) if strangers else record

    def strangers_of(self, id: str, user_id: str) -> tuple[str, ...]:
        """Return a line's writers whom nobody here trusted, unless a writer of this clone approved the line."""
        if self._trusts_all:
            return ()
        with self._reading(user_id):
            return self._strange_writers(id, user_id)

    @property
    def _trusts_all(self) -> bool:
        """Return whether no writer can be a stranger: who writes to a server was let in there."""
        return self.foreign is None or bool(self._log.cache)

    def _strange_writers(self, id: str, user_id: str) -> tuple[str, ...]:
        catalogue = self._index.entered
        found = [one for one in catalogue.writers_of(id) if self._is_strange(one)] if self._all_strangers() else ()
        if not found or (name := self._index.corpus_holding(id, user_id)) is None:
            return ()
        approvals = (event.id for event in self._index.corpus(name).events(target=id) if event.op == "approve")
        own = (not self._is_strange(writer) for one in approvals for writer in catalogue.writers_of(one))
        return () if any(own) else tuple(f"writer:{writer}" for writer in found)

    def _is_strange(self, writer: str) -> bool:
        """Return whether nobody here trusted a writer; looked up once per query or change."""
        if writer not in self._strange:
            is_own = writer in self._written_as
            # Anybody can write lines without links under a name of this clone's.
            name = f"unlinked {writer}" if self._index.entered.chains.holds_unlinked(writer) else writer
            self._strange[writer] = not is_own and self.foreign is not None and self.foreign(name)
        return self._strange[writer]

    def strangers(self) -> frozenset[str]:
        """Return the writers here whom nobody here trusted; a server is not asked, because it has none."""
        if self._trusts_all:
            return frozenset()
        with self._reading(NOBODY):
            return self._all_strangers()

    def _forget_strangers(self) -> None:
        self._strange.clear()
        self._known_strangers = None

    def _all_strangers(self) -> frozenset[str]:
        if self._known_strangers is None:
            writers = () if self._trusts_all else self._index.entered.writers()
            self._known_strangers = frozenset(filter(self._is_strange, writers))
        return self._known_strangers

    def today(self) -> date:
        """Return the day by the archive's clock."""
        return self._clock().date()

    def events_about(self, target: str, *, user_id: str) -> "list[Event]":
        """Return the events about a record or another event, in order; none if it belongs to another user."""
        with self._reading(user_id):
            name = self._index.corpus_holding(target, user_id)
            return self._index.corpus(name).events(target=target) if name else []

    def documents(self, user_id: str, ask: "Callable[[Documents], Answer]") -> "Answer":
        """Return the result of ``ask`` on a user's documents; the archive is held meanwhile."""
        from ..index.documents import Documents

        with self._reading(user_id):
            return ask(Documents(self._index.user(user_id), self._clock()))

    def is_withdrawn(self, id: str, *, user_id: str) -> bool:
        """Return whether a record or an event was revoked and not restored since."""
        from ..record.events import is_proposal

        events = self.events_about(id, user_id=user_id)
        said = [event.op for event in events if event.op in ("revoke", "restore") and not is_proposal(event)]
        return said[-1:] == ["revoke"]

    def consent(self, user_id: str) -> bool | None:
        """Return whether a user agreed to being remembered; None if they never answered."""
        with self._reading(user_id):
            return consent(self._index.user(user_id))

    def users(self) -> list[str]:
        """Return all users of whom something is stored."""
        if (known := self._log.users()) is not None:
            return sorted(known)
        prefix = user_corpus("")
        with self._reading(None):
            return [name.removeprefix(prefix) for name in self._index.corpora() if name != SHARED]

    def newest(
        self,
        user_id: str,
        k: int,
        *,
        types: Sequence[str] = (),
        as_of: str | datetime | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
    ) -> list[Record]:
        """Return the newest records valid for a user, a session and an agent, with enough confidence for a prompt."""
        if not self._long_term:
            return []
        now, least = self._clock(), self.settings.retrieval.min_confidence

        def wanted(record: Record) -> bool:
            holds = as_of is not None or is_valid(record, now)
            meant = is_for(record, session_id, agent_id) and record.confidence >= least
            return holds and meant and not self._is_barred(user_id, record)

        with self._reading(user_id):
            if as_of is not None:
                found = list(filter(wanted, self.records(user_id=user_id, types=types, as_of=as_of)))
            else:
                held = (corpus.records(types=types, newest_first=True) for corpus in self._corpora(user_id))
                found = [record for records in held for record in islice(filter(wanted, records), k)]
        return sorted(found, key=lambda record: record.id, reverse=True)[:k]

    def constraints(self, user_id: str, *, session_id: str | None = None, agent_id: str | None = None) -> list[Record]:
        """Return the live constraints valid now for a user, a session and an agent, if sure enough for a prompt."""
        if not self._long_term:
            return []
        now, least = self._clock(), self.settings.retrieval.min_confidence
        with self._reading(user_id):
            held = (one for one in self.records(user_id=user_id, types=("constraint",)) if is_valid(one, now))
            meant = [one for one in held if is_for(one, session_id, agent_id) and one.confidence >= least]
            return [one for one in meant if not self._is_barred(user_id, one)]

    def value(
        self, user_id: str, key: str, *, session_id: str | None = None, agent_id: str | None = None
    ) -> Record | None:
        """Return the newest clean record with this key that is valid for a user, the user's own before shared ones."""
        if not self._long_term:
            return None
        now = self._clock()
        with self._reading(user_id):
            for corpus in self._corpora(user_id):
                for one in corpus.keyed(key):
                    holds = is_for(one, session_id, agent_id) and is_valid(one, now) and not one.is_sealed
                    if holds and not self._is_barred(user_id, one) and not self.taint_of(one, user_id):
                        return one
        return None

    def opening(self, user_id: str, *, session_id: str | None = None, agent_id: str | None = None) -> "SessionOpening":
        """Return what opens a user's new session: the goals and commitments that are still open."""
        from .view import SessionOpening, opening

        if not self._long_term:
            return SessionOpening()
        with self._reading(user_id):
            found = self.records(user_id=user_id, types=("goal",))
            goals = [one for one in found if not self._is_barred(user_id, one)]
        return opening(goals, self.settings, self._clock(), session_id=session_id, agent_id=agent_id)

    def census(self, user_id: str | None = None) -> "ArchiveCensus":
        """Count the content, of everyone or of one user."""
        from .view import census

        with self._reading(user_id):
            questions = len(self.open_questions(user_id=user_id))
            return census(self._corpora(user_id), self._clock(), user_id, questions, self._seen)

    def open_questions(self, *, user_id: str | None = None, most: int | None = None) -> "list[OpenQuestion]":
        """Return the open questions between records, of everyone or of one user including what they share.

        In each corpus at most ``most`` records that were not examined yet are compared, the newest first.
        """
        with self._reading(user_id):
            names = [name for name in self._names(user_id) if not self._index.is_settled(name)]
            names = [name for name in names if self._index.corpus(name).has_several()]
            if not names:  # true of nearly every search, which then need not load the comparison
                return []
            from ..lifecycle.questions import open_questions

            found = open_questions(self._index, names, self._clock(), most)
            return [one for one in found if user_id in (None, one.user_id)]

    def waiting(self, *, user_id: str | None = None) -> "list[Waiting]":
        """Return what waits for a person: records, edits of core memory, and what an agent wanted done under taint."""
        from .view import waiting

        with self._reading(user_id):
            return waiting(self._corpora(user_id), user_id)

    def held(self) -> "dict[str, Waiting | None]":
        """Return the ids of all lines that have no effect so far, each with what waits for a person, if it does."""
        with self._reading():
            found = dict.fromkeys(id for corpus in self._corpora(None) for id in corpus.without_effect())
            return {**found, **{one.id: one for one in self.waiting()}}

    def most_used(self, user_id: str) -> list[tuple[str, int]]:
        """Return the ids of the records that this user recalled most on this machine, with their counts."""
        with self._guard:
            totals = self._access.totals(user_id)
        ranked = sorted(totals, key=lambda id: (-totals[id].uses, id))
        return [(id, totals[id].uses) for id in ranked[:MOST_USED]]

    def list_records_since(self, timestamp: str | date | float) -> list[Record]:
        """Return the live records of all users that were created after a moment, oldest first.

        A number is seconds since 1970, as ``time.time()`` gives them.
        """
        if isinstance(timestamp, int | float):
            timestamp = datetime.fromtimestamp(timestamp, UTC)
        since = parse_time(timestamp if isinstance(timestamp, datetime) else str(timestamp))
        fresh = (record for record in self.records(user_id=None) if parse_time(record.created_at) > since)
        return sorted(fresh, key=lambda record: (parse_time(record.created_at), record.id))

    def from_source(self, user_id: str, source_url: str) -> list[StoredRecord]:
        """Return a user's records, and the shared ones, that a source stated or confirmed."""
        with self._reading(user_id):
            ids = [id for corpus in self._corpora(user_id) for id in corpus.from_source(source_url)]
        return [stored for id in ids if (stored := self.get(id, user_id=user_id))]

    def access_counts(self, user_id: str) -> "dict[str, Use]":
        """Return the count and time of a user's recalls of each record on this machine."""
        return self._access.totals(user_id)

    def export(self, user_id: str) -> Iterator[str]:
        """Yield every line about a user as written, without its line end; the archive is held meanwhile."""
        from .transfer import held_lines

        with self._reading(user_id):
            yield from held_lines(self._index, user_id)

    def restorable(self, user_id: str, lines: Iterable[Mapping[str, JSON]]) -> "Iterator[Brought]":
        """Yield for each line of ``user_id``'s export whether it is here already, or why it cannot be restored."""
        from .transfer import brought

        shared: set[str] = set()
        with self._reading(user_id):
            for data in lines:
                yield brought(self._index, self.view.tombstones, user_id, data, shared)

    def revocation(self, source: "RevokedSource", *, user_id: str | None = None) -> "Revocation":
        """Return what ``revoke`` would take back."""
        from ..lifecycle.revocation import revocation

        with self._reading(user_id):
            return revocation(source, self._corpora(user_id), user_id)

    def consolidation(self, *, user_id: str | None = None, tell: "Tell | None" = None) -> "ConsolidationPlan":
        """Return the plan for consolidating the memory of one user or of all; ``tell`` words events better."""
        from ..lifecycle.consolidation import KINDS, CoreState, LiveRecords, planned

        cores = {}
        for user in self.users() if user_id is None else [user_id]:
            history = self.core_history(user)
            for agent in {cast("str | None", edit["agent_id"]) for edit in history}:
                own = [edit for edit in history if edit["agent_id"] == agent]
                cores[user, agent] = CoreState(self.core_sections(user, agent), own)
        with self._reading(user_id):
            opened, names, seen = self._index.corpus, self._names(user_id), self._seen
            return planned(
                LiveRecords(opened, names, seen), cores, self.settings, self._clock(), user_id=user_id,
                of_kinds=LiveRecords(opened, names, seen, KINDS), barred=self.view.is_tombstoned, tell=tell,
            )  # fmt: skip

    def relation_graph(
        self,
        user_id: str,
        *,
        around: str | None = None,
        steps: int = 1,
        between: tuple[str, str] | None = None,
        as_of: str | datetime | None = None,
    ) -> "RelationGraph":
        """Return the relations in a user's records: all, those around one entity, or the path between two.

        Raises:
            UnknownName: Nothing here has that name.
        """
        from ..index.graph import UnknownName

        with self._reading(user_id):
            moment = parse_time(as_of) if as_of is not None else None
            graph = self._graph(user_id, list(self._corpora(user_id)), moment)

            def found(name: str) -> list[str]:
                if ids := graph.find(name):
                    return ids
                raise UnknownName(name, graph.known())

            if between is not None:
                return graph.path(found(between[0]), found(between[1]))
            return graph.around(found(around), steps) if around is not None else graph.whole()

    def callings(self, user_id: str, text: str) -> tuple[tuple[str, ...], ...]:
        """Return the words by which a user's records may refer to the person or thing named in ``text``."""
        from ..index.steps import callings

        with self._reading(user_id):
            # An erasure covers every name of its subject, however many there are.
            return callings(text, self._graph(user_id, list(self._corpora(user_id)), None, sys.maxsize))

    def _graph(
        self, user_id: str, corpora: "Sequence[CorpusIndex]", as_of: datetime | None, most_names: int | None = None
    ) -> "MemoryGraph":
        from ..index.graph import MOST_NAMES, MemoryGraph

        foreign = (lambda id: bool(self.strangers_of(id, user_id))) if self.foreign is not None else (lambda id: False)
        databases, most = [one.database.sql for one in corpora], most_names or MOST_NAMES
        return MemoryGraph(databases, user_id, as_of=as_of, is_foreign=foreign, most_names=most)

    def _steps(
        self, query: str, user_id: str, corpora: "Sequence[CorpusIndex]", as_of: datetime | None, k: int
    ) -> "Steps":
        """Return the records reached by relations from what a question names."""
        from ..index.steps import steps

        def mentioning(terms: Sequence[str], most: int) -> list[tuple[str, list[str]]]:
            return [(id, held) for corpus in corpora for _, id, held in corpus.worded(corpus.newest(terms, most))]

        graph = self._graph(user_id, corpora, as_of)
        return steps(query, graph, mentioning, self._clock().date(), 4 * k)

    def reflection(self, user_id: str, *, infer: "Infer | None" = None) -> "Reflection":
        """Return conclusions from a user's records, in levels; ``infer`` finds better words for them."""
        from ..lifecycle.reflection import reflection

        with self._reading(user_id):
            clean = [one for one in self.records(user_id=user_id) if not self.taint_of(one, user_id)]
            graph, now = self.relation_graph(user_id), self._clock()
            return reflection(
                clean, graph, user_id, now, is_stale=lambda one: bool(self.stale_parents(one)), infer=infer
            )

    def stale_parents(self, record: Record) -> list[str]:
        """Return the sources of a conclusion that no longer hold; empty for any other record."""
        if "reflection" not in record.extra:
            return []
        with self._reading(record.user_id):
            corpus, now, stale = self._index.user(record.user_id), self._clock(), []
            for id in record.parents:
                parent = corpus.live(id)
                if parent is None or not is_valid(parent, now) or self.stale_parents(parent):
                    stale.append(id)
            return stale

    # ------------------------------------------------------------------ upkeep

    @property
    def view(self) -> "IndexView":
        """Return the write gate's view of this archive."""
        from .view import IndexView

        with self._reading(NOBODY):
            return IndexView(self._index, self._clock(), self._tombstone_key, self._seen)

    @property
    def log(self) -> Log:
        """Return the log that everything here is read from."""
        return self._log

    def sealed(self, user_id: str) -> int:
        """Return how many of a user's records nobody here can read: their text is sealed and the key is elsewhere."""
        with self._reading(user_id):
            return sum(corpus.sealed() for corpus in self._corpora(user_id))

    def seals(self) -> "Sealed":
        """Return the state of the sealed lines in the shards; every one is tried."""
        from ..log.check import sealed_lines

        with self._guard:
            return sealed_lines(self._log, self._sealer)

    def chain_problems(self) -> list[ShardProblem]:
        """Return the withheld and missing lines, after rereading every shard."""
        return [one for one in self.line_problems() if one.code in (TAMPERED, MISSING)]

    def line_problems(self) -> list[ShardProblem]:
        """Return the same plus damaged lines: everything that prevents moving the archive elsewhere completely.

        A shard unchanged since the last read is not parsed again, so this is much cheaper than ``check``.
        """
        with self._reading(anew=True):
            return self._index.catalogue.chains.problems()

    def tampered(self) -> "list[TamperedLine]":
        """Return the withheld lines, after rereading every shard."""
        with self._reading(anew=True):
            return self._index.catalogue.chains.tampered()

    def is_genuine(self, shard: str, data: Mapping[str, JSON]) -> bool:
        """Return whether a line may stand in a shard: it matches its link and what is known of it."""
        with self._reading():
            return self._index.catalogue.chains.is_genuine(shard, data)

    def chain_notes(self, *, seen: bool = False) -> list[ShardProblem]:
        """Return notes on the chains that are no faults; ``seen`` marks new writers as reported."""
        with self._reading():
            found = self._index.catalogue.chains.notes()
            if seen:
                self._index.catalogue.chains.seen()
            return found

    def own_heads(self) -> dict[str, dict[str, JSON]]:
        """Return this clone's position as a writer, under each of its names."""
        with self._reading(NOBODY):
            return self._index.catalogue.chains.own_heads(self._log.tips())

    def lacking(self, writer: str, head: Mapping[str, JSON]) -> "Lacking | None":
        """Return how the lines of a writer fall short of a head that was kept elsewhere."""
        with self._reading():
            return self._index.catalogue.chains.lacking(writer, head)

    def withheld(self, user_id: str) -> "list[Withheld]":
        """Return a user's lines that are shown to nobody, because they were changed, forged or removed."""
        with self._reading(user_id):
            return self._index.catalogue.chains.withheld(user_id)

    def take_for_gone(self) -> None:
        """Accept the missing lines as gone, because a person said so."""
        with self._reading(), self._index.catalogue.database.transaction():
            self._index.catalogue.chains.accept()

    def check(self) -> list[ShardProblem]:
        """Return the problems in the shards that a person should look at, by file and line."""
        with self._guard:
            from ..log.check import problems

            return [*problems(self._log), *self.seals().problems]

    def refresh(self, user_id: str | None = None) -> None:
        """Take in changes by other processes, people or git to the lines about a user, or about everyone."""
        with self._reading(user_id):
            pass

    def rebuild(self) -> None:
        """Delete and rebuild the index."""
        self.drop_index()
        self.fill(self.corpora())

    def corpora(self) -> list[str]:
        """Return the names of the separately indexed corpora: each user's records, and the shared ones."""
        with self._reading():
            return self._index.corpora()

    def fill(self, names: Iterable[str], vectors: "VectorIndex | None" = None) -> None:
        """Let the index of some corpora, and of their vectors, take in everything that is live."""
        with self._reading():
            for name in names:
                corpus = self._index.corpus(name)
                if vectors is not None:
                    vectors.nearest(corpus, "", 1)

    def record_count(self) -> int:
        """Return the number of records in any state."""
        with self._reading():
            return sum(corpus.count() for corpus in self._corpora(None))

    def drop_index(self) -> None:
        """Delete the index; the next query rebuilds it."""
        with self._guard:
            self._index.remove()

    def forget_index(self, user_id: str) -> None:
        """Delete a user's index, which holds in clear what the shards may hold sealed; it is rebuilt when needed."""
        with self._guard:
            self._index.forget(user_corpus(user_id))

    def close(self) -> None:
        """Close all files. Acknowledged writes are already on disk."""
        with self._guard:
            self._index.release()
            self._log.close()
            if "_access" in vars(self):
                self._access.close()
            self._closed = True

    def __enter__(self) -> Self:
        """Return the archive."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the archive."""
        self.close()

    def asked_about(self, user_id: str) -> AbstractContextManager[None]:
        """Hold the archive while several questions about one user are asked, so that all see the same state."""
        return self._reading(user_id)

    # ------------------------------------------------------------------ inside

    def _forgotten_before(self) -> str:
        return to_text(seconds_before(self._clock(), self.settings.forget.keep_superseded))

    @property
    def _long_term(self) -> bool:
        return self.settings.privacy.long_term != "off"

    @contextmanager
    def _reading(self, user_id: str | None = None, *, anew: bool = False) -> Iterator[None]:
        """Hold the archive for a query about one user, or about everyone for None; ``anew`` rereads everything."""
        with self._guard, explained(self.path, lambda: self._index.remove()):
            self._check_open()
            if not self._readers:
                self._forget_strangers()
                self._follow_move()
            # A nested query sees the same state.
            if anew or not self._readers or not self._in_question & {user_id, None}:
                users = None if user_id is None else [user_id] if user_id != NOBODY else ()
                self._index.refresh(users, anew=anew)
                self._tell_problems()
            before, self._in_question = self._in_question, self._in_question | {user_id, NOBODY}
            self._readers += 1
            try:
                yield
            finally:
                self._readers -= 1
                self._in_question = before

    def _tell_problems(self) -> None:
        """Report once the problems with the lines: those withheld, missing or damaged, and those moved back."""
        catalogue = self._index.catalogue
        chains = catalogue.chains
        if not chains.has_something_to_say() or (state := (catalogue, *catalogue.written())) == self._told:
            return
        found, known = [*chains.problems(), *chains.moved_back_since()], set(self.damage)
        # While a process is writing, its whole line may so far look torn.
        is_early = any(one.code == TORN for one in found) and self.path is not None and is_locked(lock_file(self.path))
        news = [one for one in found if one not in known and not (is_early and one.code == TORN)]
        self._told = () if is_early else state
        self.damage += news
        if news:
            self._observe({"event": "damage", "problems": news})

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("This archive was closed. Open it again.")

    def _is_barred(self, user_id: str, record: Record) -> bool:
        """Return whether a shared record says what this user rejected, or what was erased for them."""
        if record.scope != SHARED:
            return False
        from .view import Tombstones

        return Tombstones(self._index, self._tombstone_key).bars(user_id, record.text)

    def _visible(self, record_id: str, user_id: str) -> StoredRecord:
        stored = self.get(record_id, user_id=user_id)
        if stored is None:
            raise RecordNotFound(f"No record {record_id!r:.60} of user {user_id!r:.60} is here.")
        return stored

    def _corpora(self, user_id: str | None) -> Iterator[CorpusIndex]:
        # One at a time: with many users the first is closed before the last is opened.
        return map(self._index.corpus, self._names(user_id))

    def _names(self, user_id: str | None) -> list[str]:
        if user_id is None:
            return self._index.corpora()
        return [name for name in (user_corpus(user_id), SHARED) if self._index.catalogue.has_corpus(name)]
