"""Search long-term memory."""

from __future__ import annotations

from collections.abc import Sequence

from memkit.memory.interface import SearchReport, accounted
from memkit.memory.masking import masked
from memkit.workspace import Workspace


def search_memory(
    workspace: Workspace,
    query: str,
    *,
    user: str,
    count: int = 5,
    types: Sequence[str] = (),
    tags: Sequence[str] = (),
    as_of: str | None = None,
) -> SearchReport:
    """Return what the archive knows about ``query`` that ``user`` may see; the read is an event of the audit log."""
    report = workspace.archive.search(query, user_id=user, k=count, types=tuple(types), tags=tuple(tags), as_of=as_of)
    workspace.audit.append(
        {
            "event": "retrieved", "actor": "person", "user_id": user, "query": masked(query),
            "ids": [hit.id for hit in report.hits], "candidates": accounted(report.losers),
        }
    )  # fmt: skip
    return report
