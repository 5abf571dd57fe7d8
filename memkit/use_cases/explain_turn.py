"""Say why the last turn of a session went as it did, from what was written down then."""

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
    """``{query, ids, candidates: [{id, reason}]}``: what each search found, and what lost in it and why."""
    skipped: str = ""
    """Why nothing was looked up before the answer, if nothing was."""
    left_out: tuple[Mapping[str, Any], ...] = ()
    """``{id, reason}``: what was found and did not enter the prompt."""
    cited: tuple[str, ...] = ()
    writes: tuple[Mapping[str, Any], ...] = ()
    policy: tuple[Mapping[str, Any], ...] = ()
    plans: tuple[Mapping[str, Any], ...] = ()
    """``{choice: {kind, reason, considered}, outcome}``: which way a task was solved; no choice without consent."""


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
        searches=tuple(event for event in turn if event["event"] == "retrieved"),
        skipped=next((str(event["reason"]) for event in turn if event["event"] == "recall_skipped"), ""),
        left_out=tuple(one for event in turn if event["event"] == "injected" for one in event["candidates"] or ()),
        cited=tuple(found for event in turn if event["event"] == "cited" for found in event["ids"]),
        writes=tuple(event for event in turn if event["event"] in WRITES),
        policy=tuple(event for event in turn if event["event"] == "policy"),
        plans=tuple(event for event in turn if event["event"] == "plan"),
    )
