"""Run the forgetting cycle."""

from __future__ import annotations

from dataclasses import dataclass

from memkit.runtime.memory.lifecycle.forgetting import Due
from memkit.runtime.memory.record.stamps import parse_duration, seconds_before
from memkit.runtime.memory.tiers.recall import RecallMemory
from memkit.runtime.memory.tiers.sessions import drop_old_sessions
from memkit.workspace import Workspace


@dataclass(frozen=True)
class Sweep:
    """What a sweep retired, what stays, and what it took off this machine for good."""

    retired: tuple[Due, ...]
    kept: int
    turns: int = 0
    """Turns of episodic memory that were older than ``recall.ttl``."""
    sessions: int = 0
    """Sessions that nobody went on with for as long."""
    audit_months: int = 0
    """Months of the audit log that lie before ``audit.keep``."""
    counts: int = 0
    """Access counts of records that are no more."""


def sweep_memory(workspace: Workspace, *, user: str | None = None, dry_run: bool = False) -> Sweep:
    """Retire what the rules of ``forget`` name, of one user or of all, and let go of what outlived its time here."""
    swept = workspace.archive.sweep(user_id=user, dry_run=dry_run)
    if dry_run:
        return Sweep(swept.retired, swept.kept)
    if swept.retired:
        workspace.commit_memory(added=len(swept.retired))
    policy, now = workspace.memory_settings.recall, workspace.clock()
    turns = RecallMemory(workspace.sessions, workspace.clock, policy.ttl, policy.max_items).drop_expired(user)
    if user is not None:
        return Sweep(swept.retired, swept.kept, turns, counts=workspace.archive.drop_stale_counts(user_id=user))
    kept_from = seconds_before(now, parse_duration(workspace.settings["audit.keep"]))
    expired = seconds_before(now, policy.ttl)
    sessions = drop_old_sessions(workspace.sessions, expired)
    drop_old_sessions(workspace.checkpoints, expired)  # of the same sessions
    return Sweep(
        swept.retired,
        swept.kept,
        turns,
        sessions=sessions,
        audit_months=workspace.audit.drop_before(kept_from),
        counts=workspace.archive.drop_stale_counts(),
    )
