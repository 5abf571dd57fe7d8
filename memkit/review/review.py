"""A difference with what follows from it: verdicts that change, what lint finds, and what to look at first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memkit.policies.verdict_diff import VerdictChange
from memkit.review.interface import Difference

Level = Literal["stop", "look", "clear"]


@dataclass(frozen=True)
class LintFinding:
    """Something that lint finds on one side and not on the other."""

    code: str
    severity: str
    message: str
    path: str
    """In the store."""
    line: int
    column: int


@dataclass(frozen=True)
class LintDelta:
    """What lint finds on the later side alone, and on the earlier side alone."""

    new: tuple[LintFinding, ...] = ()
    fixed: tuple[LintFinding, ...] = ()
    kept: int = 0
    """How many findings both sides have."""
    fault: str = ""
    """Why a side could not be checked."""

    @property
    def errors(self) -> int:
        """Return how many of the new findings are errors."""
        return sum(finding.severity == "error" for finding in self.new)


@dataclass(frozen=True)
class Verdicts:
    """What the policies of both sides decide differently."""

    changes: tuple[VerdictChange, ...] = ()
    """Weakened hard policies first."""
    unknown: tuple[str, ...] = ()
    """Questions that were neither answered by a call nor ruled out."""
    fault: str = ""
    """Why a side has no policies that load, so that it denies every call."""
    faulty: Literal["", "before", "after", "both"] = ""
    """Which side that is."""

    @property
    def weakened_hard(self) -> int:
        """Return how many of the calls come out weaker although a hard policy decided them."""
        return sum(change.weakens_hard for change in self.changes)


@dataclass(frozen=True)
class Reason:
    """One thing to look at."""

    level: Level
    message: str
    """A sentence; texts of the store stand in it between “ and ”."""


@dataclass(frozen=True)
class Assessment:
    """What a reviewer should know before anything else."""

    level: Level
    """``stop``: a safeguard gives way or something breaks; ``look``: a person should look twice; ``clear``: neither."""
    summary: str
    """One paragraph."""
    reasons: tuple[Reason, ...]
    """In the order in which to look."""


@dataclass(frozen=True)
class Review:
    """Everything that is said of a change."""

    difference: Difference
    verdicts: Verdicts
    lint: LintDelta
    assessment: Assessment
