"""Put verdicts into words, and into the data of a report."""

from __future__ import annotations

from dataclasses import dataclass

from .interface import JSON, Finding, Verdict

STOPPED = frozenset({"deny", "ask"})
"""Decisions that keep a tool from running, the second one unless a person agrees."""


@dataclass(frozen=True)
class Allowed:
    """The verdict where no policies were handed in."""

    decision: str = "allow"
    policies: tuple[Finding, ...] = ()
    deciding: Finding | None = None


ADVICE = " Tell the user which policy stopped it and why."
"""What a refusal says to a model and to nobody else."""


def refusal(tool: str, verdict: Verdict) -> str:
    """Return what a model is told about a call that ``verdict`` stopped."""
    finding = verdict.deciding
    name = finding.name if finding else "policy set"
    reason = (finding.reason if finding else "the policies could not be evaluated").rstrip(".")
    if verdict.decision == "ask":
        return (
            f"Policy {name} asks for a person's confirmation: {reason}. "
            f"Nobody confirmed it, so {tool} was not run.{ADVICE}"
        )
    return f"Policy {name} denies this: {reason}. {tool} was not run.{ADVICE}"


def findings_data(verdict: Verdict) -> list[dict[str, JSON]]:
    """Return one entry per policy that matched, for a report."""
    entries = [
        {"decision": verdict.decision if found.decides else found.effect, "name": found.name, "reason": found.reason}
        for found in verdict.policies
    ]
    if not entries and verdict.decision != "allow":
        reason = "the policies could not be evaluated"
        entries = [{"decision": verdict.decision, "name": "policy set", "reason": reason}]
    return entries
