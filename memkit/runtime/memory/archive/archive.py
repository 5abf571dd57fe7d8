"""Archival memory: lasting records in a human-readable append-only log, with a single way in.

Code needed only for writing is imported by the first write: a search is a process of its own.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ..gate.secrets import mask
from ..index.catalogue import explained
from ..interface import NO_KEYS, Decision, Gate, MemorySettings, ShardProblem, StoreKeys, Tombstone
from ..log.log import Log, MemoryLog, Observe, Users
from ..log.shards import ShardLog
from ..record.lines import JSON, ArchiveError, InvalidRecord, LongTermOff, NotAllowed, Reason, Refused, new_id, utc_now
from ..record.record import (
    ITEM,
    MAX_NAME,
    PERSONS,
    Draft,
    Origin,
    in_place_of,
    item_of,
    kind_of,
    lowest_trust,
    worded_anew,
)
from .reader import NOBODY, ArchiveReader, unobserved

if TYPE_CHECKING:
    from ..index.catalogue import Use
    from ..index.documents import StoredDocument
    from ..index.search import VectorIndex
    from ..lifecycle.consolidation import Consolidated, ConsolidationPlan
    from ..lifecycle.forgetting import Swept
    from ..lifecycle.questions import Resolution
    from ..lifecycle.reflection import Reflected, Reflection
    from ..lifecycle.revocation import Revocation, RevokedSource
    from ..log.log import Batch
    from ..tiers.context import MainContext
    from ..tiers.tools import MemoryTools
    from .change import ArchiveChange
    from .keeping import KeptDocument


IMPORTED_AT_ONCE = 2000
"""Batch size of an import, written completely or not at all: an index takes in a thousand at once."""
USERS_AT_ONCE = 100
"""The most users per batch: each has its own index, which stays open until the batch is written."""
BESIDE_UNLINKED = "-linked"
"""Suffix of the new name of a writer that has lines without links: those and linked ones do not mix."""
OFF_RECORD = Reason("off_record", "Memory is off in this conversation, so nothing is stored.")


class ArchivalStore(ArchiveReader):
    """Long-term memory of many users; ``offer`` is the only way in.

    >>> archive = ArchivalStore()  # in memory; ArchivalStore(path) keeps it in a folder
    >>> archive.offer(Draft("Ada prefers espresso", type="preference"), Origin("user", "ada")).decision
    'admitted'
    >>> [hit.text for hit in archive.search("Which coffee does Ada like: espresso?", user_id="ada").hits]
    ['Ada prefers espresso']
    >>> archive.search("espresso", user_id="bob").abstained
    True
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        settings: MemorySettings | None = None,
        clock: Callable[[], datetime] = utc_now,
        observe: Observe = unobserved,
        gate: Gate | None = None,
        log: Log | None = None,
        keys: StoreKeys = NO_KEYS,
        vectors: "Callable[[], VectorIndex] | None" = None,
    ) -> None:
        """Open the archive at ``path``, or one in memory that writes to ``log``.

        Raises:
            ArchiveError: ``path`` is not a directory.
        """
        root = Path(path) if path is not None else None
        if root is not None and root.exists() and not root.is_dir():
            raise ArchiveError(f"{root} is not a directory, so it cannot be a store.")
        if root is not None:
            with suppress(OSError):  # this clone's own state is named after the folder, so the folder must exist
                root.mkdir(parents=True, exist_ok=True)
        if log is None and root is not None:
            log = ShardLog(root, clock=clock, observe=observe)
        super().__init__(
            log or MemoryLog(),
            path=root,
            settings=settings,
            clock=clock,
            observe=observe,
            keys=keys,
            vectors=vectors,
        )
        self._given_gate = gate

    def offer(self, draft: Draft, origin: Origin, *, consented: bool = True) -> Decision:
        """Offer a draft to the write gate, carry out its decision, and return the decision once it is on disk."""
        if not self.leaves_traces:
            return Decision("refused", None, (OFF_RECORD,))
        with self._change(origin.user_id) as change:
            return change.offer(draft, origin, consented=consented)

    def put(self, key: str, draft: Draft, origin: Origin, *, consented: bool = True) -> Decision:
        """Offer ``draft`` as the exact value under ``key``, replacing the current value, if any.

        Raises:
            InvalidRecord: ``key`` is not a valid key.
        """
        if not key or key != " ".join(key.split()) or len(key) > MAX_NAME or not key.isprintable():
            raise InvalidRecord(f"A key is one line of 1 to {MAX_NAME} printable characters, such as shoe-size.")
        now = self.value(origin.user_id, key, session_id=origin.session_id, agent_id=origin.agent_id)
        old = now.id if now and now.text != draft.text and now.user_id == origin.user_id else None
        keyed = draft._replace(supersedes=old, extra={**draft.extra, "key": key})
        return self.offer(keyed, origin, consented=consented)

    def import_many(
        self, pairs: Iterable[tuple[Draft, Origin]], *, consented: Callable[[str], bool] = lambda user_id: True
    ) -> Iterator[Decision]:
        """Offer many drafts, with one lock and one sync for some thousand of them; yield the decision on each.

        Records from an earlier import are not written again; a draft may supersede a record of the same import.
        """
        from .transfer import Arrivals

        arrivals = Arrivals()
        for chunk, users in _in_chunks(pairs):
            with self._change(*users) as change:
                decisions = [
                    change.bring(draft, origin, arrivals, consented=consented(origin.user_id))
                    if kind_of(origin.actor) == "import"
                    else change.offer(draft, origin, consented=consented(origin.user_id))
                    for draft, origin in chunk
                ]
            yield from decisions

    def restore(
        self, user_id: str, lines: Iterable[Mapping[str, JSON]], origin: Origin
    ) -> Iterator[list[Mapping[str, JSON]]]:
        """Write the lines of an export unchanged, for a person who restores a user; yield the lines that are on disk.

        This is the only way past the gate: an export was judged already. ``restorable`` tells which lines are accepted.

        Raises:
            NotAllowed: The caller is not a person.
            InvalidRecord: A line is not accepted; what was yielded is on disk, and nothing else is.
        """
        if origin.actor != "person":
            raise NotAllowed(f"Only a person can restore an export; this came from {origin.actor}.")
        if not self._long_term:
            raise LongTermOff("This store keeps nothing beyond a session: privacy.long_term is off.")
        shared: set[str] = set()
        remaining = iter(lines)
        while chunk := list(islice(remaining, IMPORTED_AT_ONCE)):
            with self._change(user_id, *{str(data.get("user_id", "")) for data in chunk}) as change:
                written = [data for data in chunk if change.restore(user_id, data, shared)]
            yield written

    def keep(self, documents: "Iterable[KeptDocument]", origin: Origin, *, consented: bool = True) -> list[Decision]:
        """Store documents next to the records, with one lock and one sync; return the decision on each.

        Raises:
            Refused: One of them may not be stored, so none is.
        """
        if not self.leaves_traces:
            raise Refused([OFF_RECORD])
        from .keeping import keep

        with self._change(origin.user_id) as change:
            decisions = []
            for document in documents:
                decisions.append(keep(change, document, origin, consented=consented))
                if decisions[-1].decision == "refused":
                    raise Refused(decisions[-1].reasons)
            return decisions

    def keep_longer(self, documents: "Iterable[tuple[StoredDocument, float]]", origin: Origin) -> None:
        """Extend the life of documents that were read by a number of minutes, if enough of their time has passed."""
        from .keeping import due_for_refresh, refresh

        due = [
            (document, minutes) for document, minutes in documents if due_for_refresh(document, minutes, self._clock())
        ]
        if due and self.leaves_traces:
            with self._change(origin.user_id) as change:
                for document, minutes in due:
                    refresh(change, document, origin, minutes)

    def supersede(self, record_id: str, text: str, origin: Origin, *, reason: str = "") -> Decision:
        """Offer ``text`` to replace a live record, which keeps its type, tags and scope and stays in the history.

        Raises:
            RecordNotFound: This user has no such record.
            NotAllowed: It is not live, or no longer: somebody else was quicker.
        """
        from ..lifecycle.successors import corrected_draft

        old = self._visible(record_id, origin.user_id).record
        by_person = origin.actor in PERSONS
        draft = corrected_draft(old, text, by_person=by_person, reason=mask(reason))
        if (item := item_of(old)) is not None:
            draft = draft._replace(extra={**draft.extra, ITEM: list(item)})  # it still represents its document
        composed = kind_of(origin.actor) == "program"
        by = origin._replace(trust_cap=lowest_trust(origin.trust_cap, old.trust)) if composed else origin
        if not by_person:
            by = worded_anew(by, [old.id], self.taint_of(old, origin.user_id))
        if not self.leaves_traces:
            return Decision("refused", None, (OFF_RECORD,))
        with self._change(origin.user_id) as change:
            change.require_live(old.id, origin.user_id)  # two concurrent calls would otherwise leave two successors
            return change.offer(draft, in_place_of(old, by), consented=True)

    def mark(self, op: str, record_id: str, origin: Origin, *, reason: str = "", **fields: JSON) -> str | None:
        """Record that a record was confirmed, contradicted, rejected, approved, forgotten or updated.

        A mark made under taint waits for a person; the id under which it can be approved is then returned.
        """
        with self._change(origin.user_id) as change:
            return change.mark(op, record_id, origin, reason, fields)

    def resolve(self, record_id: str, origin: Origin, *, since: str | None = None, reason: str = "") -> "Resolution":
        """Resolve an open question in favour of one record, since when it holds; the others were true until then.

        Without ``since`` it holds since its own date, or else since it was told.

        Raises:
            NotAllowed: The caller is not a person, the record is not live, or it is in no open question.
            InvalidRecord: It would end before it begins.
        """
        if origin.actor != "person":
            raise NotAllowed(f"Only a person can say which of two records holds; this came from {origin.actor}.")
        with self._change(origin.user_id) as change:
            return change.resolve(record_id, origin, since, reason)

    def merge(self, ids: Sequence[str], origin: Origin, *, text: str | None = None, reason: str = "") -> Decision:
        """Offer one record to replace several live ones; without ``text`` it combines their texts.

        Raises:
            InvalidRecord: There are fewer than two, or they differ in user or scope.
            RecordNotFound: This user lacks one of them.
            NotAllowed: One of them is not live.
        """
        with self._change(origin.user_id) as change:
            decision = change.merge(ids, text, origin, reason)
        if decision.id is not None:
            self._access.carry_over(origin.user_id, ids, decision.id)
        return decision

    def revoke(
        self, source: "RevokedSource", origin: Origin, *, user_id: str | None = None, reason: str = ""
    ) -> "Revocation":
        """Take back everything that came from a source, for one user or all, and everything derived from it.

        Raises:
            NotAllowed: The caller is not a person.
        """
        with self._change(*filter(None, [user_id])) as change:
            return change.revoke(source, origin, user_id, reason)

    def learn(self, ids: Iterable[str], success: bool, origin: Origin, *, reason: str = "") -> list[str]:
        """Adjust the confidence of the live records that an action used by its outcome; return those records' ids.

        An outcome says nothing about a record's origin, so it makes none more trusted. Outcomes seen under taint
        change nothing, and none lowers a record that was said or checked below the threshold for entering a prompt.
        """
        if origin.tainted_by:
            return []
        op, program = "confirm" if success else "contradict", origin._replace(actor="program")
        floor = self.settings.retrieval.min_confidence
        with self._change(origin.user_id) as change:
            return [id for id in dict.fromkeys(ids) if change.learn(op, id, program, reason, floor=floor)]

    def echo(self, record_id: str, origin: Origin) -> Decision:
        """Decide, and report, that an offer repeats a recalled record, which is no new evidence."""
        stored = self.get(record_id, user_id=origin.user_id)
        status = stored.status if stored else "gone"
        reason = Reason("recalled", f"It repeats {record_id}, which was recalled, so it is not new evidence.")
        if status != "live":
            code = "tombstone" if status == "rejected" else reason.code
            reason = Reason(code, f"It repeats {record_id}, which was recalled before and is {status} now.")
        who = {"actor": origin.actor, "user_id": origin.user_id, "session_id": origin.session_id}
        told = {"event": "merge" if status == "live" else "refusal", **who, "turn_id": origin.turn_id}
        self._observe({**told, "ids": [record_id], "reason": reason.code})
        return Decision("merged", record_id, (reason,)) if status == "live" else Decision("refused", None, (reason,))

    def edit_core(
        self, user_id: str, section: str, text: str, origin: Origin, *, reason: str = "", consented: bool = True
    ) -> Decision:
        """Offer ``text`` as the entire new content of a core section of the agent that ``origin`` names."""
        if not self.leaves_traces:
            return Decision("refused", None, (OFF_RECORD,))
        with self._change(user_id) as change:
            owner, limit = origin._replace(user_id=user_id), self.settings.section_limit(section)
            return change.edit_core(section, text, owner, reason, consented=consented, limit=limit)

    def set_consent(self, user_id: str, granted: bool, origin: Origin) -> None:
        """Record that a user agrees to being remembered, or no longer does."""
        with self._change(user_id) as change:
            change.set_consent(granted, origin._replace(user_id=user_id))

    def allow(self, value: str, origin: Origin, *, reason: str = "") -> list[Tombstone]:
        """Allow a rejected or erased value, given as text or as a rejected record's id, again; return its tombstones.

        Raises:
            NotAllowed: The caller is not a person.
        """
        from .view import ERASED

        with self._change(origin.user_id, ERASED) as change:
            return change.allow(value, origin, reason)

    def bury(self, user_id: str, values: Iterable[str]) -> int:
        """Bar the erased ``values`` of a user by keyed digests, written in one batch; return their number.

        Raises:
            NoTombstoneKey: The store's key is not here.
        """
        from .view import ERASED

        with self._change(user_id, ERASED) as change:
            return change.bury(user_id, values)

    def mended(self) -> list[ShardProblem]:
        """Set torn lines aside, as every write does, and return the remaining problems with the lines."""
        with self._reading(NOBODY):
            torn = self._index.catalogue.chains.torn()
        if torn:
            with self._guard, self._batch(None):
                self._index.refresh_to_write()
                self._mend()
        with self._reading(NOBODY):
            return self._index.catalogue.chains.problems()

    def as_lines(self, lines: Iterable[Mapping[str, JSON]]) -> Iterator[tuple[str, bytes]]:
        """Yield some lines as this clone would write them next, each with the clone's name as a writer."""
        from ..log.log import linked
        from ..record.lines import encode_line

        with self._reading():
            chains, tails = self._index.catalogue.chains, dict[str, bytes]()
            writer = getattr(self._log, "writer", "memory")
            writer += BESIDE_UNLINKED if chains.holds_unlinked(writer) else ""
            for data in lines:
                owner = str(data["user_id"])
                parent = tails.get(owner) or chains.tail(writer, owner)
                placed, link = linked(data, parent, key=chains.key_for(writer))
                tails[owner] = link.own
                yield writer, encode_line(placed)

    def sweep(self, *, user_id: str | None = None, dry_run: bool = False) -> "Swept":
        """Retire the records due for forgetting, of one user or of all, with one lock and one sync."""
        from ..lifecycle.forgetting import ForgettingCycle

        with self._reading(user_id):
            # Shared records are used by everyone, so everyone's counts are consulted whichever user is swept.
            cycle = ForgettingCycle(self.settings.forget, self._clock(), self._access.totals())
            swept = cycle.due(self._corpora(user_id), user_id)
        if dry_run or not swept.retired:
            return swept
        with self._change(*filter(None, [user_id])) as change:
            retired = []
            for due in cycle.still_due(swept, self._index):
                change.mark("retire", due.id, Origin("program", due.user_id), due.reason, {})
                retired.append(due)
        return type(swept)(tuple(retired), swept.kept + len(swept.retired) - len(retired))

    def consolidate(self, plan: "ConsolidationPlan", *, note: str = "") -> "Consolidated":
        """Carry out a plan through the write gate, in one batch; ``note`` says what it was planned from."""
        with self._change() as change:
            return change.consolidate(plan, note)

    def reflect(self, plan: "Reflection", *, note: str = "") -> "Reflected":
        """Carry out a plan through the write gate, in one batch; ``note`` says what it was planned from."""
        with self._change() as change:
            return change.reflect(plan, note)

    def drop_stale_counts(self, *, user_id: str | None = None) -> int:
        """Drop the access counts of records that no shard contains any more, and return how many."""
        with self._reading(user_id):
            return self._access.keep(lambda id: bool(self._index.catalogue.corpora_of_id(id)), user_id)

    def bring_back_access(self, user_id: str, counts: "Mapping[str, Use]") -> None:
        """Restore what ``access_counts`` returned."""
        self._access.bring_back(user_id, counts)

    def tools(
        self,
        main: "MainContext | None" = None,
        *,
        max_tokens: int = 8000,
        user_id: str = "local",
        session_id: str | None = None,
        agent_id: str | None = None,
    ) -> "MemoryTools":
        """Return the memory tools on this archive, those of one agent if the user has several."""
        from ..tiers.context import MainContext
        from ..tiers.tools import MemoryTools

        context = main if main is not None else MainContext.configured(self.settings, max_tokens)
        return MemoryTools(context, self, user_id=user_id, session_id=session_id, agent_id=agent_id)

    # ------------------------------------------------------------------ inside

    @property
    def _gate(self) -> Gate:
        if self._given_gate is None:
            from ..gate.gate import WriteGate

            own = ("human", *self.settings.core.sections)
            self._given_gate = WriteGate(self.settings.write, long_term=self._long_term, sections=own)
        return self._given_gate

    def _mend(self) -> None:
        """Set torn lines aside, including those of other writers; the locks are held."""
        torn, mend = self._index.catalogue.chains.torn(), getattr(self._log, "mend", None)
        if torn and mend is not None:
            for shard in torn:
                mend(shard)
            self._index.refresh_to_write()

    @contextmanager
    def _batch(self, users: Users) -> "Iterator[Batch]":
        """Hold the locks and yield a batch, following memory if it was moved meanwhile."""
        with ExitStack() as held:
            try:
                batch = held.enter_context(self._log.batch(users))
            except ArchiveError:
                if not self._follow_move():
                    raise
                batch = held.enter_context(self._log.batch(users))
            yield batch

    @contextmanager
    def _change(self, *users: str) -> "Iterator[ArchiveChange]":
        """Hold the locks, write the staged lines to log and index together or not at all, and report the events.

        Without ``users`` it may concern everyone.
        """
        from .change import ArchiveChange

        with self._guard, explained(self.path, lambda: self._index.remove()):
            self._check_open()
            if not self.leaves_traces:
                raise Refused([OFF_RECORD])
            with self._batch(users or None) as batch:
                self._index.refresh_to_write(users or None)
                self._tell_problems()
                self._mend()
                if self._index.catalogue.chains.holds_unlinked(batch.writer):
                    batch.writer += BESIDE_UNLINKED
                self._written_as.add(batch.writer)
                self._forget_strangers()
                self._index.begin()
                change = ArchiveChange(
                    self._index, batch, lambda: self._gate,
                    clock=self._clock, new_id=new_id, keys=StoreKeys(self._sealer, self._tombstone_key),
                    settings=self.settings, seen=self._seen,
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


def _in_chunks(pairs: Iterable[tuple[Draft, Origin]]) -> Iterator[tuple[list[tuple[Draft, Origin]], set[str]]]:
    """Yield the offers of an import in batches of the size written at once, with the users that they concern."""
    chunk, users = list[tuple[Draft, Origin]](), set[str]()
    for pair in pairs:
        if len(chunk) == IMPORTED_AT_ONCE or (len(users) == USERS_AT_ONCE and pair[1].user_id not in users):
            yield chunk, users
            chunk, users = [], set()
        chunk.append(pair)
        users.add(pair[1].user_id)
    if chunk:
        yield chunk, users
