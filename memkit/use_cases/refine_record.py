"""Reword a record by what a person says about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memkit.errors import NegativeAnswer, no_record
from memkit.runtime.memory.interface import Decision
from memkit.runtime.memory.lifecycle.successors import refined
from memkit.workspace import Workspace


@dataclass(frozen=True)
class Refinement:
    """A proposed wording, and what became of it."""

    proposal: str
    decision: Decision | None
    """None for a dry run."""


def refine_record(
    workspace: Workspace,
    id: str,
    feedback: str,
    *,
    agree: Callable[[str, str], None],
    user: str | None = None,
    reason: str = "",
    dry_run: bool = False,
) -> Refinement:
    """Propose a wording for a live record and supersede it; ``agree`` is shown the old and the new one, and may raise.

    Raises:
        NotFound: There is no such record, or it is not this user's.
        NegativeAnswer: The record is not live or not readable, or the feedback is not understood.
    """
    stored = workspace.archive.get(id, user_id=user)
    if stored is None:
        raise no_record(id)
    old = stored.record
    if stored.status != "live":
        raise NegativeAnswer(f"Record {id} is {stored.status}; only a live record can be refined.")
    if old.is_sealed:
        raise NegativeAnswer(f"Record {id} is sealed, and the key that opens it is not here.")
    proposal = refined(old.text, feedback)
    if proposal is None:
        raise NegativeAnswer(
            "That does not say how to reword it. Try “X, not Y”, “it is X”, “add X” or “remove X”, "
            f"or give the whole text: memkit memory supersede {id} TEXT"
        )
    if dry_run:
        return Refinement(proposal, None)
    agree(old.text, proposal)
    decision = workspace.archive.supersede(id, proposal, workspace.person(old.user_id), reason=reason or feedback)
    if decision.decision != "refused":
        workspace.commit_memory()
    return Refinement(proposal, decision)
