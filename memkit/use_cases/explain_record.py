"""Say when a record was recalled, and when it might have been and was not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memkit.errors import no_record
from memkit.workspace import Workspace

KINDS = ("retrieved", "injected", "cited")
MOST_RIVALS = 100
"""So many losers are listed, those of the latest recalls first."""

Occasion = Mapping[str, Any]
"""``{at, actor, user_id, session_id, turn_id, query}``, with ``reason`` where the record lost."""


@dataclass(frozen=True)
class RecordAccount:
    """What the audit log of this machine holds of one record's recalls, oldest first."""

    retrieved: tuple[Occasion, ...]
    injected: tuple[Occasion, ...]
    cited: tuple[Occasion, ...]
    lost: tuple[Occasion, ...]
    """When it was a candidate and was not returned, or did not enter the prompt, and why."""
    candidates: tuple[Mapping[str, Any], ...]
    """``{id, reason, at, query}``: what lost in the recalls that returned the record."""
    candidates_truncated: bool = False


def explain_record(workspace: Workspace, record_id: str, *, user: str | None = None) -> RecordAccount:
    """Return every recall that a record took part in; ``NotFound`` where ``user`` has no such record.

    The account is what was written down when it happened, not what a search would say now.
    """
    if workspace.archive.get(record_id, user_id=user) is None:
        raise no_record(record_id)
    events = [event for event in workspace.audit.events(user=user) if event.get("event") in KINDS]
    returned = [event for event in events if record_id in (event.get("ids") or ())]
    rivals = [rival for event in reversed(returned) for rival in _rivals(event)]
    return RecordAccount(
        **{kind: tuple(_occasion(event) for event in returned if event["event"] == kind) for kind in KINDS},
        lost=tuple(
            _occasion(event) | {"reason": loser["reason"]}
            for event in events
            for loser in _losers(event)
            if loser["id"] == record_id
        ),
        candidates=tuple(rivals[:MOST_RIVALS]),
        candidates_truncated=len(rivals) > MOST_RIVALS,
    )


def _rivals(event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for loser in _losers(event):
        yield dict(loser) | {"at": event.get("at"), "query": event.get("query")}


def _losers(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in event.get("candidates") or () if isinstance(one, dict) and {"id", "reason"} <= one.keys()]


def _occasion(event: Mapping[str, Any]) -> dict[str, Any]:
    return {key: event.get(key) for key in ("at", "actor", "user_id", "session_id", "turn_id", "query")}
