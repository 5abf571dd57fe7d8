"""What a question of the report is made of: suites, their cases, and one case put to one system."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from closure.subject import Subject
from closure.systems import System


@dataclass(frozen=True)
class Verdict:
    """What came of a case."""

    passed: bool
    said: str
    """What was seen, with its numbers; for a pass too."""


@dataclass
class Trial:
    """One case put to one system."""

    system: System
    open: Callable[[], AbstractContextManager[Subject]]
    """Give the system in an empty folder; a trial may do that more than once."""
    seed: int = 1
    share: float = 1.0
    """How much of a count is done: 1 of all, less in a short run."""
    data: Path | None = None
    """Where data sets lie that whoever runs it has fetched."""

    def count(self, most: int, least: int = 1) -> int:
        """Return how many of ``most`` this run does: the system's own part of them, times the share."""
        return max(least, round(most * self.share * self.system.part))

    def chance(self, about: str) -> random.Random:
        """Return numbers that are the same in each run with this seed."""
        return random.Random(zlib.crc32(f"{self.seed} {about}".encode()))


@dataclass(frozen=True)
class Case:
    """One question, the same for every system."""

    id: str
    rule: str
    """What a memory that is right does."""
    ask: Callable[[Trial], Verdict]
    failed_by: frozenset[str] = frozenset()
    """The controls that have to fail it; the others may not. Where they do not, the case is at fault."""
    only: frozenset[str] = frozenset()
    """The systems that it is about; all when empty."""


@dataclass(frozen=True)
class Suite:
    """Cases about one promise."""

    name: str
    about: str
    cases: tuple[Case, ...] = field(default_factory=tuple)
