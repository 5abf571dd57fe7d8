"""What the review room promises: what changed from one side of a store to the other, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from memkit.policies.verdict_diff import VerdictChange

AREAS = ("settings", "policy", "skill", "domain", "memory", "file")
"""What a subject can be, in the order in which they are told: what binds the agent comes first."""


@dataclass(frozen=True)
class SubjectChange:
    """One thing that differs."""

    field: str
    """The key of the file that it stands under; for memory, the operation."""
    kind: str
    """``added``, ``removed``, ``changed`` and the like, one word."""
    message: str
    """A sentence; texts of the store stand in it between “ and ”."""
    before: Any = None
    after: Any = None
    attention: bool = False
    """Whether a reviewer should look twice: a safeguard goes, or the agent may do or believe more."""
    id: str | None = None
    """Of the line, where the change is one of memory."""


@dataclass(frozen=True)
class ReviewSubject:
    """One file, or the memory of one user, with everything that changed of it."""

    area: str
    name: str
    status: str
    """added | removed | renamed | changed | broken"""
    changes: tuple[SubjectChange, ...]
    path: str | None = None
    """Where it stands; None for memory, which lies in many files."""
    was: str | None = None
    """The name before, of what was renamed."""
    old_path: str | None = None
    """Where that stood."""

    @property
    def attention(self) -> int:
        """Return how many of the changes need a second look."""
        return sum(change.attention for change in self.changes)


@dataclass(frozen=True)
class End:
    """What one side of a difference is called."""

    name: str
    """As a person named it."""
    commit: str | None = None
    """None for the work tree, and for nothing at all."""


@dataclass(frozen=True)
class Note:
    """Something to know about the comparison itself."""

    code: str
    message: str


@dataclass(frozen=True)
class Difference:
    """Everything that changed between two sides."""

    before: End
    after: End
    subjects: tuple[ReviewSubject, ...]
    notes: tuple[Note, ...] = ()

    @property
    def changes(self) -> int:
        """Return how many changes there are."""
        return sum(len(subject.changes) for subject in self.subjects)

    @property
    def attention(self) -> int:
        """Return how many of them need a second look."""
        return sum(subject.attention for subject in self.subjects)


def in_order(subjects: Iterable[ReviewSubject]) -> tuple[ReviewSubject, ...]:
    """Return subjects as they are told: what needs a second look first, then by area and name."""
    return tuple(
        sorted(subjects, key=lambda each: (not each.attention, AREAS.index(each.area), each.name, each.path or ""))
    )


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
class ReviewReason:
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
    reasons: tuple[ReviewReason, ...]
    """In the order in which to look."""


@dataclass(frozen=True)
class Review:
    """Everything that is said of a change."""

    difference: Difference
    verdicts: Verdicts
    lint: LintDelta
    assessment: Assessment
