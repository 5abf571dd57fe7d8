"""Count what is remembered."""

from __future__ import annotations

from dataclasses import dataclass

from memkit.runtime.memory.archive.overview import ArchiveCensus
from memkit.workspace import Workspace


@dataclass(frozen=True)
class Statistics:
    """What the archive holds, in numbers."""

    census: ArchiveCensus
    users: int
    """Everybody of whom something is stored, whomever was asked about."""
    shards: int
    shard_bytes: int
    most_used: tuple[tuple[str, int], ...] = ()
    """Ids and uses, where one user was asked about."""


def count_memory(workspace: Workspace, *, user: str | None = None) -> Statistics:
    """Return numbers about the whole archive, or about one user's part in it; no text is read out."""
    archive = workspace.archive
    sizes = [path.stat().st_size for path in (workspace.root / "archive").rglob("*.jsonl")]
    return Statistics(
        census=archive.census(user),
        users=len(archive.users()),
        shards=len(sizes),
        shard_bytes=sum(sizes),
        most_used=tuple(archive.most_used(user)) if user is not None else (),
    )
