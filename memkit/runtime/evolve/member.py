"""A program before it was judged and after."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from .interface import Genome, Score

SEED, START = "seed", "start"
"""The operations of the program that a search was given, and of those that were drawn to start with beside it."""
TUNE = "tune"
"""The operation of programs that are judged to learn how numbers matter."""


@dataclass(frozen=True)
class Birth:
    """A program to be judged, and where it comes from."""

    genome: Genome
    operation: str
    parents: tuple[str, ...] = ()
    """Their ids."""
    answer: str | None = None
    """What the model said that proposed it."""


@dataclass(frozen=True)
class Member:
    """One program of a population."""

    id: str
    genome: Genome
    loss: float
    """Lower is better, whatever the direction of the fitness; infinity where the score does not count."""
    size: int
    score: Score

    @property
    def rank(self) -> tuple[float, int]:
        """Return what members are compared by: the loss, then the size."""
        return self.loss, self.size


Asking = Generator[list[Birth], list[Member], None]
"""Asks for programs to be judged, and is told what they are worth, in the order of asking."""
