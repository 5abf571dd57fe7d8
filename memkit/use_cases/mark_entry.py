"""Say what became of a record, or of an edit of core memory."""

from __future__ import annotations

from memkit.errors import NotFound
from memkit.workspace import Workspace

OF_CORE = ("approve", "reject")
"""What can be said about an edit of core memory as well."""


def mark_entry(workspace: Workspace, op: str, id: str, *, user: str | None = None, reason: str = "") -> str:
    """Write down that the record or core edit ``id`` was confirmed, rejected and so on, and return its status now.

    Raises:
        NotFound: There is no such record, or it is not this user's.
    """
    archive = workspace.archive
    stored = archive.get(id, user_id=user)
    if stored is not None:
        archive.mark(op, id, workspace.person(stored.record.user_id), reason=reason)
        marked = archive.get(id)
        status = marked.status if marked else stored.status
    else:
        edit = archive.core_edit(id, user_id=user) if op in OF_CORE else None
        if edit is None:
            raise NotFound(f"No record {id!r} here.")
        archive.mark(op, id, workspace.person(str(edit["user_id"])), reason=reason)
        status = {"approve": "live", "reject": "rejected"}[op]
    workspace.commit_memory()
    return status
