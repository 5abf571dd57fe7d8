"""Merge several records into one."""

from __future__ import annotations

from collections.abc import Sequence

from memkit.errors import no_record
from memkit.runtime.memory.interface import Decision
from memkit.workspace import Workspace


def merge_records(
    workspace: Workspace, ids: Sequence[str], *, user: str | None = None, text: str | None = None, reason: str = ""
) -> Decision:
    """Offer one record in the place of ``ids`` to the write gate and return what it decided.

    Raises:
        NotFound: The first of them is not here, or not this user's.
    """
    stored = workspace.archive.get(ids[0], user_id=user)
    if stored is None:
        raise no_record(ids[0])
    person = workspace.person(stored.record.user_id)
    decision = workspace.archive.merge(ids, person, text=text, reason=reason)
    if decision.decision != "refused":
        workspace.commit_memory(added=1 + len(set(ids)))
    return decision
