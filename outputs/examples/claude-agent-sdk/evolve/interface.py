"""What the room promises: a species that can be varied, a fitness that judges it, scores with reasons."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

Genome = Any
"""What is varied and selected, hashable: an immutable syntax tree, or the values of a configuration."""

Program = Any
"""What a fitness function gets: source text, or a configuration as a dictionary."""

Fitness = Callable[[Any], Any]
"""Judges one program; only a finite number counts as a score."""


@dataclass(frozen=True)
class Score:
    """What one program was judged to be worth."""

    value: float | None
    """None where the score does not count."""
    reason: str = ""
    """Why it does not count."""


@dataclass(frozen=True)
class Generation:
    """How the search stood after one generation."""

    number: int
    best_fitness: float | None
    evaluations: int
    best_program: Program


@dataclass(frozen=True)
class Opening:
    """Numbers inside a program that can be moved, with the program for every choice of them."""

    values: tuple[float, ...]
    steps: tuple[float, ...]
    """How far to move each number to learn how the fitness reacts."""
    build: Callable[[Sequence[float]], Genome]


class Species(Protocol):
    """One kind of program and the ways to vary it; every source of chance is the ``random`` that is handed in."""

    def first(self, random: Random, count: int) -> list[Genome]:
        """Return about ``count`` programs to start from, the seed program first."""
        ...

    def mutate(self, genome: Genome, random: Random) -> Genome:
        """Return ``genome`` with one change."""
        ...

    def cross(self, genome: Genome, other: Genome, random: Random) -> Genome:
        """Return ``genome`` with a part of ``other``."""
        ...

    def directions(self, genome: Genome, random: Random) -> Opening | None:
        """Return ``genome`` with something new in it that weighs nothing yet, or None where that makes no sense."""
        ...

    def openings(self, genome: Genome, random: Random, most: int) -> list[Opening]:
        """Return the sets of at most ``most`` numbers of ``genome`` that are worth fitting together."""
        ...

    def tidied(self, genome: Genome) -> list[Genome]:
        """Return plainer forms of ``genome``, the plainest first."""
        ...

    def size(self, genome: Genome) -> int:
        """Return how large ``genome`` is; of two programs with one score the smaller is better."""
        ...

    def behaviour(self, genome: Genome) -> Hashable:
        """Return what ``genome`` does; programs that do the same are not judged twice."""
        ...

    def program(self, genome: Genome) -> Program:
        """Return ``genome`` as the fitness function gets it."""
        ...
