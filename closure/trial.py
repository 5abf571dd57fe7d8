"""The parts of the report's questions: suites, their cases, and one case put to one system."""

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
    """The result of a case."""

    passed: bool
    said: str
    """The observation, with its numbers; for a pass too."""


@dataclass
class Trial:
    """One case put to one system."""

    system: System
    open: Callable[[], AbstractContextManager[Subject]]
    """Yields the system in an empty folder; a trial may call it more than once."""
    seed: int = 1
    share: float = 1.0
    """The share of a count that is done: 1 for all, less in a short run."""
    data: Path | None = None
    """The folder of data sets that the user has downloaded."""

    def count(self, most: int, least: int = 1) -> int:
        """Return how many of ``most`` this run does: the system's own part of them, times the share."""
        return max(least, round(most * self.share * self.system.part))

    def chance(self, about: str) -> random.Random:
        """Return random numbers that are the same in each run with this seed."""
        return random.Random(zlib.crc32(f"{self.seed} {about}".encode()))


@dataclass(frozen=True)
class Case:
    """One question, the same for every system."""

    id: str
    rule: str
    """What a correct memory does."""
    ask: Callable[[Trial], Verdict]
    failed_by: frozenset[str] = frozenset()
    """The controls that must fail it, and no others. Otherwise the case is at fault."""
    only: frozenset[str] = frozenset()
    """The systems that it is about; empty for all."""


@dataclass(frozen=True)
class Suite:
    """Cases about one promise."""

    name: str
    about: str
    cases: tuple[Case, ...] = field(default_factory=tuple)
