"""Which way a task is solved, what else was considered, and why."""

from __future__ import annotations

from dataclasses import dataclass

from .interface import JSON

METHODS = "methods"
CHAT_HTN = "chat-htn"
EVOLUTIONARY = "evolutionary"
TOOLS = "tools"


@dataclass(frozen=True)
class Candidate:
    """One way to solve a task."""

    kind: str
    fits: bool
    reason: str
    """Why it fits, or why it does not."""


@dataclass(frozen=True)
class Choice:
    """How a task is solved."""

    kind: str
    """methods | chat-htn | evolutionary | tools"""
    reason: str
    considered: tuple[Candidate, ...] = ()
    """Every way there is, in the order in which they are preferred."""

    def to_data(self) -> dict[str, JSON]:
        """Return the choice as plain data."""
        considered = [{"kind": each.kind, "fits": each.fits, "reason": each.reason} for each in self.considered]
        return {"kind": self.kind, "reason": self.reason, "considered": considered}


def preferred(candidates: tuple[Candidate, ...]) -> Choice:
    """Return the first way that fits; plain tool use always does."""
    first = next(candidate for candidate in candidates if candidate.fits)
    return Choice(first.kind, first.reason, candidates)
