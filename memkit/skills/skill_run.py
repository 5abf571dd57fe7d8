"""How a run of a skill ended, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memkit.skills.following import COMPLETED, Step
from memkit.skills.runs import Statistics

REFUSED = "refused"


@dataclass(frozen=True)
class SkillRun:
    """How a run ended."""

    skill: str
    version: str | None
    outcome: str
    """succeeded | failed | denied | refused (it could not begin)"""
    steps: tuple[Step, ...] = ()
    """From the first that this run had to do."""
    missing_tools: Mapping[str, str] = field(default_factory=dict)
    """Required tools that nobody offers, each with a hint."""
    unused_tools: tuple[str, ...] = ()
    """Required tools that no step called, in a run that succeeded."""
    deprecated: str = ""
    """Why the skill should not be used any more, and what to use instead, where it says so."""
    session: str | None = None
    record: str | None = None
    """The outcome that long-term memory keeps, if it keeps one."""
    statistics: Statistics | None = None
    """With this run; None for one that left no trace."""

    @property
    def stopped_at(self) -> Step | None:
        """Return the step that did not succeed."""
        return next((step for step in self.steps if step.status in ("failed", "denied")), None)

    @property
    def completed(self) -> list[int]:
        """Return the numbers of the steps that were completed."""
        return [step.number for step in self.steps if step.status in COMPLETED]
