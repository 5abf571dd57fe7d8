"""How a run stands when the process that worked on it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Evolved:
    """How a run stands when its process ends."""

    run: str
    """Its folder, which says everything."""
    program: str
    """The best program; the one that the run began with, where none has a score that counts."""
    score: float | None
    metrics: Mapping[str, Any]
    generations: int
    evaluations: int
    stopped: str
    failures: Mapping[str, int]
    spent: Mapping[str, float]
    notes: tuple[str, ...] = ()

    @property
    def scored(self) -> bool:
        """Return whether any program has a score that counts."""
        return self.score is not None

    def to_data(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "best": {"program": self.program, "score": self.score, "metrics": dict(self.metrics)},
            "generations": self.generations,
            "evaluations": self.evaluations,
            "run": self.run,
            "stopped": self.stopped,
            "failures": dict(self.failures),
            "spent": dict(self.spent),
        }
