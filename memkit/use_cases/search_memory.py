"""Search long-term memory."""

from __future__ import annotations

from collections.abc import Sequence

from memkit.runtime.memory.gate.secrets import mask
from memkit.runtime.memory.interface import SearchReport, accounted
from memkit.workspace import Workspace


def search_memory(
    workspace: Workspace,
    query: str,
    *,
    user: str,
    count: int = 5,
    types: Sequence[str] = (),
    tags: Sequence[str] = (),
    session: str | None = None,
    agent: str | None = None,
    as_of: str | None = None,
    at: str | None = None,
) -> SearchReport:
    """Return what the archive knows about ``query`` that ``user`` may see; the read is an event of the audit log.

    With ``at`` as the archive stood at that commit: that is no recall, which counts as a use, but a look back.

    Raises:
        UsageError: ``at`` names no commit.
        EnvironmentFault: ``at`` is given and the store lies in no repository.
    """
    archive = workspace.archive_at(at)
    report = archive.search(
        query,
        user_id=user,
        k=count,
        types=tuple(types),
        tags=tuple(tags),
        session_id=session,
        agent_id=agent,
        as_of=as_of,
    )
    workspace.audit.append(
        {
            "event": "retrieved" if at is None else "looked back", "actor": "person", "user_id": user,
            "query": mask(query), "ids": [hit.id for hit in report.hits], "candidates": accounted(report.losers),
        }
    )  # fmt: skip
    return report
