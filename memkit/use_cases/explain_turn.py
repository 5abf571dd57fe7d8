"""Say why a turn of a session went as it did, from what was written down then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memkit.workspace import Workspace

WRITES = ("write", "merge", "quarantine", "refusal", "supersede", "core", "reject")


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


def explain_turn(workspace: Workspace, *, user: str, session: str, turn: int | None = None) -> TurnAccount:
    """Return what was recalled in a turn of ``session``, what lost and why, and what the policies decided.

    Without ``turn`` it is the last one of which anything is written down.
    """
    events = turn_events(workspace, user=user, session=session)
    meant = turn if turn is not None else events[-1]["turn_id"] if events else None
    of_turn = [event for event in events if event["turn_id"] == meant]
    if not of_turn:
        return TurnAccount(None)
    return TurnAccount(
        turn=meant,
        searches=tuple(event for event in of_turn if event["event"] == "retrieved"),
        skipped=next((str(event["reason"]) for event in of_turn if event["event"] == "recall_skipped"), ""),
        left_out=tuple(one for event in of_turn if event["event"] == "injected" for one in event["candidates"] or ()),
        cited=tuple(found for event in of_turn if event["event"] == "cited" for found in event["ids"]),
        writes=tuple(event for event in of_turn if event["event"] in WRITES),
        policy=tuple(event for event in of_turn if event["event"] == "policy"),
        plans=tuple(event for event in of_turn if event["event"] == "plan"),
    )


def turn_events(workspace: Workspace, *, user: str, session: str) -> list[Mapping[str, Any]]:
    """Return what the audit log holds of the turns of ``session``, oldest first."""
    events = (event for event in workspace.audit.events(user=user) if event.get("session_id") == session)
    return [event for event in events if isinstance(event.get("turn_id"), int)]
