"""Take back what one turn of a session wrote: records, edits of core memory, evidence, and what it had taken back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from memkit.runtime.memory.record.record import Record
from memkit.use_cases.explain_turn import turn_events
from memkit.workspace import Workspace

WRITES = ("write", "quarantine", "merge", "supersede", "core", "reject")
"""What the account of a turn calls the things that can be taken back."""
REASON = "undone"
ECHO = "recalled"
"""The reason of a merge that wrote nothing: the record had been shown to the one who offered it."""


@dataclass(frozen=True)
class Undone:
    """What became of an undoing."""

    turn: int | None = None
    """The turn that was meant; None where none wrote anything."""
    records: tuple[Record, ...] = ()
    """Those that it had made; what they had replaced is live again."""
    sections: tuple[str, ...] = ()
    """Those of core memory that it had changed, and that read as before."""
    evidence: tuple[Record, ...] = ()
    """Those that it had repeated, and that count this no more."""
    remembered: tuple[Record, ...] = ()
    """Those that it had taken back, and that are remembered again."""
    before: bool = False
    """Whether all of it had been undone before."""

    def __bool__(self) -> bool:
        return bool(self.records or self.sections or self.evidence or self.remembered)


@dataclass(frozen=True)
class _Written:
    """The ids of what a turn wrote, as they stand in the archive."""

    records: tuple[str, ...]
    edits: tuple[tuple[str, str], ...]
    """Of core memory: the id of the edit and its section."""
    evidence: tuple[tuple[str, str], ...]
    """The id of a mark and of the record it is about."""
    rejections: tuple[tuple[str, str], ...]

    @property
    def ids(self) -> set[str]:
        """Return the id of everything that can be taken back."""
        marks = (mark for mark, _ in (*self.edits, *self.evidence, *self.rejections))
        return {*self.records, *marks}


def undo_turn(workspace: Workspace, *, user: str, session: str, turn: int | None = None) -> Undone:
    """Take back what the last turn of ``session`` that wrote anything, or ``turn``, wrote.

    The values of its records leave no tombstone: what was undone may be told again. What is undone twice stays undone.
    """
    events = turn_events(workspace, user=user, session=session)
    records = [record for record in _all_records(workspace, user, session) if record.turn_id is not None]
    wrote = {event["turn_id"] for event in events if event["event"] in WRITES} | {one.turn_id for one in records}
    meant = turn if turn is not None else max(filter(None, wrote), default=None)
    if meant not in wrote:
        return Undone(turn)
    found = _written(
        workspace, user, session, [event for event in events if event["turn_id"] == meant],
        made={record.id for record in records if record.turn_id == meant},
    )  # fmt: skip
    open_ids = {id for id in found.ids if not workspace.archive.is_withdrawn(id, user_id=user)}
    for id in sorted(open_ids):
        workspace.archive.mark("revoke", id, workspace.person(user, session=session), reason=REASON)
    return Undone(
        meant,
        records=_stored(workspace, user, (id for id in found.records if id in open_ids)),
        sections=tuple(dict.fromkeys(section for id, section in found.edits if id in open_ids)),
        evidence=_stored(workspace, user, (target for id, target in found.evidence if id in open_ids)),
        remembered=_stored(workspace, user, (target for id, target in found.rejections if id in open_ids)),
        before=not open_ids,
    )


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
        elif ids[0] not in made and event.get("reason") != ECHO:
            evidence += _own_marks(workspace, "evidence", ids[0], user, session)
            evidence += [mark for id in ids[1:] for mark in _own_marks(workspace, "supersede", id, user, session)]
    return _Written(tuple(sorted(made)), tuple(edits), tuple(evidence), tuple(rejections))


def _own_marks(workspace: Workspace, op: str, target: str, user: str, session: str) -> list[tuple[str, str]]:
    """Return the last thing of a kind that this session said about a record; the account does not name it."""
    said = workspace.archive.events_about(target, user_id=user)
    own = [event.id for event in said if event.op == op and event.session_id == session]
    return [(own[-1], target)] if own else []


def _all_records(workspace: Workspace, user: str, session: str) -> list[Record]:
    found = workspace.archive.records(user_id=user, session_id=session, status=None)
    return [record for record in found if record.user_id == user]


def _stored(workspace: Workspace, user: str, ids: Iterable[str]) -> tuple[Record, ...]:
    found = (workspace.archive.get(id, user_id=user) for id in dict.fromkeys(ids))
    return tuple(stored.record for stored in found if stored)
