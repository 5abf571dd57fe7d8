"""One change of the archive: staged while the locks are held, written atomically, and reported once written."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from ..gate.secrets import mask
from ..index.corpus import consent, core_target
from ..index.index import Index, WaitingLine
from ..interface import Decision, Gate, Judgement, MemorySettings, StoreKeys, Tombstone
from ..log.log import Batch, linked
from ..record.lines import (
    EMPTY,
    JSON,
    InvalidRecord,
    NotAllowed,
    Reason,
    RecordNotFound,
    Refused,
    encode_line,
    is_sealed,
    kept_time,
    parse_time,
    to_text,
)
from ..record.record import (
    ADDED_TO,
    BESIDE_DRAFT,
    CHANGEABLE,
    CONSOLIDATED,
    IMPORTED_FIELDS,
    PERSONS,
    RECORD_FIELDS,
    RESERVED,
    SHARED,
    Draft,
    Origin,
    Record,
    check_fields,
    corpus_of,
    ends_what_was_said,
    in_place_of,
    kept_form,
    kind_of,
    lowest_trust,
    union,
    unplaced,
    user_corpus,
    with_fields,
    worded_anew,
)
from .view import ERASED, IndexView, Seen, burials

if TYPE_CHECKING:
    from ..lifecycle.consolidation import Compression, Consolidated, ConsolidationPlan, Succession
    from ..lifecycle.questions import Resolution
    from ..lifecycle.reflection import Reflected, Reflection
    from ..lifecycle.revocation import Revocation, RevokedSource
    from ..record.events import Event, Folded
    from .transfer import Arrivals

MARKS = ("confirm", "contradict", "reject", "approve", "forget", "update", "retire", "restore", "allow", "revoke")
VERDICTS = ("approve", "reject", "revoke")
"""Verdicts on something that waits for a person."""
PERSON_ONLY = ("approve", "allow", "revoke")
TOLD_AS = {"admitted": "write", "merged": "merge", "quarantined": "quarantine", "refused": "refusal"}
"""The names of the gate's decisions in the account of events."""
MARK_TOLD_AS = {"retire": "retirement"}
"""The marks with another name there."""
UNCHECKED = "Erased values cannot be recognised: the store's key is not here."


class ArchiveChange:
    """Lines to be written to log and index, and the events to report."""

    def __init__(
        self,
        index: Index,
        batch: Batch,
        gate: Callable[[], Gate],
        *,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        keys: StoreKeys,
        settings: MemorySettings,
        seen: Seen,
    ) -> None:
        self.events: list[dict[str, object]] = []
        """Events to be reported once they are on disk. They never repeat a refused text."""
        self.index = index
        self._batch = batch
        self._gate = gate
        self._keys = keys
        self._settings = settings
        self._seen = seen
        self._clock = clock
        self._new_id = new_id
        self._view = self._view_without(())

    def _view_without(self, ids: Sequence[str]) -> IndexView:
        return IndexView(self.index, self._clock(), self._keys.tombstone_key, self._seen, hidden=ids)

    def offer(self, draft: Draft, origin: Origin, *, consented: bool) -> Decision:
        """Let the gate judge a draft, carry out its decision, and return the decision."""
        agreed = consented and self._agreed(origin)
        judgement = self._gate().judge(draft, origin, self._view, consented=agreed)
        if judgement.decision == "refused":
            return self.decided(origin, "refused", None, judgement.reasons)
        try:
            if judgement.decision == "merged" and judgement.merge_into:
                return self._merge(draft, origin, judgement)
            record = self._record(draft, origin, judgement)
            self._write(record.to_data(), record)
        except InvalidRecord as error:
            return self.decided(origin, "refused", None, (Reason("schema", str(error)),))
        for id in judgement.outweighs:
            self._give_way(self._live(id, origin.user_id), record.id, origin, "outweighed")
        gone = [record.supersedes, *judgement.outweighs]
        return self.decided(origin, judgement.decision, record.id, judgement.reasons, supersedes=gone)

    def bring(self, draft: Draft, origin: Origin, arrivals: "Arrivals", *, consented: bool) -> Decision:
        """Offer an imported draft, unless it was here before, and return the decision."""
        linked = arrivals.linked(draft)
        decision = arrivals.known(self.index, linked, origin)
        if decision is None:
            decision = self.offer(linked, origin, consented=consented)
        elif decision.decision == "refused":
            self.decided(origin, "refused", None, decision.reasons)
        arrivals.note(draft, decision)
        return decision

    def mark(self, op: str, record_id: str, origin: Origin, reason: str, fields: Mapping[str, JSON]) -> str | None:
        """Write an event about a record, or a verdict on another event.

        A secret in the reason is masked, one in the fields refused. A mark made under taint waits for a person: the id
        under which it can be approved is then returned.
        """
        _check_mark(op, origin, fields)
        self._check_event(fields, origin)
        name = self.index.corpus_holding(record_id, origin.user_id)
        if name is None:
            raise RecordNotFound(f"No record {record_id!r:.60} of user {origin.user_id!r:.60} is here.")
        stored = self.index.corpus(name).stored(record_id)
        _check_validity(stored if op == "update" else None, fields)
        if op == "approve" and stored is None:
            self._check_waits(name, record_id)
        scope = SHARED if name == SHARED else "user"
        changes = {**fields, **kept_form(fields)}
        taint = origin.tainted_by
        if taint or (op == "update" and stored and ends_what_was_said(stored.record, fields, origin)):
            changes |= {"trust": "quarantined", "taint": list(map(mask, taint))}
            waiting = self.write_event(op, record_id, origin, reason=reason, scope=scope, fields=changes)
            self._tell("quarantine", origin, [waiting, record_id], "tainted" if taint else "persons_word")
            return waiting
        replacing = self.index.corpus(name).said_to_replace(stored.record) if op == "approve" and stored else ()
        for id in (record_id, *replacing):
            self.write_event(op, id, origin, reason=reason, scope=scope, fields=changes)
        self._tell(MARK_TOLD_AS.get(op, op), origin, [record_id], mask(reason))
        return None

    def _check_waits(self, name: str, id: str) -> None:
        """Raise NotAllowed if an edit or a request to be approved was already rejected or revoked."""
        from ..record.events import is_proposal

        events = self.index.corpus(name).events(target=id)
        said = [event.op for event in events if event.op in VERDICTS and not is_proposal(event)]
        if said and said[-1] != "approve":
            raise NotAllowed(f"{id} was already rejected and is no longer pending. Say it again.")

    def learn(self, op: str, record_id: str, origin: Origin, reason: str, *, floor: float) -> bool:
        """Record that an action which used a record succeeded or failed, if that may change it; return whether.

        It may not if the record is not live, or was said or checked and would fall below ``floor``.
        """
        name = self.index.corpus_holding(record_id, origin.user_id)
        record = self.index.corpus(name).live(record_id) if name is not None else None
        if record is None:
            return False
        from ..record.events import CONTRADICTED

        vouched = record.trust == "verified" or record.source == "explicit"
        if op == "contradict" and vouched and record.confidence + CONTRADICTED < floor:
            return False
        self.mark(op, record_id, origin, reason, EMPTY)
        return True

    def merge(self, ids: Sequence[str], text: str | None, origin: Origin, reason: str) -> Decision:
        """Offer one record to replace several, which are superseded if the gate accepts it."""
        from ..lifecycle.successors import merged_draft

        parents = [self._live(id, origin.user_id) for id in dict.fromkeys(ids)]
        draft = merged_draft(parents, text, mask(reason))
        # Words that nobody rewrote are worth as much as the weakest of their sources.
        composer = origin if text is not None else _composed(origin._replace(actor="program"), parents)
        if text is not None and origin.actor not in PERSONS:
            composer = worded_anew(origin, ids, union(*(record.taint for record in parents)))
        writer = in_place_of(parents[0], composer)
        judgement = self._gate().judge(draft, writer, self._view_without(ids))
        if judgement.decision == "merged":
            repeats = Reason("duplicate", f"It repeats {judgement.merge_into}. Name that one among the ids too.")
            return self.decided(origin, "refused", None, (repeats,))
        if judgement.decision == "refused":
            return self.decided(origin, "refused", None, judgement.reasons)
        if judgement.decision == "admitted" and (origin.tainted_by or (text is not None and composer.tainted_by)):
            from ..gate.gate import TAINTED

            held = {**judgement.record_fields, "trust": "quarantined"}
            judgement = Judgement("quarantined", (*judgement.reasons, TAINTED), held)
        return self._put_in_place(draft, judgement, parents, writer=writer, origin=origin, reason=reason)

    def consolidate(self, plan: "ConsolidationPlan", note: str) -> "Consolidated":
        """Write what a plan contains and return the result; each new record has ``note``, which says its sources."""
        from ..lifecycle.consolidation import Consolidated
        from ..lifecycle.successors import merged_draft

        refused: list[str] = []
        for record, reason, repeats in plan.dropped:
            owner = Origin("program", record.user_id)
            if repeats:
                self._give_way(self._live(record.id, record.user_id), repeats, owner, reason)
                self._tell("supersede", owner, [record.id, repeats], reason)
            else:
                self.mark("retire", record.id, owner, reason, {})
        merges = [(merged_draft(group), group) for group in plan.merges]
        merged = [done for draft, group in merges if (done := self._replaced(draft, group, "merged", note, refused))]
        told = [done for one in plan.episodes if (done := self._replaced(*one, "summarised", note, refused))]
        archived: list[str] = []
        compressed = []
        for compression in plan.compressions:
            ids = self._moved(compression)
            if ids is None:
                refused.append(f"The core section {compression.section} of {compression.user_id} stays as it is.")
            else:
                archived += ids
                compressed.append(compression)
        return Consolidated(
            tuple(merged), tuple(told), tuple(archived), plan.dropped, tuple(compressed), tuple(refused)
        )

    def _replaced(
        self, draft: Draft, parents: Sequence[Record], how: str, note: str, refused: list[str]
    ) -> "Succession | None":
        """Let what a program made of live ``parents`` replace them, if the gate has no objection."""
        from ..lifecycle.consolidation import Succession

        draft, origin = draft._replace(extra={**draft.extra, CONSOLIDATED: note}), _composer(parents)
        ids = tuple(parent.id for parent in parents)
        judgement = self._gate().judge(draft, origin, self._view_without(ids))
        if judgement.decision != "admitted":
            self.decided(origin, "refused", None, judgement.reasons)
            codes = ", ".join(reason.code for reason in judgement.reasons)
            refused.append(f"{', '.join(ids)} stay: the gate does not admit what they would be {how} into ({codes}).")
            return None
        decision = self._put_in_place(draft, judgement, parents, writer=origin, origin=origin, reason=how)
        return Succession(decision.id or "", ids)

    def reflect(self, plan: "Reflection", note: str) -> "Reflected":
        """Write the conclusions of a plan, each with the ids of its sources, and retire the stale ones."""
        from ..lifecycle.reflection import Concluded, Reflected

        drawn: list[Concluded] = []
        refused: list[str] = []
        for one in plan.conclusions:
            records = [record for id in one.parents if (record := self._view.live(id))]
            below = [done.id for done in drawn if (done.conclusion.level, done.conclusion.of) in one.below]
            ids = (*(record.id for record in records), *below)
            origin = _composer(records)._replace(parents=ids, session_id=None)
            if one.inferred:
                origin = origin._replace(trust_cap=lowest_trust(origin.trust_cap, "candidate"))
            draft = one.draft._replace(extra={**one.draft.extra, CONSOLIDATED: note})
            judgement = self._gate().judge(draft, origin, self._view_without([*ids, draft.supersedes or ""]))
            if judgement.decision != "admitted" or len(records) < len(one.parents):
                codes = ", ".join(reason.code for reason in judgement.reasons) or "parents"
                refused.append(f"No conclusion of the {one.level} {one.of}: the gate does not admit it ({codes}).")
                continue
            record = self._record(draft, origin, judgement)
            self._write(record.to_data())
            self.decided(origin, "admitted", record.id, judgement.reasons, supersedes=[draft.supersedes])
            drawn.append(Concluded(record.id, one))
        for old in plan.stale:
            self.mark("retire", old.id, Origin("program", old.user_id), "its source does not hold", {})
        return Reflected(tuple(drawn), tuple(old.id for old in plan.stale), tuple(refused))

    def _moved(self, compression: "Compression") -> list[str] | None:
        """Return the records that entries of a core section moved to; None if the gate did not accept all of it."""
        program = Origin("program", compression.user_id, agent_id=compression.agent_id)
        judged = (self._gate().judge(draft, program, self._view).decision for draft in compression.moved)
        if not all(decision in ("admitted", "merged") for decision in judged):
            return None
        offered = [self.offer(draft, program, consented=True) for draft in compression.moved]
        self.edit_core(compression.section, compression.text, program, "compressed", consented=True)
        return [decision.id for decision in offered if decision.decision == "admitted" and decision.id]

    def revoke(self, source: "RevokedSource", origin: Origin, user_id: str | None, reason: str) -> "Revocation":
        """Take back everything that came from a source and everything derived from it."""
        from ..lifecycle.revocation import revocation

        _check_mark("revoke", origin, EMPTY)
        names = [user_corpus(user_id), SHARED] if user_id is not None else self.index.corpora()
        found = revocation(source, map(self.index.corpus, names), user_id)
        taken = [(thing.id, thing.user_id, _scope(thing)) for thing in found.records]
        taken += [(thing.id, thing.user_id, _scope(thing)) for thing in (*found.marks, *found.core)]
        for id, owner, scope in taken:
            # What is past its grace period is taken back, too: otherwise it would return when its successor goes.
            own, why = origin._replace(user_id=owner), reason or f"revoked: {source}"
            self.write_event("revoke", id, own, reason=why, scope=scope)
            self._tell("revoke", own, [id], mask(why))
        return found

    def edit_core(
        self, section: str, text: str, origin: Origin, reason: str, *, consented: bool, limit: int | None = None
    ) -> Decision:
        """Let the gate judge the new content of a core section, write it, and return the decision."""
        if limit is not None and len(text) > limit:
            long = Reason("too_long", f"{section} would have {len(text):,} characters; the limit is {limit:,}.")
            return self.decided(origin, "refused", None, (long,), section=section)
        agreed = consented and self._agreed(origin)
        judgement = self._gate().judge_core(section, text, origin, self._view, consented=agreed)
        if judgement.decision == "refused":
            return self.decided(origin, "refused", None, judgement.reasons, section=section)
        trust = "quarantined" if judgement.decision == "quarantined" else "verified"
        told = {"text": text, "trust": trust, **judgement.record_fields}
        fields = {key: told[key] for key in ("text", "trust", *ADDED_TO) if key in told}
        fields |= {"turn_id": origin.turn_id} if origin.turn_id is not None else {}
        agent = origin.agent_id
        event_id = self.write_event("core", core_target(section), origin, reason=reason, fields=fields, agent=agent)
        return self.decided(origin, judgement.decision, event_id, judgement.reasons, section=section)

    def judge_document(
        self, value: JSON, origin: Origin, names: "Sequence[str]" = (), *, consented: bool
    ) -> tuple[tuple[Reason, ...], Callable[[JSON], JSON]]:
        """Return why a document may not be stored, and a function that masks what the policy does not admit."""
        return self._gate().judge_document(value, origin, names, consented=consented and self._agreed(origin))

    def now(self) -> datetime:
        """Return the time of this change."""
        return self._clock()

    def set_consent(self, granted: bool, origin: Origin) -> None:
        """Record that a user agrees to being remembered, or no longer does."""
        self._check_event(EMPTY, origin)
        event_id = self.write_event("consent", "consent", origin, fields={"granted": granted})
        self._tell("consent", origin, [event_id], "granted" if granted else "withdrawn")

    def allow(self, value: str, origin: Origin, reason: str) -> list[Tombstone]:
        """Lift every tombstone that bars a value, and return them; ``value`` may be the id of the rejected record."""
        _check_mark("allow", origin, EMPTY)
        self._check_event(EMPTY, origin)
        name = self.index.corpus_holding(value, origin.user_id)
        stored = self.index.corpus(name).stored(value) if name else None
        lifted = list(self._view.tombstones.of(origin.user_id, stored.record.text if stored else value))
        for kind, target, scope in lifted:
            # Next to a keyed digest there must be nothing that reveals whose value it was.
            owner, why = (Origin(origin.actor, ERASED), "") if kind == "erased" else (origin, reason)
            self.write_event("allow", target, owner, reason=why, scope=scope)
        if lifted:
            self._tell("allow", origin, [tombstone.target for tombstone in lifted], mask(reason))
        return lifted

    def bury(self, user_id: str, values: Iterable[str]) -> int:
        """Bar erased values by keyed digests and return their number."""
        key = self._keys.tombstone_key()
        events = list(burials(key, user_id, values, now=self._clock(), new_id=self._new_id))
        for event in events:
            self._write(event.to_data())
        self._tell("tombstone", Origin("program", ERASED), [event.id for event in events], "erased")
        return len(events)

    def resolve(self, record_id: str, origin: Origin, since: str | None, reason: str) -> "Resolution":
        """Record that a live record holds, and that the records it contradicts ended where it begins."""
        from ..lifecycle.questions import resolution

        _check_mark("confirm", origin, {})
        winner = self._live(record_id, origin.user_id)
        done = resolution(self.index, winner, since, self._clock())
        self._check_event(done.dates, origin)
        _check_validity(self.index.corpus(corpus_of(winner.to_data())).stored(record_id), done.dates)
        said: list[tuple[str, str, Mapping[str, JSON]]] = [("revoke", id, EMPTY) for id in done.revokes]
        said += [("supersede", id, {"by": record_id}) for id in done.ended]
        said += [("confirm", record_id, done.against)]
        said += [("update", record_id, {**done.dates, **done.against})] if done.dates else []
        for op, target, fields in said:
            self.write_event(op, target, origin, reason=reason, scope=_scope(winner), fields=fields)
        self._tell("confirm", origin, [record_id, *done.ended], mask(reason))
        return done

    def _put_in_place(
        self,
        draft: Draft,
        judgement: Judgement,
        parents: Sequence[Record],
        *,
        writer: Origin,
        origin: Origin,
        reason: str,
    ) -> Decision:
        """Write a record that the gate accepted, and that it supersedes its parents."""
        record = self._record(draft, writer, judgement)
        self._write(record.to_data())
        for parent in parents:
            self._give_way(parent, record.id, origin, reason)
        ids = [parent.id for parent in parents]
        return self.decided(origin, judgement.decision, record.id, judgement.reasons, merges=ids)

    def _give_way(self, record: Record, other_id: str, origin: Origin, reason: str) -> None:
        """Write that another record replaces a live one."""
        fields = {"by": other_id}
        self.write_event("supersede", record.id, origin, reason=reason, scope=_scope(record), fields=fields)

    def require_live(self, id: str, user_id: str) -> "Folded":
        """Return a record in its present state, which must be live now that the locks are held.

        Raises:
            RecordNotFound: This user has no such record.
            NotAllowed: It is not live, or no longer: somebody else was quicker.
        """
        name = self.index.corpus_holding(id, user_id)
        folded = self.index.corpus(name).stored(id) if name else None
        if folded is None:
            raise RecordNotFound(f"No record {id!r:.60} of user {user_id!r:.60} is here.")
        if folded.status != "live":
            raise NotAllowed(f"Record {id} is {folded.status}; only a live record can be replaced.")
        return folded

    def _live(self, id: str, user_id: str) -> Record:
        folded = self.require_live(id, user_id)
        if folded.record.is_sealed:
            raise NotAllowed(f"Record {id} is sealed, and its key is not here.")
        return self._seen(folded.record)

    def restore(self, user_id: str, data: Mapping[str, JSON], shared: set[str]) -> bool:
        """Write a line of an export unchanged and return True, or False if it is here already."""
        from .transfer import brought

        found = brought(self.index, self._view.tombstones, user_id, data, shared)
        if found.reason:
            raise InvalidRecord(mask(found.reason.message))
        if not found.is_here:
            self._write(data)
        return not found.is_here

    def _agreed(self, origin: Origin) -> bool:
        """Return whether the user agreed, if the store requires that for every writer."""
        return self._settings.privacy.consent != "always" or consent(self.index.user(origin.user_id)) is True

    def _record(self, draft: Draft, origin: Origin, judgement: Judgement) -> Record:
        if draft.importance is None:
            draft = draft._replace(importance=self._settings.importance_of(draft.type))
        record = record_from(draft, origin, judgement, id=self._id_for(origin), now=self._clock())
        if record.supersedes:
            self._check_supersedes(record.supersedes, record.scope, record.user_id)
        return record

    def _check_supersedes(self, id: str, scope: str, user_id: str) -> None:
        if self.index.corpus_holding(id, user_id) != corpus_of({"scope": scope, "user_id": user_id}):
            raise InvalidRecord(f"supersedes names {id!r:.60}, which this user does not have.")

    def _merge(self, draft: Draft, origin: Origin, judgement: Judgement) -> Decision:
        target, replaced = judgement.merge_into or "", None
        if draft.supersedes:
            self._check_supersedes(draft.supersedes, draft.scope, origin.user_id)
            replaced = self._view.live(draft.supersedes)
        if judgement.record_fields.get("taint"):
            return self.decided(origin, "merged", target, judgement.reasons)  # it is not evidence
        if kind_of(origin.actor) == "import":
            from .transfer import is_news

            if not is_news(self.index, draft, target, origin):
                return Decision("merged", target, judgement.reasons)  # nothing to write, and so nothing to report
        fields: dict[str, JSON] = {"confidence": draft.confidence}
        if url := judgement.record_fields.get("source_url", draft.source_url):
            fields["source_url"] = url
        scope = SHARED if self.index.corpus_holding(target, origin.user_id) == SHARED else "user"
        actor = str(judgement.record_fields.get("actor", origin.actor))
        self.write_event("evidence", target, origin._replace(actor=actor), scope=scope, fields=fields)
        if replaced:
            self._give_way(replaced, target, origin, str(draft.extra.get("reason", "")))
        return self.decided(origin, "merged", target, judgement.reasons, supersedes=[replaced and replaced.id])

    def _check_event(self, fields: Mapping[str, JSON], origin: Origin) -> None:
        """Report and raise a refusal if something in an event may not be written."""
        from ..gate.gate import event_problems

        if problems := event_problems(fields, origin):
            self.decided(origin, "refused", None, problems)
            raise Refused(problems)

    def write_event(
        self,
        op: str,
        target: str,
        origin: Origin,
        *,
        reason: str = "",
        scope: str = "user",
        fields: Mapping[str, JSON] = EMPTY,
        agent: str | None = None,
    ) -> str:
        """Write an event and return its id; ``agent`` is the agent whose core section it is about."""
        from ..record.events import Event  # records alone do not need it

        id = self._id_for(origin)
        event = Event(
            id=id, op=op, target=target, user_id=origin.user_id, at=self._moment_of(id, target, scope, origin),
            actor=origin.actor, session_id=origin.session_id, reason=mask(reason), scope=scope, fields=fields,
            agent_id=agent,
        )  # fmt: skip
        self._write(event.to_data())
        return event.id

    def _moment_of(self, id: str, target: str, scope: str, origin: Origin) -> str:
        """Return the present, or just after the last event about the target if another clock is ahead of this one."""
        now = to_text(self._clock())
        name = SHARED if scope == SHARED else user_corpus(origin.user_id)
        last, its_id = self.index.without_waiting(name).last_event(target)
        if (now, id) > (last, its_id):
            return now
        with suppress(InvalidRecord, OverflowError):
            return to_text(parse_time(last) + timedelta(microseconds=1))
        return now

    def _id_for(self, origin: Origin) -> str:
        """Return the id that the origin requests for the first line, and a new one for every other."""
        first = origin.first_id
        return self._new_id() if first is None or self.index.catalogue.corpora_of_id(first) else first

    def _write(self, data: Mapping[str, JSON], record: Record | None = None) -> None:
        """Stage and index a line; that of a ``record`` may wait to be indexed together with others."""
        data = unplaced(data)
        kept = self._keys.sealer.seal(data)
        name, owner = corpus_of(data), str(data.get("user_id", ""))
        self.index.without_waiting(name)  # everything earlier must be indexed before this line
        chains, writer = self.index.entered.chains, self._batch.writer_in(name)
        parent = self.index.waiting.tail(writer, owner) or chains.tail(writer, owner)
        placed, link = linked(kept, parent, key=chains.key_for(writer))
        line = WaitingLine(self._batch.stage(encode_line(placed), data), data, name, link)
        if record is not None:
            self.index.add_later(line, record, writer, sealed=is_sealed(kept))
        else:
            self.index.add(*line, sealed=is_sealed(kept))

    def decided(
        self,
        origin: Origin,
        decision: str,
        id: str | None,
        reasons: tuple[Reason, ...],
        *,
        section: str | None = None,
        supersedes: Sequence[str | None] = (),
        merges: JSON = (),
    ) -> Decision:
        """Report and return the gate's decision."""
        event = TOLD_AS[decision]
        more: dict[str, str] = {}
        if decision != "refused" and self._view.tombstones.cannot_be_checked():
            more["note"] = UNCHECKED
        if section is not None:
            event, more["section"] = "core" if decision == "admitted" else event, mask(section)
        elif any(supersedes) and decision != "quarantined":
            event = "supersede"
        elif merges and decision == "admitted":
            event = "merge"
        parents = merges if isinstance(merges, list | tuple) else ()
        ids = [str(known) for known in (id, *supersedes, *parents) if known]
        self._tell(event, origin, ids, ", ".join(reason.code for reason in reasons), **more)
        return Decision(decision, id, reasons)

    def _tell(self, event: str, origin: Origin, ids: list[str], reason: str, **more: Any) -> None:
        # A refused offer may contain its secret in a name.
        who = {"actor": origin.actor, "user_id": mask(origin.user_id)}
        when = {"session_id": origin.session_id and mask(origin.session_id), "turn_id": origin.turn_id}
        self.events.append({"event": event, **who, **when, "ids": ids, "reason": reason or None, **more})


def _composer(parents: Sequence[Record]) -> Origin:
    """Return the origin of a program's composition of ``parents``: their session, and their lowest trust."""
    sessions, agents = {record.session_id for record in parents}, {record.agent_id for record in parents}
    origin = Origin(
        actor="program",
        user_id=parents[0].user_id,
        session_id=sessions.pop() if len(sessions) == 1 else None,
        agent_id=agents.pop() if len(agents) == 1 else None,
    )
    return _composed(origin, parents)


def _composed(origin: Origin, parents: Sequence[Record]) -> Origin:
    """Return ``origin`` for words that nobody rewrote: the lowest trust of ``parents``, and their combined taint."""
    least = lowest_trust(*(record.trust for record in parents))
    return origin._replace(trust_cap=least, taint=union(origin.tainted_by, *(record.taint for record in parents)))


def _scope(thing: "Record | Event") -> str:
    return SHARED if thing.scope == SHARED else "user"


def _check_validity(folded: "Folded | None", changes: Mapping[str, JSON]) -> None:
    """Raise InvalidRecord if ``changes`` would end a record's validity before it begins."""
    if folded is None:
        return
    record = with_fields(folded.record, {key: value for key, value in changes.items() if value is not None})
    if record.valid_from and record.valid_until and parse_time(record.valid_until) < parse_time(record.valid_from):
        raise InvalidRecord(
            f"valid_until {record.valid_until} is before valid_from {record.valid_from}: it would never be valid."
        )


def _check_mark(op: str, origin: Origin, fields: Mapping[str, JSON]) -> None:
    if op not in MARKS:
        raise InvalidRecord(f"{op!r:.60} is not a known operation on a record. Known: {', '.join(MARKS)}.")
    if op in PERSON_ONLY and origin.actor != "person":
        raise NotAllowed(f"Only a person can {op} a record; this came from {origin.actor}.")
    unknown = [key for key in fields if key not in CHANGEABLE]
    if unknown or (fields and op != "update"):
        raise InvalidRecord(f"{op} cannot change {', '.join(fields)}. update changes {', '.join(CHANGEABLE)}.")
    check_fields(fields)


def record_from(draft: Draft, origin: Origin, judgement: Judgement, *, id: str, now: datetime) -> Record:
    """Return the record to write; raise InvalidRecord naming a faulty field."""
    reserved = [key for key in RESERVED if key in draft.extra]
    if reserved:
        raise InvalidRecord(f"{', '.join(reserved)} cannot be fields of a record.")
    data: dict[str, JSON] = draft.to_data()
    brought = {key: data.pop(key) for key in draft.extra if key in RECORD_FIELDS}
    data |= _stamp(origin, id=id, now=now)
    taken = IMPORTED_FIELDS if kind_of(origin.actor) == "import" else BESIDE_DRAFT
    data |= {key: brought[key] for key in taken if brought.get(key) is not None}
    created = str(data["created_at"])
    data["created_at"] = created if created.endswith("Z") else kept_time(created)  # an import brings any time zone
    data |= judgement.record_fields
    if related := _relations(data):
        data |= related
    else:
        data.pop("relation", None)
    if judgement.decision == "quarantined":
        data["trust"] = "quarantined"
    if judgement.supersedes:
        data["supersedes"] = judgement.supersedes
    return with_fields(Record.from_data(data), kept_form(data))


LINKING = frozenset(("my", "our", "the", "makes", "builds", "produces", "manufactures", "develops", "sells", "offers"))


def may_relate(text: str) -> bool:
    """Return whether ``text`` may relate two things: it names two, or one of the user's own affairs.

    >>> may_relate("Bob is the CTO of Acme"), may_relate("Ada drinks tea"), may_relate("i like tea")
    (True, False, False)
    """
    named = [word for word in text.split() if word[0].isupper() and word not in ("The", "A", "An", "It", "This")]
    return len(named) > 1 or (len(named) == 1 and not LINKING.isdisjoint(text.lower().split()))


def _relations(data: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return a record's relations: as given, if its text names both sides, or as read from the text.

    In an imported conversation turn, "I" means the person that the turn names as its speaker.
    """
    text, given = str(data["text"]), data.get("relation")
    is_turn = data.get("actor") == "import" and data.get("session_id")
    if given is None and (data["type"] == "summary" or not may_relate(text)):
        return {}
    from ..words.relations import is_told, kept_relations, relations, relations_of_turn

    found: list[Mapping[str, JSON]] = [one for one in kept_relations(given) if is_told(one, text)]
    if given is None:
        found = [one.to_data() for one in (relations_of_turn if is_turn else relations)(text)]
    if not found:
        return {}
    names = [str(one[end]) for one in found for end in ("subject", "object") if one[end] != "I"]
    about = data.get("about") or list(dict.fromkeys(names))
    return {"relation": found[0] if len(found) == 1 else found, **({"about": about} if about else {})}


def _stamp(origin: Origin, *, id: str, now: datetime) -> dict[str, JSON]:
    return {
        "id": id,
        "user_id": origin.user_id,
        "created_at": to_text(now),
        "session_id": origin.session_id,
        "turn_id": origin.turn_id,
        "agent_id": origin.agent_id,
        "actor": origin.actor,
        "trust": "verified" if origin.actor in PERSONS else "candidate",
    }
