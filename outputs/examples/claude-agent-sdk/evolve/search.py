"""Search for the program that a fitness function likes best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from .configuration import Space
from .errors import EvolveError, NothingScored
from .interface import Fitness, Generation, Genome
from .island import Island
from .judge import Judge
from .question import ask_for_configuration, ask_for_expression
from .reading import is_score

_PERFECT = 1e-12
"""A squared error that is nothing but rounding."""
_TIDYING = 6
"""How many evaluations of a generation are kept back to try plainer forms of a new best program."""
_ISLANDS = 4
_SMALLEST_ISLAND = 8
_MIGRATION = 5


class EvolutionarySearcher:
    """Evolves programs, judged by nothing but ``fitness_fn``; the same arguments give the same result.

    ``population_size`` programs are judged in every generation, so a run costs at most
    ``population_size * generations`` evaluations: no program is judged twice, and none is a copy.

    Args:
        seed_program: Source text to start from, such as ``lambda x: x * 2``. Left out, it is the sum of the parameters.
            With ``space``, a dictionary.
        fitness_fn: Judges a program, given as source text (with ``space``: as a dictionary). A number that is not
            finite, a bool or an exception is the worst score there is, and ``reasons`` counts why.
        mutation_rate: Every child is changed. This is the probability that a mutated child gets a second mutation, and
            again that it gets a third; higher rates search further from what is good already.
        population_size: How many programs are judged in one generation.
        fitness: The same as ``fitness_fn``.
        minimize: Whether lower is better; for a score, where higher is better, say False.
        seed: Where chance starts.
        target_fitness: Stop as soon as this is reached.
        patience: Stop after so many generations without a better program.
        functions: What programs may call beside what the seed program calls, such as ``("sin", "exp")``.
        parameters: The names of the arguments, where there is no seed program.
        max_size: How many nodes (operators, constants, names) a program may have.
        space: Search configurations instead: name → ``(low, high)`` or ``[value, value, …]``.

    Example:
        >>> from functools import partial
        >>> from .fitness import fitness_mean_squared_error
        >>> fitness = partial(fitness_mean_squared_error, target=lambda x: 3 * x + 7)
        >>> EvolutionarySearcher(seed_program="lambda x: x * 2", fitness_fn=fitness).run(generations=50)
        'lambda x: 3 * x + 7'
    """

    def __init__(
        self,
        seed_program: str | Mapping[str, Any] | None = None,
        fitness_fn: Fitness | None = None,
        mutation_rate: float = 0.2,
        population_size: int = 30,
        *,
        fitness: Fitness | None = None,
        minimize: bool = True,
        seed: int = 0,
        target_fitness: float | None = None,
        patience: int | None = None,
        functions: Sequence[str] = (),
        parameters: Sequence[str] | None = None,
        max_size: int = 40,
        space: Space | None = None,
    ) -> None:
        chosen = _one_fitness(fitness_fn, fitness)
        _check("mutation_rate", mutation_rate, 0, 1)
        _check("population_size", population_size, 2, 100_000, whole=True)
        _check("max_size", max_size, 1, 200, whole=True)
        if patience is not None:
            _check("patience", patience, 1, 10**9, whole=True)
        if space is not None:
            question = ask_for_configuration(chosen, seed_program, space)
        elif isinstance(seed_program, Mapping):
            raise EvolveError("A dictionary as seed program needs a `space` that says what may vary.")
        else:
            question = ask_for_expression(chosen, seed_program, parameters, functions, max_size)
        self._population_size = population_size
        self._patience = patience
        self._target = _target_loss(target_fitness, minimize=minimize, is_error=question.is_error)
        self._random = Random(seed)
        self._species = question.species
        self._judge = Judge(question.species, question.score, minimize=minimize)
        self._islands = self._new_islands(mutation_rate)
        self._tidied: Genome | None = None
        self.history: list[Generation] = []
        """How the search stood after each generation."""
        self.stopped: str | None = None
        """Why the last run ended: target, patience, generations, or exhausted (nothing new could be made)."""

    @property
    def best_fitness(self) -> float | None:
        """Return the fitness of the best program so far, as ``fitness_fn`` gave it."""
        return self._judge.best_value

    @property
    def best_program(self) -> Any:
        """Return the best program so far: source text, or a dictionary. None before anything scored."""
        return None if self._judge.best is None else self._species.program(self._judge.best)

    @property
    def evaluations(self) -> int:
        """Return how many programs were judged so far."""
        return self._judge.evaluations

    @property
    def reasons(self) -> dict[str, int]:
        """Return why scores did not count, the most frequent reason first."""
        return dict(self._judge.reasons.most_common())

    def run(self, generations: int = 50) -> Any:
        """Search for ``generations`` more generations and return the best program so far.

        Raises:
            NothingScored: No program has a score that counts.
        """
        _check("generations", generations, 1, 10**9, whole=True)
        self.stopped = None
        for _ in range(generations):
            before = self.evaluations
            self._generation()
            self.stopped = self._reason_to_stop(exhausted=self.evaluations == before)
            if self.stopped is not None:
                break
        self.stopped = self.stopped or "generations"
        if self._judge.best is None:
            reason = next(iter(self.reasons), "no program could be made")
            raise NothingScored(f"None of {self.evaluations} programs has a score that counts. Most often: {reason}")
        return self.best_program

    def _new_islands(self, mutation_rate: float) -> list[Island]:
        """Return empty islands, as many as the population fills."""
        count = max(1, min(_ISLANDS, self._population_size // _SMALLEST_ISLAND))
        capacity = max(2, self._population_size // count)
        return [
            Island(
                self._species,
                self._judge,
                Random(self._random.getrandbits(64)),
                capacity=capacity,
                mutation_rate=mutation_rate,
            )
            for _ in range(count)
        ]

    def _generation(self) -> None:
        """Judge the programs of one generation and write it down."""
        end = self.evaluations + self._population_size
        if not self.history:
            self._settle(end)
        else:
            self._breed(end)
        self._tidy(end)
        self.history.append(Generation(len(self.history) + 1, self.best_fitness, self.evaluations, self.best_program))
        if len(self.history) % _MIGRATION == 0:
            self._migrate()

    def _settle(self, end: int) -> None:
        """Fill the islands: the seed program goes to each, the others are dealt out."""
        first, *others = self._species.first(self._random, self._population_size)
        count = len(self._islands)
        for index, island in enumerate(self._islands):
            island.welcome(first)
            island.settle(others[index::count], self._share(index, end))

    def _breed(self, end: int) -> None:
        """Let each island fit numbers in turn, then spend what is left on children."""
        turn = len(self.history) % len(self._islands)
        self._islands[turn].tune(max(0, end - self.evaluations - _TIDYING))
        for index, island in enumerate(self._islands):
            if not self._is_perfect():
                island.breed(self._share(index, end))

    def _share(self, index: int, end: int) -> int:
        """Return how many evaluations island ``index`` may spend, those kept for tidying left aside."""
        reserve = min(_TIDYING, self._population_size // 4)
        return max(0, end - reserve - self.evaluations) // (len(self._islands) - index)

    def _tidy(self, end: int) -> None:
        """Try plainer forms of a new best program."""
        best = self._judge.best
        if best is None or best == self._tidied:
            return
        for form in self._species.tidied(best):
            if self.evaluations < end and self._judge.prefers(form):
                break
        self._tidied = self._judge.best
        if self._judge.best != best and self._judge.best is not None:
            self._islands[0].welcome(self._judge.best)

    def _migrate(self) -> None:
        """Send the best member of each island to the next one on the ring."""
        guests = [island.members[0].genome for island in self._islands if island.members]
        for index, genome in enumerate(guests):
            self._islands[(index + 1) % len(self._islands)].welcome(genome)

    def _is_perfect(self) -> bool:
        """Tell whether the target is reached."""
        return self._target is not None and self._judge.best_loss <= self._target

    def _reason_to_stop(self, *, exhausted: bool) -> str | None:
        """Return why the search ends here, or None to go on."""
        if self._is_perfect():
            return "target"
        if exhausted:
            return "exhausted"
        if self._patience is not None and len(self.history) > self._patience:
            earlier = self.history[-1 - self._patience].best_fitness
            if earlier is not None and earlier == self.best_fitness:
                return "patience"
        return None


def _one_fitness(first: Fitness | None, second: Fitness | None) -> Fitness:
    """Return the fitness, which has to be given under one of its two names."""
    if (first is None) == (second is None):
        raise EvolveError("Give one fitness function, as `fitness_fn` or as `fitness`.")
    chosen = first or second
    if not callable(chosen):
        raise EvolveError(f"A fitness is a function of a program, not {type(chosen).__name__}.")
    return chosen


def _check(label: str, value: Any, low: float, high: float, *, whole: bool = False) -> None:
    """Refuse a setting that is not a number between ``low`` and ``high``."""
    if not is_score(value) or not low <= value <= high or (whole and not isinstance(value, int)):
        kind = "a whole number" if whole else "a number"
        raise EvolveError(f"`{label}` is {value!r:.40}; it must be {kind} from {low} to {high}.")


def _target_loss(target: float | None, *, minimize: bool, is_error: bool) -> float | None:
    """Return the loss to stop at."""
    if target is None:
        return _PERFECT if is_error and minimize else None
    if not is_score(target):
        raise EvolveError(f"`target_fitness` is {target!r:.40}; it must be a finite number.")
    return target if minimize else -target
