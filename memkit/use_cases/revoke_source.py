"""Take back everything that came from a session or a source."""

from __future__ import annotations

from collections.abc import Callable

from memkit.runtime.memory.lifecycle.revocation import Revocation, RevokedSource
from memkit.workspace import Workspace


def revoke_source(
    workspace: Workspace,
    source: RevokedSource,
    *,
    agree: Callable[[Revocation], None],
    user: str | None = None,
    reason: str = "",
    dry_run: bool = False,
) -> Revocation:
    """Return what goes with ``source``, taken back unless it is a dry run; ``agree`` is asked first, and may raise.

    It covers every user, or with ``user`` only one.
    """
    found = workspace.archive.revocation(source, user_id=user)
    if dry_run or not any(found):
        return found
    agree(found)
    done = workspace.archive.revoke(source, workspace.person(user or "everybody"), user_id=user, reason=reason)
    workspace.commit_memory(added=len(done.records) + len(done.marks) + len(done.core))
    return done
