"""Look at long-term memory: search it, and say where a record came from and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from memkit.errors import NegativeAnswer
from memkit.runtime.memory.gate.secrets import mask
from memkit.runtime.memory.interface import ANYWHERE, accounted

if TYPE_CHECKING:
    from memkit.runtime.memory.interface import Circumstances, SearchReport, StoredRecord
    from memkit.workspace import Workspace

# Search long-term memory.


class Back(NamedTuple):
    """How far a question looks back."""

    as_of: str | None = None
    """A day: what was true then."""
    at: str | None = None
    """A commit: what was believed then."""


NOW = Back()


def search_memory(
    workspace: Workspace,
    query: str,
    user: str,
    count: int = 5,
    *,
    types: Sequence[str] = (),
    tags: Sequence[str] = (),
    where: Circumstances = ANYWHERE,
    back: Back = NOW,
) -> SearchReport:
    """Return what the archive knows about ``query`` that ``user`` may see; the read is an event of the audit log.

    As the archive stood at a commit: that is no recall, which counts as a use, but a look back.

    Raises:
        UsageError: ``back`` names no commit.
        EnvironmentFault: It names one and the store lies in no repository.
    """
    archive = workspace.archive_at(back.at)
    report = archive.search(
        query,
        user_id=user,
        k=count,
        types=tuple(types),
        tags=tuple(tags),
        as_of=back.as_of,
        where=where,
    )
    workspace.audit.append(
        {
            "event": "retrieved" if back.at is None else "looked back", "actor": "person", "user_id": user,
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
