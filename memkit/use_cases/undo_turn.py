"""Take back what the last turn of a session wrote."""

from __future__ import annotations

from memkit.memory.record import Record
from memkit.workspace import Workspace


def undo_turn(workspace: Workspace, *, user: str, session: str) -> list[Record]:
    """Take back the records that the last writing turn of ``session`` made and return them.

    What they had replaced is live again. Their values leave no tombstone: what was undone may be told again.
    """
    archive = workspace.archive
    live = [record for record in archive.records(user_id=user, session_id=session) if _is_of_a_turn(record, user)]
    last = max((record.turn_id or 0 for record in live), default=0)
    replaced = archive.records(user_id=user, session_id=session, status="superseded")
    undone = [record for record in (*live, *replaced) if _is_of_a_turn(record, user) and record.turn_id == last]
    for record in undone:
        archive.mark("revoke", record.id, workspace.person(user, session=session), reason="undone")
    return undone


def _is_of_a_turn(record: Record, user: str) -> bool:
    return record.turn_id is not None and record.user_id == user
