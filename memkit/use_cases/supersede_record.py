"""Put a new text in the place of a record."""

from __future__ import annotations

from memkit.runtime.memory.interface import Decision, StoredRecord
from memkit.use_cases.require_status import require_status
from memkit.workspace import Workspace


def supersede_record(workspace: Workspace, stored: StoredRecord, text: str, *, reason: str = "") -> Decision:
    """Offer ``text`` in the place of a live record, in the name of a person, and return the write gate's decision.

    Raises:
        NegativeAnswer: The record is not live, so that a second text in its place would be one too many.
    """
    require_status(stored, "live", done="superseded")
    record = stored.record
    decision = workspace.archive.supersede(record.id, text, workspace.person(record.user_id), reason=reason)
    if decision.decision != "refused":
        workspace.commit_memory()
    return decision
