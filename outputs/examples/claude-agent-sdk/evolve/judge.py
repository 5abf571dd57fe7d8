"""Ask the fitness once about each program, count, and remember the best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

from .errors import EvolveError, RefusedProgram, UndefinedValue
from .interface import Genome, Score, Species
from .reading import is_score


class Judge:
    """Owns the scores of a run. Inside, lower is always better; what does not count is infinity."""

    def __init__(self, species: Species, score: Callable[[Genome], Score], *, minimize: bool) -> None:
        self._species = species
        self._score = score
        self._sign = 1.0 if minimize else -1.0
        self._losses: dict[Genome, float] = {}
        self._done: set[Hashable] = set()
        self.reasons: Counter[str] = Counter()
        self.best: Genome | None = None
        self.best_loss = math.inf

    @property
    def evaluations(self) -> int:
        """Return how many programs were judged."""
        return len(self._losses)

    def is_new(self, genome: Genome) -> bool:
        """Tell whether neither ``genome`` nor one that does the same was judged."""
        return genome not in self._losses and self._species.behaviour(genome) not in self._done

    def loss(self, genome: Genome) -> float:
        """Return the loss of ``genome``; each is judged once."""
        known = self._losses.get(genome)
        if known is not None:
            return known
        score = self._score(genome)
        loss = math.inf if score.value is None else self._sign * score.value
        if score.value is None:
            self.reasons[score.reason] += 1
        self._losses[genome] = loss
        self._done.add(self._species.behaviour(genome))
        if self._beats(genome, loss):
            self.best, self.best_loss = genome, loss
        return loss

    def prefers(self, genome: Genome) -> bool:
        """Make ``genome``, a plainer form of the best program, the best if it is no worse and no larger."""
        loss = self.loss(genome)
        if self.best != genome and self._ties(loss) and self._species.size(genome) <= self._species.size(self.best):
            self.best, self.best_loss = genome, loss
        return bool(self.best == genome)

    def _ties(self, loss: float) -> bool:
        """Tell whether ``loss`` is the best loss, to rounding."""
        return abs(loss - self.best_loss) <= 1e-12 * max(1.0, abs(self.best_loss))

    def _beats(self, genome: Genome, loss: float) -> bool:
        """Tell whether ``genome`` is better than the best so far, or as good to rounding and smaller."""
        if loss == math.inf or self.best is None:
            return loss < math.inf
        if self._ties(loss):
            return (self._species.size(genome), loss) < (self._species.size(self.best), self.best_loss)
        return loss < self.best_loss

    @property
    def best_value(self) -> float | None:
        """Return the best score as the fitness gave it."""
        return None if self.best is None else self._sign * self.best_loss


def score_of(fitness: Callable[[Any], Any], program: Any) -> Score:
    """Return what ``fitness`` says about ``program``; what is no finite number is a score that does not count."""
    try:
        value = fitness(program)
    except (RefusedProgram, UndefinedValue) as problem:
        return Score(None, str(problem))
    except EvolveError:  # the question itself is wrong, for every program
        raise
    except Exception as problem:  # noqa: BLE001 - the function is the caller's; what it raises is this program's score
        return Score(None, f"{type(problem).__name__}: {problem}")
    if isinstance(value, bool):
        return Score(None, "the fitness is a truth value")
    if not isinstance(value, int | float) and (not hasattr(value, "__float__") or hasattr(value, "__len__")):
        return Score(None, f"the fitness is {value!r:.40}, not a number")
    try:
        number = float(value)  # also the numbers of numerical libraries
    except (TypeError, ValueError, OverflowError) as problem:
        return Score(None, f"the fitness is no number: {problem}")
    return Score(number) if is_score(number) else Score(None, f"the fitness is {number}, not a finite number")
