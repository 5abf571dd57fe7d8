"""Bring a retired record back."""

from __future__ import annotations

from memkit.errors import NegativeAnswer
from memkit.memory.interface import StoredRecord
from memkit.workspace import Workspace

OTHERWISE = {
    "superseded": "It was superseded; what took its place is in its history.",
    "quarantined": "It is quarantined: 'memkit memory approve' releases it.",
    "rejected": "It was rejected: 'memkit memory allow' lets its value be told again.",
}


def restore_record(workspace: Workspace, stored: StoredRecord, *, reason: str = "") -> bool:
    """Make a record live again that was forgotten or swept, and return whether anything had to be done for it.

    Raises:
        NegativeAnswer: It is not retired, or its value was rejected or erased meanwhile.
    """
    record, archive = stored.record, workspace.archive
    if stored.status == "live":
        return False
    if stored.status != "retired":
        raise NegativeAnswer(f"{record.id} cannot be restored. {OTHERWISE[stored.status]}")
    if archive.view.is_tombstoned(record.user_id, record.text):
        raise NegativeAnswer(
            f"{record.id} cannot be restored: its value was rejected or erased. Lift that with 'memkit memory allow'."
        )
    archive.mark("restore", record.id, workspace.person(record.user_id), reason=reason)
    workspace.commit_memory()
    return True
