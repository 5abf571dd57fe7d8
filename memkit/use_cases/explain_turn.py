"""Say why the last turn of a session went as it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memkit.workspace import Workspace

WRITES = ("write", "merge", "quarantine", "refusal", "supersede", "core")


@dataclass(frozen=True)
class TurnAccount:
    """What the audit log holds of one turn."""

    turn: int | None
    searches: tuple[Mapping[str, Any], ...] = ()
    """``{query, ids, losers: [{id, reason}]}``"""
    cited: tuple[str, ...] = ()
    writes: tuple[Mapping[str, Any], ...] = ()
    policy: tuple[Mapping[str, Any], ...] = ()


def explain_turn(workspace: Workspace, *, user: str, session: str) -> TurnAccount:
    """Return what was recalled in the last turn of ``session``, what lost and why, and what the policies decided."""
    events = [event for event in workspace.audit.events(user=user) if event.get("session_id") == session]
    events = [event for event in events if isinstance(event.get("turn_id"), int)]
    if not events:
        return TurnAccount(None)
    last = events[-1]["turn_id"]
    turn = [event for event in events if event["turn_id"] == last]
    return TurnAccount(
        turn=last,
        searches=tuple(_search(workspace, user, event) for event in turn if event["event"] == "retrieved"),
        cited=tuple(found for event in turn if event["event"] == "cited" for found in event["ids"]),
        writes=tuple(event for event in turn if event["event"] in WRITES),
        policy=tuple(event for event in turn if event["event"] == "policy"),
    )


def _search(workspace: Workspace, user: str, event: Mapping[str, Any]) -> Mapping[str, Any]:
    report = workspace.archive.search(str(event["query"]), user_id=user, explain=True)
    losers = [{"id": loser.id, "reason": loser.reason} for loser in report.losers]
    return {"query": event["query"], "ids": event["ids"] or [], "losers": losers}
