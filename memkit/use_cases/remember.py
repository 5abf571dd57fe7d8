"""Offer a fact to long-term memory."""

from __future__ import annotations

from memkit.runtime.memory.interface import Decision
from memkit.runtime.memory.record.record import Draft
from memkit.workspace import Workspace


def remember(
    workspace: Workspace, draft: Draft, *, user: str, session: str | None = None, turn: int | None = None
) -> Decision:
    """Offer ``draft`` to the archive in the name of a person and return the write gate's decision.

    A person at the command line is the operator, so consent is not asked for unless ``privacy.consent`` is ``always``.
    """
    origin = workspace.person(user, session=session, turn=turn)
    decision = workspace.archive.offer(draft, origin)
    if decision.decision != "refused":
        workspace.commit_memory()
    return decision
