"""What the review room promises: two sides of a store, and what changed from one to the other, by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

AREAS = ("settings", "policy", "skill", "domain", "memory", "file")
"""What a subject can be, in the order in which they are told: what binds the agent comes first."""


@dataclass(frozen=True)
class Change:
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
class Subject:
    """One file, or the memory of one user, with everything that changed of it."""

    area: str
    name: str
    status: str
    """added | removed | renamed | changed | broken"""
    changes: tuple[Change, ...]
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
    subjects: tuple[Subject, ...]
    notes: tuple[Note, ...] = ()

    @property
    def changes(self) -> int:
        """Return how many changes there are."""
        return sum(len(subject.changes) for subject in self.subjects)

    @property
    def attention(self) -> int:
        """Return how many of them need a second look."""
        return sum(subject.attention for subject in self.subjects)


def in_order(subjects: Sequence[Subject]) -> tuple[Subject, ...]:
    """Return subjects as they are told: what needs a second look first, then by area and name."""
    return tuple(
        sorted(subjects, key=lambda each: (not each.attention, AREAS.index(each.area), each.name, each.path or ""))
    )
