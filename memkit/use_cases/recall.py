"""Look at long-term memory: search it, and say where a record came from and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memkit.errors import NegativeAnswer
from memkit.runtime.memory.gate.secrets import mask

if TYPE_CHECKING:
    from memkit.runtime.memory.interface import SearchReport, StoredRecord
    from memkit.workspace import Workspace

# Search long-term memory.


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
    from memkit.runtime.memory.interface import accounted

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


# Say why something cannot be done to a record in the state it is in.

_INSTEAD = {
    "live": "It is live.",
    "quarantined": "It is quarantined: 'memkit memory approve' releases it, 'memkit memory reject' bars it.",
    "retired": "It was retired: 'memkit memory restore' makes it live again.",
    "rejected": "It was rejected: 'memkit memory allow' lets its value be told again.",
}


def require_status(stored: StoredRecord, *wanted: str, done: str) -> None:
    """Return if the record is in one of the states ``wanted``; ``done`` says what it would be, such as *confirmed*.

    Raises:
        NegativeAnswer: It is in another one.
    """
    if stored.status in wanted:
        return
    if stored.status == "superseded":
        instead = f"It was superseded by {stored.superseded_by}." if stored.superseded_by else "It was superseded."
    else:
        instead = _INSTEAD[stored.status]
    raise NegativeAnswer(f"{stored.record.id} cannot be {done}. {instead}")
