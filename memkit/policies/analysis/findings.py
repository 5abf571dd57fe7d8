"""What the analysis says about a set of policies."""

from __future__ import annotations

from dataclasses import dataclass

from memkit.runtime.guard.interface import Call

KINDS = ("contradiction", "shadowed", "redundant", "dead", "unreachable_exception", "gap")
"""What can be wrong with a set, in the order in which it is told."""


@dataclass(frozen=True)
class Conflict:
    """Something in a set of policies that cannot be as it was meant."""

    kind: str
    policies: tuple[str, ...]
    """The policy it is about, then those that make it so."""
    witness: Call | None
    """A call that shows it; ``policy check`` decides it as the proof says."""
    proof: str


@dataclass(frozen=True)
class Open:
    """A question that was neither shown nor ruled out."""

    kind: str
    policies: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Analysis:
    """Everything that was shown, and what stays open."""

    conflicts: tuple[Conflict, ...]
    unknown: tuple[Open, ...]
