"""The result of an export: a text in the other language, and for every policy how it was translated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from memkit.runtime.guard.interface import JSON, contribution

PolicyData = Mapping[str, JSON]
State = Literal["exact", "narrower", "wider", "both", "missing", "nothing"]
"""How an exported policy differs: it permits less (narrower) or more (wider) than memkit does, or both; ``missing`` is
not included at all, and ``nothing`` has no verdict to export: advice, and what is switched off."""

STOPS = ("deny", "ask")


@dataclass(frozen=True)
class ExportedPolicy:
    """How one policy was translated."""

    name: str
    effect: str
    """Its contribution to a decision; for a soft policy at most a warning."""
    state: State
    reasons: tuple[str, ...] = ()

    @property
    def lets_through(self) -> bool:
        """Return whether a call that memkit stops by this policy may run in the other tool."""
        return self.effect in STOPS and self.state in ("wider", "both", "missing")


@dataclass(frozen=True)
class Export:
    """A set of policies in another language."""

    content: str
    policies: tuple[ExportedPolicy, ...]

    @property
    def weaker(self) -> tuple[ExportedPolicy, ...]:
        """Return the policies that stop less there than here."""
        return tuple(policy for policy in self.policies if policy.lets_through)


def effect_of(policy: PolicyData) -> str:
    """Return a policy's contribution to a decision."""
    return contribution(policy.get("effect") or "allow", policy["enforcement"])


def without_verdict(policy: PolicyData) -> ExportedPolicy | None:
    """Return the account of a policy that decides nothing, or None for one that does."""
    if not policy.get("active", True):
        return ExportedPolicy(policy["name"], effect_of(policy), "nothing", ("It is switched off.",))
    if "match" not in policy:
        return ExportedPolicy(policy["name"], effect_of(policy), "nothing", ("It is advice and decides no call.",))
    return None


def state_of(*, wider: bool, narrower: bool) -> State:
    """Return the word for how an export differs."""
    if wider and narrower:
        return "both"
    return "wider" if wider else "narrower" if narrower else "exact"
