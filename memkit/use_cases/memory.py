"""What people do to long-term and core memory: add, correct, merge, vouch for, take back, undo."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memkit.errors import NegativeAnswer, NotFound, UsageError, no_record
from memkit.runtime.host.terminal import one_line
from memkit.runtime.memory.interface import Decision, StoredRecord, Tombstone
from memkit.runtime.memory.record.record import Draft, Record, replaced_by

if TYPE_CHECKING:
    from memkit.runtime.memory.archive.reader import ArchiveReader
    from memkit.runtime.memory.lifecycle.questions import Resolution
    from memkit.runtime.memory.lifecycle.revocation import Revocation, RevokedSource
    from memkit.runtime.memory.record.events import Event
    from memkit.workspace import Workspace


def remember(
    workspace: Workspace,
    draft: Draft,
    *,
    user: str,
    session: str | None = None,
    turn: int | None = None,
    consented: bool = True,
) -> Decision:
    """Offer ``draft`` to the archive in a person's name and return the write gate's decision.

    A person at the command line is the operator, so consent is required only if ``privacy.consent`` is ``always``.
    """
    origin = workspace.writer(user, session=session, turn=turn)
    return _committed(workspace, workspace.archive.offer(draft, origin, consented=consented))


def put_value(workspace: Workspace, key: str, value: str, *, user: str) -> Decision:
    """Offer ``value`` as the value of ``key``, in a person's name, and return the write gate's decision."""
    return _committed(workspace, workspace.archive.put(key, Draft(value), workspace.writer(user)))


def _committed(workspace: Workspace, decision: Decision, added: int = 1) -> Decision:
    """Commit what the write gate let in, and return its decision."""
    if decision.decision != "refused":
        workspace.commit_memory(added=added)
    return decision


HOW_TO_AGREE = "Once the user agrees: memkit consent grant --user NAME"


def decision_data(decision: Decision, **more: Any) -> dict[str, Any]:
    """Return a decision as ``--json`` prints it, with ``more`` beside it."""
    reasons = [reason._asdict() for reason in decision.reasons]
    return {"decision": decision.decision, "id": decision.id, "reasons": reasons, **more}


def decision_lines(decision: Decision) -> list[str]:
    """Return a decision as text for a person: with its reasons, and what to do about them."""
    ok = decision.decision in ("admitted", "merged")
    lines = [f"{decision.decision} {one_line(decision.id)}" if decision.id else decision.decision]
    lines += [f"  {reason.code}: {reason.message}" for reason in decision.reasons]
    if decision.decision == "quarantined":
        lines.append(f"  It is hidden until a person approves it: memkit memory approve {one_line(decision.id or '')}")
    codes = {reason.code for reason in decision.reasons}
    if "consent" in codes:
        lines.append(f"  {HOW_TO_AGREE}")
    if "tombstone" in codes:
        lines.append("  To allow it: memkit memory allow TEXT, then add it again")
    if "contradiction" in codes and ok:
        lines.append("  To see and settle open questions: memkit memory list --open")
    return lines


def supersede_record(
    workspace: Workspace, stored: StoredRecord, text: str, *, reason: str = "", consented: bool = True
) -> Decision:
    """Offer ``text`` as the replacement of a live record, in a person's name, and return the write gate's decision.

    Raises:
        NegativeAnswer: The record is not live, so that it would get a second replacement.
    """
    _require_status(stored, "live", done="superseded")
    record = stored.record
    writer = workspace.writer(record.user_id)
    if not consented:
        return workspace.archive.offer(Draft(text, supersedes=record.id), writer, consented=False)
    return _committed(workspace, workspace.archive.supersede(record.id, text, writer, reason=reason))


def update_record(
    workspace: Workspace, stored: StoredRecord, changes: Mapping[str, Any], *, reason: str = ""
) -> str | None:
    """Record new values for fields of a live or waiting record.

    A change that an agent may not make by itself waits for a person; then the id for approving it is returned.

    Raises:
        NegativeAnswer: The record is closed.
        Refused: A value holds what no record may hold.
    """
    _require_status(stored, "live", "quarantined", done="updated")
    record = stored.record
    waits = workspace.archive.mark("update", record.id, workspace.writer(record.user_id), reason=reason, **changes)
    workspace.commit_memory()
    return waits


def refine_record(
    workspace: Workspace,
    id: str,
    feedback: str,
    *,
    agree: Callable[[str, str], None],
    user: str | None = None,
    reason: str = "",
    dry_run: bool = False,
) -> tuple[str, Decision | None]:
    """Propose a wording for a live record and supersede it; ``agree`` receives the old and the new one, and may raise.

    Returns the wording, and what the gate decided; None for a dry run.

    Raises:
        NotFound: There is no such record, or it is not this user's.
        NegativeAnswer: The record is not live or not readable, or the feedback is not understood.
    """
    stored = workspace.archive.get(id, user_id=user)
    if stored is None:
        raise no_record(id)
    old = stored.record
    if stored.status != "live":
        raise NegativeAnswer(f"Record {id} is {stored.status}; only a live record can be refined.")
    if old.is_sealed:
        raise NegativeAnswer(f"Record {id} is sealed, and its key is not here.")
    from memkit.runtime.memory.lifecycle.successors import refined

    proposal = refined(old.text, feedback)
    if proposal is None:
        raise NegativeAnswer(
            "Not understood as a correction. Try “X, not Y”, “it is X”, “add X” or “remove X”, or give the whole "
            f"text: memkit memory supersede {id} TEXT"
        )
    if dry_run:
        return proposal, None
    agree(old.text, proposal)
    offered = workspace.archive.supersede(id, proposal, workspace.writer(old.user_id), reason=reason or feedback)
    return proposal, _committed(workspace, offered)


def merge_records(
    workspace: Workspace, ids: Sequence[str], *, user: str | None = None, text: str | None = None, reason: str = ""
) -> Decision:
    """Offer one record as the replacement of ``ids`` and return the write gate's decision.

    Raises:
        NotFound: The first of them does not exist, or is not this user's.
    """
    stored = workspace.archive.get(ids[0], user_id=user)
    if stored is None:
        raise no_record(ids[0])
    writer = workspace.writer(stored.record.user_id)
    decision = workspace.archive.merge(ids, writer, text=text, reason=reason)
    return _committed(workspace, decision, added=1 + len(set(ids)))


LIVE = ("live",)
SAID_OF = {
    "confirm": (LIVE, "confirmed"),
    "contradict": (LIVE, "contradicted"),
    "forget": (LIVE, "forgotten"),
    "approve": (("quarantined", "live"), "approved"),
    "reject": (("live", "superseded", "retired", "quarantined", "rejected"), "rejected"),
}
"""For each operation, the states of records that it applies to, and the resulting state."""
OF_CORE = {"approve": "verified", "reject": "rejected"}
"""The operations that also apply to an edit of core memory, and the resulting trust."""


class MemoryStanding(NamedTuple):
    """The state of a record, or of an edit of core memory."""

    status: str
    confidence: float | None = None
    """None for an edit of core memory."""
    already: bool = False
    """Whether it was in this state before, and nothing was written."""
    outdated: str = ""
    """The section that was edited again since, so that an approved edit is no longer its text."""
    trust: str = "verified"
    taint: tuple[str, ...] = ()
    """The taint that remains."""
    revived: tuple[str, ...] = ()
    """Records that live again because their replacement was rejected."""
    proposal: str | None = None
    """The id under which a person approves an operation requested under taint; None if it was carried out."""

    def to_data(self, op: str, id: str) -> dict[str, Any]:
        """Return the result of ``op`` on ``id`` as ``--json`` prints it."""
        from memkit.runtime.memory.gate.gate import TAINTED

        data: dict[str, Any] = {"id": id, "op": op, "status": self.status}
        data |= {"trust": self.trust, "taint": []} if op == "approve" else {}
        data |= {} if self.confidence is None else {"confidence": self.confidence}
        waits = {"decision": "quarantined", "proposal": self.proposal, "reasons": [TAINTED._asdict()]}
        return data | (waits if self.proposal else {})


def mark_entry(workspace: Workspace, op: str, id: str, *, user: str | None = None, reason: str = "") -> MemoryStanding:
    """Record that the record or core edit ``id`` was confirmed, rejected and so on, and return its new state.

    Raises:
        NotFound: There is no such record, or it is not this user's.
        NegativeAnswer: The operation does not apply to a record in this state.
    """
    archive = workspace.archive
    stored = archive.get(id, user_id=user)
    if op == "approve":
        _require_approvable(archive, id, stored, user)
    if stored is None:
        proposal = archive.proposal(id, user_id=user) if op in OF_CORE else None
        if proposal is not None:
            return _mark_proposal(workspace, op, proposal, reason)
        edit = archive.core_edit(id, user_id=user) if op in OF_CORE else None
        if edit is None:
            raise no_record(id)
        return _mark_edit(workspace, op, edit, reason)
    if _stands_so(workspace, op, stored):
        return MemoryStanding(stored.status, stored.record.confidence, already=True, trust=stored.record.trust)
    wanted, done = SAID_OF[op]
    _require_status(stored, *wanted, done=done)
    by = workspace.person if op == "approve" else workspace.writer
    waits = archive.mark(op, id, by(stored.record.user_id), reason=reason)
    workspace.commit_memory()
    marked = archive.get(id) or stored
    had_place = op == "reject" and stored.status != "quarantined"
    replaced = [archive.get(one) for one in replaced_by(marked.record)] if had_place else []
    return MemoryStanding(
        marked.status, marked.record.confidence, trust=marked.record.trust, taint=marked.record.taint, proposal=waits,
        revived=tuple(one.record.id for one in replaced if one and one.status == "live"),
    )  # fmt: skip


def _require_approvable(archive: ArchiveReader, id: str, stored: StoredRecord | None, user: str | None) -> None:
    """Raise ``NegativeAnswer`` if nobody here can vouch for a line, or if that would not release it."""
    from memkit.use_cases.recall import WITHHELD

    if stored is not None and stored.withheld:
        raise NegativeAnswer(f"{id} stays held back. {WITHHELD}")
    if archive.is_unreadable(id, user_id=user):
        raise NegativeAnswer(f"{id} is sealed, and its key is not here: 'memkit key import FILE', then read it first.")


def _mark_proposal(workspace: Workspace, op: str, proposal: Event, reason: str) -> MemoryStanding:
    """Carry out or decline an agent's request to change a record under taint, and return that record's state."""
    workspace.archive.mark(op, proposal.id, workspace.person(proposal.user_id), reason=reason)
    workspace.commit_memory()
    target = workspace.archive.get(proposal.target)
    return MemoryStanding(target.status if target else "gone", trust=OF_CORE[op])


def approve_origin(workspace: Workspace, origin: str, *, user: str | None = None, reason: str = "") -> list[Record]:
    """Approve every live record from ``origin``, and return them; what is quarantined is approved separately.

    Raises:
        NotFound: No live record has this origin.
    """
    found = workspace.archive.tainted_by(origin, user_id=user)
    if not found:
        raise NotFound(f"No live record has the origin {origin!r:.200}, or a person has already approved them all.")
    for record in found:
        workspace.archive.mark("approve", record.id, workspace.person(record.user_id), reason=reason)
    workspace.commit_memory(added=len(found))
    return found


def _stands_so(workspace: Workspace, op: str, stored: StoredRecord) -> bool:
    """Return whether repeating the operation would change nothing; an allowed value can be rejected again."""
    if op == "reject":
        record = stored.record
        return stored.status == "rejected" and workspace.archive.view.is_tombstoned(record.user_id, record.text)
    if op == "approve":
        record = stored.record
        is_clean = not workspace.archive.taint_of(record, record.user_id)
        return stored.status == "live" and record.trust == "verified" and is_clean
    return op == "forget" and stored.status == "retired"


def _mark_edit(workspace: Workspace, op: str, edit: Mapping[str, object], reason: str) -> MemoryStanding:
    archive, id, owner = workspace.archive, str(edit["id"]), str(edit["user_id"])
    already = edit["trust"] == OF_CORE[op] and not (op == "approve" and edit["taint"])
    if op == "approve" and edit["trust"] == "rejected":
        raise NegativeAnswer(f"{id} was already rejected. Write the section again: memkit core set {edit['section']}")
    if not already:
        archive.mark(op, id, workspace.person(owner), reason=reason)
        workspace.commit_memory()
    if op == "reject":
        return MemoryStanding("rejected", already=already)
    section, agent = str(edit["section"]), edit["agent_id"]
    if archive.core_sections(owner, None if agent is None else str(agent)).get(section, "") == edit["text"]:
        return MemoryStanding("live", already=already)
    return MemoryStanding("superseded", already=already, outdated=section)


def resolve_question(
    workspace: Workspace, id: str, *, user: str | None = None, since: str | None = None, reason: str = ""
) -> Resolution:
    """Record that a record in an open question holds, and since when; the others in the question become history then.

    Raises:
        NotFound: There is no such record, or it is not this user's.
        NegativeAnswer: It is not live.
    """
    from memkit.use_cases.recall import find_record

    stored = find_record(workspace.archive, id, user)
    _require_status(stored, "live", done="resolved")
    writer = workspace.person(stored.record.user_id)
    done = workspace.archive.resolve(id, writer, since=since, reason=reason)
    workspace.commit_memory(added=2 + len(done.ended))
    return done


def allow_value(workspace: Workspace, value: str, *, user: str, reason: str = "") -> list[Tombstone]:
    """Lift every tombstone that bars ``value``, a text or the id of a rejected record, and return the lifted ones.

    Raises:
        NotFound: Nothing bars it.
    """
    lifted = workspace.archive.allow(value, workspace.person(user), reason=reason)
    if not lifted:
        raise NotFound(
            f"This value is not barred for {user!r:.60}: it was neither rejected nor erased, or is allowed again."
        )
    workspace.commit_memory()
    return lifted


def restore_record(workspace: Workspace, stored: StoredRecord, *, reason: str = "") -> StoredRecord:
    """Undo the forgetting or sweeping of a record, and return its new state; a live one stays as it is.

    Raises:
        NegativeAnswer: It is not retired, or its value has been rejected or erased since.
    """
    record, archive = stored.record, workspace.archive
    if stored.status == "live":
        return stored
    _require_status(stored, "retired", done="restored")
    if archive.view.is_tombstoned(record.user_id, record.text):
        raise NegativeAnswer(
            f"{record.id} cannot be restored: its value was rejected or erased. Lift that with 'memkit memory allow'."
        )
    archive.mark("restore", record.id, workspace.person(record.user_id), reason=reason)
    workspace.commit_memory()
    return archive.get(record.id) or stored


def revoke_source(
    workspace: Workspace,
    source: RevokedSource,
    *,
    agree: Callable[[Revocation], None],
    user: str | None = None,
    reason: str = "",
    dry_run: bool = False,
) -> Revocation:
    """Return what goes with ``source``, taken back unless it is a dry run; ``agree`` is asked first, and may raise.

    It covers every user, or only ``user`` if given.
    """
    found = workspace.archive.revocation(source, user_id=user)
    if dry_run or not any(found):
        return found
    agree(found)
    done = workspace.archive.revoke(source, workspace.person(user or "everybody"), user_id=user, reason=reason)
    workspace.commit_memory(added=len(done.records) + len(done.marks) + len(done.core))
    return done


def write_core(
    workspace: Workspace,
    section: str,
    text: str,
    *,
    user: str,
    agent_id: str | None = None,
    reason: str = "",
    consented: bool = True,
) -> Decision:
    """Offer ``text`` as the whole new content of a core section and return the write gate's decision.

    Raises:
        UsageError: There is no such section, or it is not writable.
    """
    known = workspace.core_sections
    if section not in known:
        from memkit.store.schema import suggestion

        if section == "persona":
            raise UsageError("The persona is a setting: memkit config set persona TEXT.")
        raise UsageError(
            f"{section!r:.60} is not a writable section. Choose from "
            f"{', '.join(known)}.{suggestion(section, [*known])} Others are declared under core.sections in "
            "memkit.yaml."
        )
    origin = workspace.writer(user)._replace(agent_id=agent_id)
    decision = workspace.archive.edit_core(user, section, text, origin, reason=reason, consented=consented)
    return _committed(workspace, decision)


def edited_core(now: str, old: str, new: str) -> str:
    """Return a section with ``old`` replaced by ``new``, or with ``new`` as a further line if ``old`` is empty.

    Raises:
        NegativeAnswer: ``old`` does not occur or occurs more than once, or nothing would be left.
    """
    found = now.count(old) if old else 1
    if found != 1:
        why = "is not there" if not found else f"occurs {found} times; quote more around it"
        raise NegativeAnswer(f"Nothing was changed: the old text {why}.")
    changed = now.replace(old, new) if old else "\n".join(filter(None, [now, new]))
    if not changed.strip():
        raise NegativeAnswer("Nothing was changed: the section would be empty. Give its new text.")
    return changed


HIDDEN = ("quarantined", "rejected")


def roll_back_core(
    workspace: Workspace, section: str, version: str, *, user: str, agent_id: str | None = None, reason: str = ""
) -> tuple[Decision, str]:
    """Offer an earlier text of ``section`` as a new edit, and return what the gate decided, and the text.

    ``version`` is a number of versions back, or an edit's id.

    Raises:
        NotFound: The section has no such version.
        NegativeAnswer: The version was never admitted, or its text is the present one.
        UsageError: The number of versions is invalid.
    """
    history = workspace.archive.core_history(user)
    edits = [edit for edit in history if edit["section"] == section and edit["agent_id"] == agent_id]
    text = _text_of(edits, section, version)
    if text == workspace.archive.core_sections(user, agent_id).get(section, ""):
        raise NegativeAnswer(f"{section} already says that.")
    why = reason or f"back to {version}"
    origin = workspace.writer(user)._replace(agent_id=agent_id)
    return _committed(workspace, workspace.archive.edit_core(user, section, text, origin, reason=why)), text


def _text_of(edits: Sequence[Mapping[str, object]], section: str, version: str) -> str:
    named = [edit for edit in edits if edit["id"] == version]
    if named:
        if named[0]["trust"] in HIDDEN:
            raise NegativeAnswer(f"Edit {version} was {named[0]['trust']}; approve it first: memkit memory approve ID.")
        return str(named[0]["text"])
    if not version.isdigit():
        raise NotFound(f"{section} has no edit {version!r:.60}. See memkit core history.")
    if int(version) < 1:
        raise UsageError("How many versions back? Give 1 or more.")
    # Before its first edit a section was empty.
    texts = ["", *(str(edit["text"]) for edit in edits if edit["trust"] not in HIDDEN)]
    if int(version) >= len(texts):
        raise NotFound(f"{section} has only {len(texts) - 1} versions, so it cannot go back {version}.")
    return texts[-1 - int(version)]


# Undo the writes of one turn of a session: records, edits of core memory, evidence, and retractions.

WRITES = ("write", "quarantine", "merge", "supersede", "core", "reject")
"""The names of undoable operations in a turn's account."""
REASON = "undone"
UNWRITTEN = ("recalled", "duplicate, tainted")
"""The reasons of merges that wrote nothing: the offerer had been shown the record, or the offer was tainted."""


class UndoneTurn(NamedTuple):
    """The result of undoing a turn."""

    turn: int | None = None
    """The turn that was undone; None if none wrote anything."""
    records: tuple[Record, ...] = ()
    """The records it had created; those that they had replaced are live again."""
    sections: tuple[str, ...] = ()
    """The core sections it had changed, which now have their former text."""
    kept: tuple[str, ...] = ()
    """The core sections that a later edit, made on top of this turn's, leaves as they are."""
    withdrawn: tuple[str, ...] = ()
    """The core sections with a waiting new text, which has been withdrawn."""
    evidence: tuple[Record, ...] = ()
    """The records it had repeated, which no longer count that as evidence."""
    remembered: tuple[Record, ...] = ()
    """The records it had taken back, which are remembered again."""
    before: bool = False
    """Whether all of it had been undone before."""

    def __bool__(self) -> bool:
        return any((self.records, self.sections, self.kept, self.withdrawn, self.evidence, self.remembered))


class _Written(NamedTuple):
    """The ids of a turn's writes in the archive."""

    records: tuple[str, ...]
    edits: tuple[tuple[str, str], ...]
    """Edits of core memory: the id of the edit and its section."""
    evidence: tuple[tuple[str, str], ...]
    """The id of a mark and of the record it is about."""
    rejections: tuple[tuple[str, str], ...]

    @property
    def ids(self) -> set[str]:
        """Return the ids of everything that can be undone."""
        marks = (mark for mark, _ in (*self.edits, *self.evidence, *self.rejections))
        return {*self.records, *marks}


def undo_turn(workspace: Workspace, *, user: str, session: str, turn: int | None = None) -> UndoneTurn:
    """Undo the writes of ``turn``, by default the last turn of ``session`` that wrote anything.

    The values of its records leave no tombstone: what was undone may be added again. Undoing twice changes nothing.
    """
    from memkit.use_cases.accounts import turn_events

    events = turn_events(workspace, user=user, session=session)
    found = workspace.archive.records(user_id=user, session_id=session, status=None)
    records = [one for one in found if one.user_id == user and one.turn_id is not None and _is_ours(workspace, one)]
    wrote = {event["turn_id"] for event in events if event["event"] in WRITES} | {one.turn_id for one in records}
    meant = turn if turn is not None else max(filter(None, wrote), default=None)
    if meant not in wrote:
        return UndoneTurn(turn)
    written = _written(
        workspace, user, session, [event for event in events if event["turn_id"] == meant],
        made={record.id for record in records if record.turn_id == meant},
    )  # fmt: skip
    open_ids = {id for id in written.ids if not workspace.archive.is_withdrawn(id, user_id=user)}
    history = workspace.archive.core_history(user)
    held = {str(edit["id"]) for edit in history if edit["trust"] == "quarantined"}
    covered = _covered(history, open_ids)
    for id in sorted(open_ids):
        workspace.archive.mark("revoke", id, workspace.person(user, session=session), reason=REASON)
    return UndoneTurn(
        meant,
        records=_stored(workspace, user, (id for id in written.records if id in open_ids)),
        sections=tuple(dict.fromkeys(section for id, section in written.edits if id in open_ids - held - covered)),
        kept=tuple(dict.fromkeys(section for id, section in written.edits if id in covered)),
        withdrawn=tuple(dict.fromkeys(section for id, section in written.edits if id in open_ids & held)),
        evidence=_stored(workspace, user, (target for id, target in written.evidence if id in open_ids)),
        remembered=_stored(workspace, user, (target for id, target in written.rejections if id in open_ids)),
        before=not open_ids,
    )


def _covered(history: Sequence[Mapping[str, object]], undone: set[str]) -> set[str]:
    """Return the edits to undo on top of which a later one stands."""
    found, standing = set(), set()
    for edit in reversed(history):
        where = (edit["agent_id"], edit["section"])
        if edit["trust"] in HIDDEN:
            continue
        if edit["id"] not in undone:
            standing.add(where)
        elif where in standing:
            found.add(str(edit["id"]))
    return found


def _written(
    workspace: Workspace, user: str, session: str, events: Iterable[Mapping[str, Any]], made: set[str]
) -> _Written:
    edits, evidence, rejections = [], [], []
    for event in events:
        kind, ids = event["event"], event.get("ids") or ()
        if kind not in WRITES or not ids:
            continue
        if kind == "core" or event.get("section"):
            edits.append((ids[0], str(event.get("section", ""))))
        elif kind == "reject":
            rejections += _own_marks(workspace, "reject", ids[0], user, session)
        elif ids[0] not in made and event.get("reason") not in UNWRITTEN:
            evidence += _own_marks(workspace, "evidence", ids[0], user, session)
            evidence += [mark for id in ids[1:] for mark in _own_marks(workspace, "supersede", id, user, session)]
    return _Written(tuple(sorted(made)), tuple(edits), tuple(evidence), tuple(rejections))


def _own_marks(workspace: Workspace, op: str, target: str, user: str, session: str) -> list[tuple[str, str]]:
    """Return this session's last operation of a kind on a record; the account does not name it."""
    said = workspace.archive.events_about(target, user_id=user)
    of_session = (event for event in reversed(said) if event.op == op and event.session_id == session)
    last = next((event for event in of_session if _is_ours(workspace, event)), None)
    return [(last.id, target)] if last else []


def _is_ours(workspace: Workspace, line: Record | Event) -> bool:
    """Return whether nobody wrote a line whom this clone does not trust; anybody can name this session in theirs."""
    return not workspace.archive.strangers_of(line.id, line.user_id)


def _stored(workspace: Workspace, user: str, ids: Iterable[str]) -> tuple[Record, ...]:
    found = (workspace.archive.get(id, user_id=user) for id in dict.fromkeys(ids))
    return tuple(stored.record for stored in found if stored)


# Explain why an operation does not apply to a record in its state.

_INSTEAD = {
    "live": "It is live.",
    "quarantined": "It is quarantined: 'memkit memory approve' releases it, 'memkit memory reject' bars it.",
    "retired": "It was retired: 'memkit memory restore' makes it live again.",
    "rejected": "It was rejected: 'memkit memory allow' lets its value be added again.",
}


def _require_status(stored: StoredRecord, *wanted: str, done: str) -> None:
    """Return if the record is in one of the states ``wanted``; ``done`` is the resulting state, such as *confirmed*.

    Raises:
        NegativeAnswer: It is in another one.
    """
    if stored.status in wanted:
        return
    if stored.status == "superseded":
        instead = f"It was superseded by {stored.superseded_by}." if stored.superseded_by else "It was superseded."
    else:
        instead = _INSTEAD[stored.status]
    raise NegativeAnswer(f"{stored.record.id} cannot be {done}. {instead}")
