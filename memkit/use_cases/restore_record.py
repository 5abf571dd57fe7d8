"""Bring a retired record back."""

from __future__ import annotations

from memkit.errors import NegativeAnswer
from memkit.runtime.memory.interface import StoredRecord
from memkit.use_cases.require_status import require_status
from memkit.workspace import Workspace


def restore_record(workspace: Workspace, stored: StoredRecord, *, reason: str = "") -> StoredRecord:
    """Take back that a record was forgotten or swept, and return it as it stands then; a live one stays as it is.

    Raises:
        NegativeAnswer: It is not retired, or its value was rejected or erased meanwhile.
    """
    record, archive = stored.record, workspace.archive
    if stored.status == "live":
        return stored
    require_status(stored, "retired", done="restored")
    if archive.view.is_tombstoned(record.user_id, record.text):
        raise NegativeAnswer(
            f"{record.id} cannot be restored: its value was rejected or erased. Lift that with 'memkit memory allow'."
        )
    archive.mark("restore", record.id, workspace.person(record.user_id), reason=reason)
    workspace.commit_memory()
    return archive.get(record.id) or stored
