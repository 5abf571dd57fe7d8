"""Say what became of a record, or of an edit of core memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memkit.errors import no_record
from memkit.runtime.memory.interface import StoredRecord
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
OF_CORE = {"approve": "verified", "reject": "rejected"}
"""What can be said about an edit of core memory as well, and how trusted it is then."""


@dataclass(frozen=True)
class Standing:
    """Where a record, or an edit of core memory, stands."""

    status: str
    confidence: float | None = None
    """None for an edit of core memory."""
    already: bool = False
    """Whether it stood so before, and nothing was written."""
    outdated: str = ""
    """The section whose text an approved edit is not, because it was edited again since."""


def mark_entry(workspace: Workspace, op: str, id: str, *, user: str | None = None, reason: str = "") -> Standing:
    """Write down that the record or core edit ``id`` was confirmed, rejected and so on, and return how it stands now.

    Raises:
        NotFound: There is no such record, or it is not this user's.
        NegativeAnswer: That is nothing to say of a record in this state.
    """
    archive = workspace.archive
    stored = archive.get(id, user_id=user)
    if stored is None:
        edit = archive.core_edit(id, user_id=user) if op in OF_CORE else None
        if edit is None:
            raise no_record(id)
        return _mark_edit(workspace, op, edit, reason)
    if _stands_so(workspace, op, stored):
        return Standing(stored.status, stored.record.confidence, already=True)
    wanted, done = SAID_OF[op]
    require_status(stored, *wanted, done=done)
    archive.mark(op, id, workspace.person(stored.record.user_id), reason=reason)
    workspace.commit_memory()
    marked = archive.get(id) or stored
    return Standing(marked.status, marked.record.confidence)


def _stands_so(workspace: Workspace, op: str, stored: StoredRecord) -> bool:
    """Return whether saying it again would change nothing; a rejected value that was allowed again can be rejected."""
    if op == "reject":
        record = stored.record
        return stored.status == "rejected" and workspace.archive.view.is_tombstoned(record.user_id, record.text)
    if op == "approve":
        return stored.status == "live" and stored.record.trust == "verified"
    return op == "forget" and stored.status == "retired"


def _mark_edit(workspace: Workspace, op: str, edit: Mapping[str, object], reason: str) -> Standing:
    archive, id, owner = workspace.archive, str(edit["id"]), str(edit["user_id"])
    already = edit["trust"] == OF_CORE[op]
    if not already:
        archive.mark(op, id, workspace.person(owner), reason=reason)
        workspace.commit_memory()
    if op == "reject":
        return Standing("rejected", already=already)
    section, agent = str(edit["section"]), edit["agent_id"]
    if archive.core_sections(owner, None if agent is None else str(agent)).get(section, "") == edit["text"]:
        return Standing("live", already=already)
    return Standing("superseded", already=already, outdated=section)
