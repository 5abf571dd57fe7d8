"""What the room promises: species that can be varied, a fitness that judges them, and a record of what came of it.

A run goes generation by generation, and its result depends on nothing but its arguments, its seed and what the
fitness and the proposers answered; not on how many workers answered, nor in which order::

    searcher = EvolutionarySearcher(seed, fitness, executor=ProcessPoolExecutor(4), seed=7)
    for _ in range(50):
        generation = searcher.generation()  # one Generation: number, best_fitness, evaluations, best_program
        save(searcher.drain(), searcher.state())  # new Individuals, oldest first; plain JSON data
        if searcher.stopped:  # "target", "patience", "exhausted" or "unscored"; None: go on
            break

    again = EvolutionarySearcher(seed, fitness, seed=7)  # the same arguments, then:
    again.restore(json.loads(saved))  # goes on as if it had never stopped

``run(n)`` is that loop without the saving. ``state()`` and ``restore()`` work between generations only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol


class EvolveError(Exception):
    """Say what the search cannot do, and what would let it."""

    exit_code = 2


class RefusedProgram(EvolveError):
    """Report source text that does not run in process, and which part of it is not allowed."""


class DoesNotApply(EvolveError):
    """Report a proposed change that cannot be made to its program, and why."""


class BadCheckpoint(EvolveError):
    """Report saved data that no run can go on from: of a newer version, of another run, damaged or cut short."""


class BrokenMarkers(EvolveError):
    """Report a program whose EVOLVE-BLOCK markers say nothing clear, and on which line."""


class UndefinedValue(EvolveError):
    """Report that a program has no finite number as its value for the given arguments."""

    exit_code = 1


class NothingScored(EvolveError):
    """Report a run in which no program ever got a score that counts."""

    exit_code = 1


JSON = Any

Genome = Any
"""What is varied and selected: an immutable, hashable value such as a syntax tree."""

Program = Any
"""What a fitness function gets: source text, or a configuration as a dictionary."""

Fitness = Callable[[Any], Any]
"""Judges one program by a finite number, a mapping of metrics (higher is better), or a ``Score``."""


@dataclass(frozen=True)
class Score:
    """What one program was judged to be worth."""

    value: float | None
    """As the fitness gave it; None where it does not count."""
    reason: str = ""
    """Why it does not count."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Other numbers that the evaluation gave; an archive can tell programs apart by them."""
    artifacts: Mapping[str, str] = field(default_factory=dict)
    """Text that the evaluation gave, such as what the program printed; proposers are shown it."""


@dataclass(frozen=True)
class Generation:
    """How the search stood after one generation."""

    number: int
    best_fitness: float | None
    evaluations: int
    """Programs judged so far, in this generation and all before it."""
    best_program: Program


@dataclass(frozen=True)
class Individual:
    """One line of a run's family tree: a program that was judged, that moved, or a proposal that came to nothing."""

    id: str
    """A digest of the program; of the answer, where a proposal came to no program."""
    program: Program | None
    """None where a proposal came to no program; ``score.reason`` says why, and it cost one evaluation's place."""
    parents: tuple[str, ...]
    """Ids of programs that are or were on the same island (for "migrate": its own id)."""
    island: int
    generation: int
    operation: str
    """``seed``, ``mutate``, ``cross``, ``tune``, ``tidy``, ``migrate`` or ``model:<name>``.

    All but "migrate" and proposals without a program count as an evaluation.
    """
    score: Score
    answer: str | None = None
    """What the model said, where one proposed this; recorded, so that it can be given again."""


@dataclass(frozen=True)
class NumberOpening:
    """Numbers inside a program that can be moved, with the program for every choice of them."""

    values: tuple[float, ...]
    steps: tuple[float, ...]
    """How far to move each number to learn how the fitness reacts."""
    build: Callable[[Sequence[float]], Genome]


@dataclass(frozen=True)
class ProposalRequest:
    """What a model is asked: to better one program."""

    id: str
    """``<generation>.<island>.<number>``; unique in a run, the same in a run that repeats it."""
    program: Program
    score: Score
    inspirations: tuple[tuple[Program, Score], ...]
    """Other programs of the island, the best first, then some that differ most."""
    generation: int
    island: int
    minimize: bool
    failures: tuple[str, ...] = ()
    """Why this proposer's last proposals came to nothing, the newest last."""


@dataclass(frozen=True)
class ProposedChange:
    """What a model answered: the text as it came, which the species turns into a program (``Species.applied``)."""

    text: str
    usage: Mapping[str, float] = field(default_factory=dict)
    """What it cost, such as ``{"input_tokens": 900, "cost": 0.002}``; ``searcher.usage`` adds it up by proposer."""


class Proposer(Protocol):
    """Something, such as a language model, that proposes changes; the room itself never calls one."""

    name: str

    def propose(self, requests: Sequence[ProposalRequest]) -> Sequence[ProposedChange | None]:
        """Answer each request, in their order; called once a generation, possibly from a thread of its own.

        None says that there is no proposal (the budget is spent, say): the species varies the program instead.
        An exception is a failed proposal for each of ``requests``, with its text as the reason.
        """
        ...


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

    def applied(self, genome: Genome, text: str) -> Genome:
        """Return ``genome`` with the change that a model wrote as ``text``.

        Raises:
            DoesNotApply: ``text`` is no change of ``genome``; the error says why.
        """
        ...

    def directions(self, genome: Genome, random: Random) -> NumberOpening | None:
        """Return ``genome`` with something new in it that weighs nothing yet, or None where that makes no sense."""
        ...

    def openings(self, genome: Genome, random: Random, most: int) -> list[NumberOpening]:
        """Return the sets of at most ``most`` numbers of ``genome`` that are worth fitting together."""
        ...

    def tidied(self, genome: Genome) -> list[Genome]:
        """Return plainer forms of ``genome``, the plainest first."""
        ...

    def size(self, genome: Genome) -> int:
        """Return how large ``genome`` is; of two programs with one score the smaller is better."""
        ...

    def behaviour(self, genome: Genome) -> Hashable:
        """Return what ``genome`` does, with the same ``repr`` in every process; the same is not judged twice."""
        ...

    def features(self, genome: Genome) -> Mapping[str, float]:
        """Return what an archive can tell ``genome`` from others by, such as its size; never its score."""
        ...

    def grid(self) -> Mapping[str, float]:
        """Return the features that span the archive where the caller names none, each with the width of a cell."""
        ...

    def program(self, genome: Genome) -> Program:
        """Return ``genome`` as the fitness function gets it."""
        ...

    def encoded(self, genome: Genome) -> JSON:
        """Return ``genome`` as plain JSON data, from which ``decoded`` makes an equal one; its digest is its id."""
        ...

    def decoded(self, data: JSON) -> Genome:
        """Return the genome that ``encoded`` wrote; raise ``ValueError`` or ``EvolveError`` where it is none."""
        ...


def is_score(value: Any) -> bool:
    """Tell whether ``value`` is a finite number; a bool is not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)
