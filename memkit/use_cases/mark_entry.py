"""Say what became of a record, or of an edit of core memory."""

from __future__ import annotations

from dataclasses import dataclass

from memkit.errors import no_record
from memkit.use_cases.require_status import require_status
from memkit.workspace import Workspace

LIVE = ("live",)
SAID_OF = {
    "confirm": (LIVE, "confirmed"),
    "contradict": (LIVE, "contradicted"),
    "forget": (LIVE, "forgotten"),
    "approve": (("quarantined", "live"), "approved"),
    "reject": (("live", "superseded", "retired", "quarantined", "rejected"), "rejected"),
}
"""Of records in which states each thing can be said, and what they are then."""
OF_CORE = ("approve", "reject")
"""What can be said about an edit of core memory as well."""


@dataclass(frozen=True)
class Standing:
    """Where a record, or an edit of core memory, stands."""

    status: str
    confidence: float | None = None
    """None for an edit of core memory."""


def mark_entry(workspace: Workspace, op: str, id: str, *, user: str | None = None, reason: str = "") -> Standing:
    """Write down that the record or core edit ``id`` was confirmed, rejected and so on, and return how it stands now.

    Raises:
        NotFound: There is no such record, or it is not this user's.
        NegativeAnswer: That is nothing to say of a record in this state.
    """
    archive = workspace.archive
    stored = archive.get(id, user_id=user)
    if stored is not None:
        wanted, done = SAID_OF[op]
        require_status(stored, *wanted, done=done)
        archive.mark(op, id, workspace.person(stored.record.user_id), reason=reason)
        marked = archive.get(id) or stored
        standing = Standing(marked.status, marked.record.confidence)
    else:
        edit = archive.core_edit(id, user_id=user) if op in OF_CORE else None
        if edit is None:
            raise no_record(id)
        archive.mark(op, id, workspace.person(str(edit["user_id"])), reason=reason)
        standing = Standing({"approve": "live", "reject": "rejected"}[op])
    workspace.commit_memory()
    return standing
