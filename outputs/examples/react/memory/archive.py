"""Archival memory: records that last, in an append-only log that people can read, with one way in.

A search at the command line is a process of its own, so what only writing needs is imported by the first write.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from .access import AccessCounts
from .errors import MAKE_ROOM, ArchiveError, LongTermOff, NotAllowed, RecordNotFound, Refused, StoreClosed, StoreFull
from .index import Index
from .index_catalogue import SHARED, user_corpus
from .index_corpus import CorpusIndex
from .index_database import is_damaged
from .index_words import word_index
from .interface import Decision, Gate, Problem, Reason, SearchReport, StoredRecord, Tombstone
from .locking import NO_ROOM
from .log import Log, MemoryLog, Observe
from .masking import masked
from .record import JSON, Draft, Origin, Record, lowest_trust, new_id, utc_now
from .sealing import NoSealer, Sealer
from .search import Meaning, Question, search
from .settings import MemorySettings
from .shards import Branch, ShardLog
from .times import parse_time, seconds_before, to_text
from .validity import was_true

if TYPE_CHECKING:
    from .access import Use
    from .census import Census
    from .change import Change
    from .consolidation import Consolidated, Plan
    from .context import MainContext
    from .episodes import Tell
    from .forgetting import Swept
    from .holdings import Brought
    from .revocation import Revocation, Source
    from .sealing import Sealed
    from .tools import MemoryTools
    from .vectors import VectorIndex
    from .view import IndexView

IMPORTED_AT_ONCE = 200
LOCK_SECONDS = 30.0


def unobserved(event: dict[str, object]) -> None:
    """Take notice of nothing."""


class ArchivalStore:
    """Long-term memory of many users; ``offer`` is the only way in."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        settings: MemorySettings | None = None,
        writer: str | None = None,
        branch: Branch = None,
        clock: Callable[[], datetime] = utc_now,
        new_id: Callable[[], str] = new_id,
        observe: Observe | None = None,
        gate: Gate | None = None,
        engine: str | None = None,
        lock_timeout: float = LOCK_SECONDS,
        tombstone_key: Callable[[], bytes | None] = lambda: None,
        log: Log | None = None,
        cache: Path | None = None,
        sealer: Sealer | None = None,
        vectors: "Callable[[], VectorIndex] | None" = None,
    ) -> None:
        """Open the archive at ``path``, one in memory, or one that reads ``log`` and keeps its index in ``cache``."""
        self.settings = settings or MemorySettings()
        self.path = Path(path) if path is not None else None
        self._clock = clock
        self._new_id = new_id
        self._observe = observe or unobserved
        self._given_gate = gate
        self._tombstone_key = tombstone_key
        self._sealer = sealer or NoSealer()
        self._guard = threading.RLock()
        self._log: Log = log or MemoryLog()
        if self.path is not None:
            if self.path.exists() and not self.path.is_dir():
                raise ArchiveError(f"{self.path} is not a directory, so it cannot be a store.")
            self._log = ShardLog(
                self.path, clock=clock, writer=writer, branch=branch, observe=self._observe, timeout=lock_timeout
            )
        self._index = Index(
            self._log,
            cache or _cache_folder(self.path),
            word_index(engine),
            self._observe,
            self._forgotten_before,
            sealer=self._sealer,
        )
        self._access = AccessCounts(self.path / ".memkit" / "state" / "access" if self.path else None)
        self._vectors = vectors
        self._closed = False

    # ------------------------------------------------------------------ writing

    def offer(self, draft: Draft, origin: Origin, *, consented: bool = True) -> Decision:
        """Offer a draft to the write gate, carry out what it decides, and return that once it is on disk."""
        with self._change() as change:
            return change.offer(draft, origin, consented=consented)

    def import_many(
        self, pairs: Iterable[tuple[Draft, Origin]], *, consented: Callable[[str], bool] = lambda user_id: True
    ) -> Iterator[Decision]:
        """Offer many drafts, with one lock and one sync for some hundred of them; yield what became of each.

        What an import brought before is not written again, and what supersedes a record of the same import finds it.
        """
        from .arrivals import Arrivals

        arrivals, remaining = Arrivals(), iter(pairs)
        while chunk := list(islice(remaining, IMPORTED_AT_ONCE)):
            with self._change() as change:
                decisions = [
                    change.bring(draft, origin, arrivals, consented=consented(origin.user_id))
                    if origin.actor == "import"
                    else change.offer(draft, origin, consented=consented(origin.user_id))
                    for draft, origin in chunk
                ]
            yield from decisions

    def restore(
        self, user_id: str, lines: Iterable[Mapping[str, JSON]], origin: Origin
    ) -> Iterator[list[Mapping[str, JSON]]]:
        """Write the lines of an export as they are, for a person who brings a user back; yield what is on disk.

        This is the one way past the gate: an export says what was judged already. ``restorable`` says what may come.

        Raises:
            NotAllowed: It is no person who asks.
            InvalidRecord: A line may not come; what was yielded is on disk, and nothing else is.
        """
        if origin.actor != "person":
            raise NotAllowed(f"Only a person can restore an export; this came from {origin.actor}.")
        if not self._long_term:
            raise LongTermOff("This store keeps nothing beyond a session: privacy.long_term is off.")
        shared: set[str] = set()
        remaining = iter(lines)
        while chunk := list(islice(remaining, IMPORTED_AT_ONCE)):
            with self._change() as change:
                written = [data for data in chunk if change.restore(user_id, data, shared)]
            yield written

    def supersede(self, record_id: str, text: str, origin: Origin, *, reason: str = "") -> Decision:
        """Offer ``text`` in place of a live record, which keeps its type, tags and scope and stays in the history."""
        old = self._visible(record_id, origin.user_id).record
        by_person = origin.actor in ("person", "user")
        draft = Draft(
            text=text, type=old.type, scope=old.scope, tags=old.tags, importance=old.importance, supersedes=record_id,
            confidence=0.95 if by_person else old.confidence, source="explicit" if by_person else "inferred",
            extra={"reason": masked(reason)} if reason else {},
        )  # fmt: skip
        least = lowest_trust(origin.trust_cap, old.trust)
        return self.offer(draft, origin if by_person else origin._replace(trust_cap=least))

    def mark(self, op: str, record_id: str, origin: Origin, *, reason: str = "", **fields: JSON) -> None:
        """Write down that a record was confirmed, contradicted, rejected, approved, forgotten or updated."""
        with self._change() as change:
            change.mark(op, record_id, origin, reason, fields)

    def merge(self, ids: Sequence[str], origin: Origin, *, text: str | None = None, reason: str = "") -> Decision:
        """Offer one record in the place of several live ones; without ``text`` it says what they say together.

        Raises:
            InvalidRecord: There are fewer than two, or they are not of one user and scope.
            RecordNotFound: This user does not have one of them.
            NotAllowed: One of them is not live.
        """
        with self._change() as change:
            decision = change.merge(ids, text, origin, reason)
        if decision.id is not None:
            self._access.carry_over(origin.user_id, ids, decision.id)
        return decision

    def revocation(self, source: "Source", *, user_id: str | None = None) -> "Revocation":
        """Return what ``revoke`` would take back."""
        from .revocation import revocation

        with self._reading():
            return revocation(source, self._corpora(user_id), user_id)

    def revoke(self, source: "Source", origin: Origin, *, user_id: str | None = None, reason: str = "") -> "Revocation":
        """Take back everything that came from a source, of one user or of all, and everything made of it.

        Raises:
            NotAllowed: It is no person who asks.
        """
        with self._change() as change:
            return change.revoke(source, origin, user_id, reason)

    def learn(self, ids: Iterable[str], success: bool, origin: Origin, *, reason: str = "") -> list[str]:
        """Let the outcome of an action move the confidence of the live records it used; return which those were.

        It says nothing about where they come from, so it makes none of them more trusted.
        """
        op, program = "confirm" if success else "contradict", origin._replace(actor="program")
        with self._change() as change:
            return [id for id in dict.fromkeys(ids) if change.learn(op, id, program, reason)]

    def echo(self, record_id: str, origin: Origin) -> Decision:
        """Decide that an offer repeats a record which was recalled in the same turn: no new evidence, and told so."""
        reason = Reason("recalled", f"It repeats {record_id}, recalled in this turn; that is no new evidence.")
        who = {"actor": origin.actor, "user_id": origin.user_id, "session_id": origin.session_id}
        self._observe({"event": "merge", **who, "turn_id": origin.turn_id, "ids": [record_id], "reason": reason.code})
        return Decision("merged", record_id, (reason,))

    def edit_core(
        self, user_id: str, section: str, text: str, origin: Origin, *, reason: str = "", consented: bool = True
    ) -> Decision:
        """Offer ``text`` as the whole new content of a core section."""
        with self._change() as change:
            owner = origin._replace(user_id=user_id)
            return change.edit_core(section, text, owner, reason, consented=consented)

    def set_consent(self, user_id: str, granted: bool, origin: Origin) -> None:
        """Write down that a user agrees to being remembered, or no longer does."""
        with self._change() as change:
            change.set_consent(granted, origin._replace(user_id=user_id))

    def allow(self, value: str, origin: Origin, *, reason: str = "") -> list[Tombstone]:
        """Let a rejected or erased value, or that of a rejected record by its id, be told again; return what barred it.

        Raises:
            NotAllowed: It is no person who asks.
        """
        with self._change() as change:
            return change.allow(value, origin, reason)

    def bury(self, user_id: str, values: Iterable[str]) -> int:
        """Bar the erased ``values`` of a user by keyed digests, written in one batch; return how many there are.

        Raises:
            NoTombstoneKey: The store's key is not here.
        """
        with self._change() as change:
            return change.bury(user_id, values)

    def sweep(self, *, user_id: str | None = None, dry_run: bool = False) -> "Swept":
        """Retire what the forgetting cycle finds due, of one user or of all, with one lock and one sync."""
        from .forgetting import ForgettingCycle

        with self._reading():
            # What is shared is used by all, so everybody's counts are asked whomever is swept.
            cycle = ForgettingCycle(self.settings.forget, self._clock(), self._access.totals())
            swept = cycle.due(self._corpora(user_id), user_id)
        if dry_run or not swept.retired:
            return swept
        with self._change() as change:
            return cycle.carry_out(swept, change, self._index)

    def consolidation(self, *, user_id: str | None = None, tell: "Tell | None" = None) -> "Plan":
        """Return what consolidating memory, of one user or of all, would do; ``tell`` finds better words for events."""
        from .consolidation import Core, planned

        users = self.users() if user_id is None else [user_id]
        cores = {user: Core(self.core_sections(user), self.core_history(user)) for user in users}
        records = (record for record in self.records(user_id=user_id) if user_id in (None, record.user_id))
        with self._reading():
            return planned(records, cores, self.settings, self._clock(), barred=self.view.is_tombstoned, tell=tell)

    def consolidate(self, plan: "Plan", *, note: str = "") -> "Consolidated":
        """Carry out a plan through the write gate, in one batch; ``note`` says what it was planned from."""
        from .consolidation import carry_out

        with self._change() as change:
            return carry_out(plan, change, note)

    def drop_stale_counts(self, *, user_id: str | None = None) -> int:
        """Drop the access counts of records that no shard holds any more, and return how many."""
        with self._reading():
            return self._access.keep(lambda id: bool(self._index.catalogue.corpora_of_id(id)), user_id)

    # ------------------------------------------------------------------ reading

    def get(self, record_id: str, *, user_id: str | None = None) -> StoredRecord | None:
        """Return a record in its present state with its history; another user's id is None."""
        with self._reading():
            name = self._index.corpus_holding(record_id, user_id)
            folded = self._index.corpus(name).stored(record_id) if name else None
            if folded is None:
                return None
            return StoredRecord(folded.record, folded.status, folded.history, folded.closed_at, folded.ended)

    def forgotten_since(self, record_id: str, *, user_id: str | None = None) -> str | None:
        """Return when a record was retired or superseded that is kept in the shards only; None for any other."""
        with self._reading():
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
        sealed: bool = False,
        limit: int | None = None,
    ) -> list[Record]:
        """Return records in the order of their ids: a user's own and the shared ones, or everybody's for None.

        With ``as_of`` those that were true then, which takes in what was superseded since; ``status`` is passed over.
        With ``sealed`` also those that would be live and whose text nobody here can read.
        """
        moment = parse_time(as_of) if as_of is not None else None

        def wanted(record: Record) -> bool:
            fits = set(tags) <= set(record.tags) and scope in (None, record.scope)
            return fits and (moment is None or was_true(record, moment))

        def superseded_since(corpus: CorpusIndex, moment: datetime) -> Iterator[Record]:
            records = (past.record for past in corpus.superseded_after(to_text(moment)))
            fitting = (record for record in records if not types or record.type in types)
            return (record for record in fitting if session_id in (None, record.session_id))

        found: list[Record] = []
        with self._reading():
            for corpus in self._corpora(user_id):
                held = corpus.records(status="live" if moment else status, types=types, session_id=session_id)
                found += islice(filter(wanted, held), limit)
                found += filter(wanted, superseded_since(corpus, moment)) if moment else ()
                if sealed and status == "live":
                    unread = corpus.records(status="sealed", types=types, session_id=session_id)
                    found += islice(filter(wanted, unread), limit)
        return sorted(found, key=lambda record: record.id)[:limit]

    def census(self, user_id: str | None = None) -> "Census":
        """Count what is held, of everybody or of one user."""
        from .census import census

        with self._reading():
            return census(self._corpora(user_id), user_id)

    def most_used(self, user_id: str, limit: int = 5) -> list[tuple[str, int]]:
        """Return the ids of the records that this user recalled most on this machine, each with how often."""
        with self._guard:
            totals = self._access.totals(user_id)
        ranked = sorted(totals, key=lambda id: (-totals[id].uses, id))
        return [(id, totals[id].uses) for id in ranked[:limit]]

    def list_records_since(self, timestamp: str | datetime) -> list[Record]:
        """Return the live records of all users that were created after a moment, oldest first."""
        since = parse_time(timestamp)
        fresh = (record for record in self.records(user_id=None) if parse_time(record.created_at) > since)
        return sorted(fresh, key=lambda record: (parse_time(record.created_at), record.id))

    def export(self, user_id: str) -> Iterator[str]:
        """Yield every line about a user as it was written, without the line's end; the archive is held meanwhile."""
        from .holdings import held_lines

        with self._reading():
            yield from held_lines(self._index, user_id)

    def restorable(self, user_id: str, lines: Iterable[Mapping[str, JSON]]) -> "Iterator[Brought]":
        """Yield for each line of an export of ``user_id`` whether it is here already, or why it may not come."""
        from .holdings import brought

        shared: set[str] = set()
        with self._reading():
            for data in lines:
                yield brought(self._index, self.view.tombstones, user_id, data, shared)

    def access_counts(self, user_id: str) -> "dict[str, Use]":
        """Return how often, and when last, a user recalled each record on this machine."""
        return self._access.totals(user_id)

    def bring_back_access(self, user_id: str, counts: "Mapping[str, Use]") -> None:
        """Put back what ``access_counts`` returned."""
        self._access.bring_back(user_id, counts)

    def from_source(self, user_id: str, source_url: str) -> list[StoredRecord]:
        """Return the records of a user, and the shared ones, that a source told or bore out."""
        with self._reading():
            ids = [id for corpus in self._corpora(user_id) for id in corpus.from_source(source_url)]
        return [stored for id in ids if (stored := self.get(id, user_id=user_id))]

    def search(
        self,
        query: str,
        *,
        user_id: str,
        k: int = 5,
        types: Sequence[str] = (),
        tags: Sequence[str] = (),
        min_confidence: float = 0.0,
        as_of: str | datetime | None = None,
        task_tags: Sequence[str] = (),
        session_id: str | None = None,
        agent_id: str | None = None,
    ) -> SearchReport:
        """Return the live records that fit ``query`` best, or an abstention when nothing relevant is here."""
        question = Question(
            query=query, now=self._clock(), k=k, types=types, tags=tags, min_confidence=min_confidence,
            as_of=parse_time(as_of) if as_of is not None else None, session_id=session_id, agent_id=agent_id,
            task_tags=task_tags,
        )  # fmt: skip
        if not self._long_term:
            return SearchReport((), abstained=True)
        with self._reading():
            report = search(
                question,
                self._corpora(user_id),
                self.settings.retrieval,
                lambda ids: self._access.uses(user_id, ids),
                self._meaning(query),
            )
            self._access.count(user_id, [hit.id for hit in report.hits], question.now)
        return report

    def core_sections(self, user_id: str) -> dict[str, str]:
        """Return the core sections of a user as they stand."""
        with self._reading():
            from .core import core_sections

            return core_sections(self._index.user(user_id))

    def core_history(self, user_id: str) -> list[dict[str, JSON]]:
        """Return every edit of a user's core sections, oldest first."""
        with self._reading():
            from .core import core_history

            return core_history(self._index.user(user_id))

    def core_edit(self, id: str, *, user_id: str | None = None) -> dict[str, JSON] | None:
        """Return one edit of a core section; another user's is None."""
        with self._reading():
            from .core import core_edit

            name = self._index.corpus_holding(id, user_id)
            return core_edit(self._index.corpus(name), id) if name else None

    def consent(self, user_id: str) -> bool | None:
        """Return whether a user agreed to being remembered; None when they never said."""
        with self._reading():
            from .core import consent

            return consent(self._index.user(user_id))

    def users(self) -> list[str]:
        """Return everybody of whom something is stored."""
        prefix = user_corpus("")
        with self._reading():
            return [name.removeprefix(prefix) for name in self._index.corpora() if name != SHARED]

    def tools(
        self,
        main: "MainContext | None" = None,
        *,
        max_tokens: int = 8000,
        user_id: str = "local",
        session_id: str | None = None,
    ) -> "MemoryTools":
        """Return the five memory tools on this archive."""
        from .context import MainContext
        from .tools import MemoryTools

        context = main if main is not None else MainContext(max_tokens=max_tokens)
        return MemoryTools(context, self, user_id=user_id, session_id=session_id)

    # ------------------------------------------------------------------ upkeep

    @property
    def view(self) -> "IndexView":
        """Return what the write gate sees of this archive."""
        from .view import IndexView

        return IndexView(self._index, self._tombstone_key)

    @property
    def log(self) -> Log:
        """Return the log that everything here is read from."""
        return self._log

    @property
    def engine(self) -> str:
        """Return which word index is at work: fts5, or postings where SQLite lacks it."""
        return self._index.engine

    def sealed(self, user_id: str) -> int:
        """Return how many records of a user nobody here can read: their text is sealed and the key is elsewhere."""
        with self._reading():
            return sum(corpus.sealed() for corpus in self._corpora(user_id))

    def seals(self) -> "Sealed":
        """Return how the sealed lines of the shards stand; every one of them is tried."""
        from .sealing import examined

        with self._guard:
            return examined(self._log, self._sealer)

    def forget_index(self, user_id: str) -> None:
        """Delete the index of a user, which holds in clear what the shards may hold sealed; it is made anew."""
        with self._guard:
            self._index.forget(user_corpus(user_id))

    def check(self) -> list[Problem]:
        """Return what a person should look at in the shards, by file and line."""
        with self._guard:
            from .check import problems

            return [*problems(self._log), *self.seals().problems]

    def refresh(self) -> None:
        """Take in what other processes, people or git did to the shards."""
        with self._reading():
            pass

    def rebuild(self) -> None:
        """Delete the index and make it anew."""
        with self._guard:
            self._index.remove()
        with self._reading():
            for name in self._index.corpora():
                self._index.corpus(name)

    def follow(self, vectors: "VectorIndex") -> None:
        """Let an index of vectors take in every record that is live."""
        with self._reading():
            for name in self._index.corpora():
                vectors.nearest(self._index.corpus(name), "", 1)

    def close(self) -> None:
        """Let go of all files. What was acknowledged is already on disk."""
        with self._guard:
            self._index.release()
            self._access.close()
            self._closed = True

    def __enter__(self) -> "ArchivalStore":
        """Return the store."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the store."""
        self.close()

    # ------------------------------------------------------------------ inside

    def _forgotten_before(self) -> str:
        return to_text(seconds_before(self._clock(), self.settings.forget.keep_superseded))

    @property
    def _long_term(self) -> bool:
        return self.settings.privacy.long_term != "off"

    @property
    def _gate(self) -> Gate:
        if self._given_gate is None:
            from .gate import WriteGate

            self._given_gate = WriteGate(self.settings.write, long_term=self._long_term)
        return self._given_gate

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._guard, self._explained():
            self._check_open()
            self._index.refresh()
            yield

    @contextmanager
    def _change(self) -> "Iterator[Change]":
        """Hold the locks, keep what was staged in log and index together or not at all, and tell of it."""
        from .change import Change

        with self._guard, self._explained():
            self._check_open()
            with self._log.batch() as batch:
                self._index.refresh_to_write()
                self._index.begin()
                change = Change(
                    self._index, batch, lambda: self._gate,
                    clock=self._clock, new_id=self._new_id, tombstone_key=self._tombstone_key, sealer=self._sealer,
                    asks_always=self.settings.privacy.consent == "always",
                )  # fmt: skip
                try:
                    yield change
                    written = batch.flush()
                except Refused:
                    self._index.rollback()
                    self._observe(change.events[-1])
                    raise
                except BaseException:
                    self._index.rollback()
                    raise
                self._index.commit(written)
            for event in change.events:
                self._observe(event)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what SQLite says about the index, or a full disk, into an error that somebody can act on."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            if is_damaged(error):
                self._index.remove()
                raise ArchiveError(
                    f"The index was damaged ({error}) and is removed. Try again: it is rebuilt."
                ) from None
            if isinstance(error, sqlite3.OperationalError) and self.path is not None:
                place = _cache_folder(self.path)
                raise StoreFull(f"The index under {place} cannot be written ({error}). {MAKE_ROOM}") from None
            raise
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise StoreFull(f"{self.path} has no room left ({error.strerror}). {MAKE_ROOM}") from None

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("This archive was closed. Open it again.")

    def _meaning(self, query: str) -> Meaning | None:
        """Return the search by meaning where the host handed one in; its model is loaded by the first question."""
        if self._vectors is None:
            return None
        from .vectors import ByMeaning

        return ByMeaning(self._vectors(), query, self.settings.retrieval.vector_floor)

    def _visible(self, record_id: str, user_id: str) -> StoredRecord:
        stored = self.get(record_id, user_id=user_id)
        if stored is None:
            raise RecordNotFound(f"No record {record_id!r:.60} of user {user_id!r:.60} is here.")
        return stored

    def _corpora(self, user_id: str | None) -> Iterator[CorpusIndex]:
        # One at a time: with many users the first is closed again before the last is opened.
        if user_id is None:
            return map(self._index.corpus, self._index.corpora())
        own = (user_corpus(user_id), SHARED)
        return (self._index.corpus(name) for name in own if self._index.catalogue.has_corpus(name))


def _cache_folder(path: Path | None) -> Path | None:
    return path / ".memkit" / "cache" if path else None
