"""Where consolidation plugs in: long-term memory told in fewer words, through the write gate."""

from __future__ import annotations

from typing import Any

from ..memory.lifecycle.consolidation import Consolidated, Tell
from ..memory.main import ArchivalStore
from .settings import ProjectSettings


def consolidate(settings: ProjectSettings, user: str | None = None, tell: Tell | None = None) -> Consolidated:
    """Consolidate the memory of one user, or of all, and return what came of it; a second run finds nothing to do.

    Args:
        settings: Of the project; ``consolidate`` in them says what is old and small enough.
        user: Whose memory; None for everybody's.
        tell: Finds better words than the first sentence of each of some events, for example by asking a model. It gets
            the records and returns one sentence a line, or None where it has none.
    """
    with ArchivalStore(settings.memory_folder, settings=settings.limits) as archive:
        plan = archive.consolidation(user_id=user, tell=tell)
        return archive.consolidate(plan) if plan else Consolidated()


def as_data(done: Consolidated) -> dict[str, Any]:
    """Return what was done, as plain data."""
    return {
        "added": list(done.added),
        "merged": [{"id": item.id, "parents": list(item.parents)} for item in done.merged],
        "summarised": [{"id": item.id, "parents": list(item.parents)} for item in done.summaries],
        "superseded": list(done.superseded),
        "dropped": [{"id": drop.record.id, "reason": drop.reason} for drop in done.dropped],
        "core": [{"user_id": item.user_id, "section": item.section} for item in done.compressed],
    }
