"""Take back what the last turn of a session wrote."""

from __future__ import annotations

from memkit.memory.record import Draft, Record
from memkit.workspace import Workspace


def undo_turn(workspace: Workspace, *, user: str, session: str) -> list[Record]:
    """Retire the records that the last writing turn of ``session`` made and return them.

    What they had replaced is told again. Their values leave no tombstone: what was undone may be told again.
    """
    written = [
        record
        for record in workspace.archive.records(user_id=user, session_id=session)
        if record.turn_id is not None and record.user_id == user
    ]
    last = max((record.turn_id or 0 for record in written), default=0)
    undone = [record for record in written if record.turn_id == last]
    origin = workspace.person(user, session=session)
    for record in undone:
        workspace.archive.mark("forget", record.id, origin, reason="undone")
        if record.supersedes:
            _tell_again(workspace, record.supersedes, user)
    return undone


def _tell_again(workspace: Workspace, record_id: str, user: str) -> None:
    """Offer what an undone record had replaced once more: a superseded record stays in the history.

    It names no session, so that a session whose quota is used up can still be undone.
    """
    stored = workspace.archive.get(record_id, user_id=user)
    if stored is None:
        return
    old = stored.record
    draft = Draft(
        text=old.text, type=old.type, scope=old.scope, tags=old.tags, confidence=old.confidence,
        importance=old.importance, source=old.source, extra={"restores": record_id},
    )  # fmt: skip
    workspace.archive.offer(draft, workspace.person(user))
