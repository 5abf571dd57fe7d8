"""What a new session opens with: goals that are still open, and the memories that matter most."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from .audience import is_for
from .record import Record
from .settings import MemorySettings
from .validity import is_valid

LOOKED_AT = 200
"""So many of the newest records compete for a place; a session starts as fast over a hundred thousand."""
MOST_GOALS = 10
SHOWN_OTHERWISE = ("goal", "constraint")
"""Types that have a place of their own in the prompt."""


class Opening(NamedTuple):
    """What is offered unasked."""

    goals: tuple[Record, ...] = ()
    """Those that are due first come first, then the newest."""
    left_out: int = 0
    """Open goals beyond the most that are shown."""
    memories: tuple[Record, ...] = ()
    """The most important ones first, then the newest."""


def opening(
    goals: Iterable[Record],
    newest: Iterable[Record],
    settings: MemorySettings,
    now: datetime,
    *,
    session_id: str | None = None,
    agent_id: str | None = None,
) -> Opening:
    """Return what concerns this session and this agent and is sure enough to enter a prompt.

    Nobody asked for it, so it is only what is verified and no stranger wrote: anything else would lower the trust of
    the first turn of every session, and could speak to the model there.
    """
    least = settings.retrieval.min_confidence

    def is_fit(record: Record) -> bool:
        return (
            record.confidence >= least
            and _is_own(record)
            and is_valid(record, now)
            and is_for(record, session_id, agent_id)
        )

    open_goals = sorted(filter(is_fit, goals), key=lambda record: record.id, reverse=True)
    open_goals.sort(key=lambda record: due(record) or "9999")
    others = [record for record in newest if record.type not in SHOWN_OTHERWISE and is_fit(record)]
    foremost = sorted(others, key=lambda record: (record.importance, record.id), reverse=True)
    return Opening(
        tuple(open_goals[:MOST_GOALS]),
        max(0, len(open_goals) - MOST_GOALS),
        tuple(foremost[: settings.recall.at_session_start]),
    )


def _is_own(record: Record) -> bool:
    return record.trust == "verified" and record.source != "imported" and record.actor not in ("tool", "import")


def due(record: Record) -> str | None:
    """Return the day until which a goal is to be reached, where one was said."""
    said = record.extra.get("due")
    return said if isinstance(said, str) else None
