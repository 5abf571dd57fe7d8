"""Search for the program with the best fitness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from .archipelago import (
    CHECKPOINT_FORMAT,
    Archipelago,
    Breeding,
    Ensemble,
    checked_checkpoint,
    plain_copy,
    programs_of,
    saved_chance,
    saved_programs,
    set_chance,
)
from .configuration import Space, Vector
from .fitness import FitnessQuestion, ask_for_configuration, ask_for_expression
from .interface import (
    JSON,
    BadCheckpoint,
    EvolveError,
    Fitness,
    Generation,
    Genome,
    Individual,
    NothingScored,
    Proposer,
    RefusedProgram,
    Score,
    Species,
    is_score,
)
from .judge import Birth, Confirm, Member, ProgramJudge, Workers, score_of, told

_PERFECT = 1e-12
"""A squared error that is mere rounding."""
_TIDYING = 6
"""The evaluations of a generation reserved for simpler forms of a new best program."""
_BARREN, _MANY = 5, 100
"""Generations in a row without a score that end a search; after a first score, also this many programs."""


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """What is searched, when a search stops, and which proposers help; every field is optional.

    >>> settings = SearchSettings(space={"rate": (0.0, 1.0), "size": [8, 16, 32]}, target_fitness=0.01)
    >>> def error(tried: dict) -> float:
    ...     return abs(tried["rate"] - 0.3) + abs(tried["size"] - 16)
    >>> EvolutionarySearcher({"rate": 0.9, "size": 32}, error, settings=settings).run(generations=60)["size"]
    16
    """

    functions: Sequence[str] = ()
    """Functions that programs may call besides those in the seed program, such as ``("sin", "exp")``."""
    parameters: Sequence[str] | None = None
    """The names of the arguments, if there is no seed program."""
    max_size: int = 40
    """The most nodes (operators, constants, names) of a program."""
    space: Space | Vector | None = None
    """Search configurations instead: name → ``(low, high)`` or ``[value, value, …]``; or vectors: a list of the same,
    one for each position."""
    species: Species | None = None
    """Search your own kind of programs; the species provides the initial one."""
    target_fitness: float | None = None
    """Stop as soon as this fitness is reached."""
    patience: int | None = None
    """Stop after this many generations without a better program."""
    islands: int | None = None
    """The number of separate populations; by default, one for every eight programs and at most four."""
    features: Mapping[str, float] | None = None
    """The features that distinguish the archive's programs: a feature of the species or a metric of the fitness →
    the width of a cell. By default, the species decides."""
    executor: Executor | Callable[[], Executor] | None = None
    """Evaluates programs in parallel: any ``concurrent.futures.Executor``, or a function that makes one (so that a
    broken one can be replaced). The result is the same. The squared error of an expression is always computed in this
    process, because that takes less time than sending it anywhere."""
    proposers: Sequence[Proposer] = ()
    """Models or other sources of changes; those that contributed more are asked more often."""
    proposals: float = 0.5
    """The share of children made by the proposers; the others come from mutation and crossover."""
    confirm: Confirm | None = None
    """Judges a potential best program once more, for example on other inputs. If its score does not count, neither does
    the first; if both do, the worse of them is the program's score."""

    def __post_init__(self) -> None:
        _check("max_size", self.max_size, 1, 200, whole=True)
        _check("proposals", self.proposals, 0, 1)
        if self.patience is not None:
            _check("patience", self.patience, 1, 10**9, whole=True)


class EvolutionarySearcher:
    """Evolves programs, judged only by ``fitness_fn``; the same arguments give the same result.

    ``population_size`` programs are judged in every generation, so a run costs at most
    ``population_size * generations`` evaluations: no program is judged twice, and none is a copy.

    Args:
        seed_program: Source text to start from, such as ``lambda x: x * 2``; by default the sum of the parameters.
            With a ``space``, a dictionary or a list.
        fitness_fn: Judges a program, given as source text (with a ``space``: as a dictionary or list). A number that is
            not finite, a bool or an exception is the worst possible score, and ``reasons`` counts why.
        mutation_rate: Every child is changed. This is the probability that a mutated child gets a second mutation, and
            again that it gets a third; higher rates search further from what is already good.
        population_size: How many programs are judged in one generation.
        fitness: The same as ``fitness_fn``.
        minimize: Whether lower is better; pass False for a score of which higher is better.
        seed: The random seed.
        settings: What else is searched, when to stop, and which proposers help.

    Example:
        >>> from functools import partial
        >>> fitness = partial(fitness_mean_squared_error, target=lambda x: 3 * x + 7)
        >>> EvolutionarySearcher(seed_program="lambda x: x * 2", fitness_fn=fitness).run(generations=50)
        'lambda x: 3 * x + 7'
    """

    history: list[Generation]
    """The state of the search after each generation."""
    stopped: str | None = None
    """Why the search ended: target, patience, exhausted (nothing new could be made), unscored (nothing has had a score
    for long: the fitness is broken or hangs), or generations."""
    _tidied: str | None = None
    """The best program whose simpler forms were tried."""
    _scored_at: int = 0
    """The last generation in which a program got a score."""
    _is_between_generations: bool = True

    def __init__(
        self,
        seed_program: str | Mapping[str, Any] | Sequence[Any] | None = None,
        fitness_fn: Fitness | None = None,
        mutation_rate: float = 0.2,
        population_size: int = 30,
        *,
        fitness: Fitness | None = None,
        minimize: bool = True,
        seed: int = 0,
        settings: SearchSettings | None = None,
    ) -> None:
        settings = settings or SearchSettings()
        chosen = _one_fitness(fitness_fn, fitness)
        _check_breeding(mutation_rate, population_size, settings.islands, seed)
        question = _question(seed_program, chosen, settings, minimize=minimize)
        self._population_size, self._patience = population_size, settings.patience
        self._target = _target_loss(settings.target_fitness, minimize=minimize, is_error=question.is_error)
        self._random = Random(seed)
        self._species = question.species
        evaluate = partial(score_of, chosen, minimize=minimize)
        self._workers = Workers(evaluate, None if question.exact else settings.executor)
        self._judge = ProgramJudge(
            self._species, question.exact or self._evaluated, minimize=minimize, confirm=settings.confirm
        )
        self._ensemble = Ensemble(settings.proposers, Random(self._random.getrandbits(64)))
        grid = self._species.grid() if settings.features is None else settings.features
        self._archipelago = Archipelago(
            self._species,
            self._judge,
            self._ensemble,
            self._random,
            Breeding(
                population_size=population_size,
                mutation_rate=mutation_rate,
                grid=grid,
                proposals=settings.proposals if settings.proposers else 0.0,
                islands=settings.islands,
            ),
        )
        self._settings: dict[str, JSON] = {"seed": seed, "minimize": minimize, **self._archipelago.settings}
        self.history = []
        self._bests: dict[str, Member] = {}
        self._best_ids: list[str | None] = []
        self._finished: list[Individual] = []

    @property
    def best_fitness(self) -> float | None:
        """Return the fitness of the best program so far, in the scale of ``fitness_fn``."""
        return None if self._judge.best is None else self._judge.best.score.value

    @property
    def best_program(self) -> Any:
        """Return the best program so far: source text, or a dictionary. None before anything was scored."""
        return None if self._judge.best is None else self._species.program(self._judge.best.genome)

    @property
    def evaluations(self) -> int:
        """Return how many programs were judged so far."""
        return self._judge.evaluations

    @property
    def reasons(self) -> dict[str, int]:
        """Return why scores did not count, most frequent reason first."""
        return dict(self._judge.reasons.most_common())

    @property
    def usage(self) -> dict[str, dict[str, float]]:
        """Return the cost of each proposer, by name."""
        return {name: dict(item.usage) for name, item in self._ensemble.standings.items()}

    @property
    def archive(self) -> dict[tuple[int, ...], Individual]:
        """Return the best program in each cell of the features, over all islands, without its parents."""
        return {
            cell: Individual(member.id, self._species.program(member.genome), (), island, 0, "archive", member.score)
            for cell, (island, member) in self._archipelago.cells().items()
        }

    def run(self, generations: int = 50) -> Any:
        """Search for ``generations`` more generations and return the best program so far.

        Raises:
            NothingScored: No program has a score that counts.
        """
        _check("generations", generations, 1, 10**9, whole=True)
        for _ in range(generations):
            self.generation()
            if self.stopped is not None:
                break
        self.stopped = self.stopped or "generations"
        if self._judge.best is None:
            reason = next(iter(self.reasons), "no program could be made")
            raise NothingScored(f"None of {self.evaluations} programs has a score that counts. Most often: {reason}")
        return self.best_program

    def generation(self) -> Generation:
        """Judge the programs of one more generation; ``stopped`` afterwards gives a reason to end, if any."""
        if not self._is_between_generations:
            raise EvolveError("The search was interrupted within a generation. Restore a state to continue.")
        self._is_between_generations = False
        number, end = len(self.history) + 1, self.evaluations + self._population_size
        if number == 1:
            self._archipelago.settle(self._random, self._population_size - self._reserve)
        else:
            self._breed(number, end)
        self._tidy(number, end)
        best = self._judge.best
        if best is not None:
            self._bests.setdefault(best.id, best)
        self._best_ids.append(None if best is None else best.id)
        self.history.append(Generation(number, self.best_fitness, self.evaluations, self.best_program))
        self._archipelago.migrate(number)
        individuals = self._judge.take_log()
        self._ensemble.learn(individuals, self._judge.better(individuals))
        self._finished += individuals
        self.stopped = self._reason_to_stop(individuals)
        self._is_between_generations = True
        return self.history[-1]

    def drain(self) -> list[Individual]:
        """Return, and forget, the events of the generations completed since the last call, oldest first."""
        individuals, self._finished = self._finished, []
        return individuals

    def state(self) -> dict[str, JSON]:
        """Return all that the search needs to continue later, as plain JSON data."""
        if not self._is_between_generations:
            raise EvolveError("The search was interrupted within a generation. Continue from the state before it.")
        programs = {member.id: member for member in (*self._bests.values(), *self._archipelago.members())}
        if self._judge.best is not None:
            programs[self._judge.best.id] = self._judge.best
        entries = zip(self.history, self._best_ids, strict=True)
        data: dict[str, JSON] = {
            "format": CHECKPOINT_FORMAT,
            "settings": self._settings,
            "random": [saved_chance(self._random), saved_chance(self._ensemble.random)],
            "programs": saved_programs(programs.values(), self._species),
            "judge": self._judge.state(),
            "islands": self._archipelago.state(),
            "proposers": self._ensemble.state(),
            "history": [[entry.best_fitness, entry.evaluations, key] for entry, key in entries],
            "tidied": self._tidied,
            "scored_at": self._scored_at,
            "stopped": self.stopped,
        }
        return plain_copy(data)

    def restore(self, data: Any) -> None:
        """Continue from what ``state`` returned, or its JSON text, in a searcher with the same arguments.

        Raises:
            BadCheckpoint: ``data`` is of a newer version or of a run with other settings, damaged or truncated.
        """
        saved = checked_checkpoint(data, plain_copy(self._settings))
        self._is_between_generations = False
        try:
            members = programs_of(saved["programs"], self._species, self._judge)
            self._judge.restore(saved["judge"], members)
            self._archipelago.restore(saved["islands"], members)
            self._ensemble.restore(saved["proposers"])
            for random, numbers in zip((self._random, self._ensemble.random), saved["random"], strict=True):
                set_chance(random, numbers)
            self._read_history(saved["history"], members)
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RefusedProgram) as problem:
            raise BadCheckpoint(f"The checkpoint is damaged or truncated: {told(problem)}") from problem
        self._tidied, self.stopped = saved["tidied"], saved["stopped"]
        self._scored_at = saved["scored_at"]
        self._finished = []
        self._is_between_generations = True

    def close(self) -> None:
        """Stop the executor that ``executor`` made, if it was a function."""
        self._workers.close()

    def _evaluated(self, genomes: Sequence[Genome]) -> list[Score]:
        return self._workers.scores([self._species.program(genome) for genome in genomes])

    def _breed(self, number: int, end: int) -> None:
        """Fit the numbers of a program, then spend the rest on children."""
        self._archipelago.tune(number, max(0, end - self.evaluations - self._reserve))
        if not self._is_perfect():
            self._archipelago.breed(number, end - self.evaluations - self._reserve)

    @property
    def _reserve(self) -> int:
        """Return how many evaluations of a generation are reserved for simpler forms of a new best program."""
        return min(_TIDYING, self._population_size // 4)

    def _tidy(self, number: int, end: int) -> None:
        """Try simpler forms of a new best program."""
        best = self._judge.best
        if best is None or best.id == self._tidied:
            return
        for form in self._species.tidied(best.genome):
            if self.evaluations >= end:
                break
            if self._judge.is_known(form):
                continue
            (member,) = self._judge.judge([(0, Birth(form, "tidy", (best.id,)))], number)
            if self._judge.prefer(member):
                break
        self._tidied = None if self._judge.best is None else self._judge.best.id
        if self._judge.best is not None and self._judge.best.id != best.id:
            self._archipelago.welcome(self._judge.best)

    def _read_history(self, entries: Sequence[Any], members: Mapping[str, Member]) -> None:
        self._best_ids = [key for _, _, key in entries]
        self._bests = {key: members[key] for key in self._best_ids if key is not None}
        programs = {key: self._species.program(member.genome) for key, member in self._bests.items()}
        self.history = [
            Generation(number, fitness, evaluations, programs.get(key))
            for number, (fitness, evaluations, key) in enumerate(entries, 1)
        ]

    def _is_perfect(self) -> bool:
        return self._target is not None and self._judge.best_loss <= self._target

    def _reason_to_stop(self, individuals: Sequence[Individual]) -> str | None:
        """Return why the search ends here, or None to continue."""
        if self._is_perfect():
            return "target"
        if all(individual.operation == "migrate" for individual in individuals):
            return "exhausted"
        if self._patience is not None and len(self.history) > self._patience:
            earlier = self.history[-1 - self._patience].best_fitness
            if earlier is not None and earlier == self.best_fitness:
                return "patience"
        if any(individual.score.value is not None for individual in individuals if individual.operation != "migrate"):
            self._scored_at = len(self.history)
        return "unscored" if self._is_barren() else None

    def _is_barren(self) -> bool:
        """Return whether nothing has had a score for so long that the fitness must be broken."""
        if len(self.history) - self._scored_at < _BARREN:
            return False
        before = self.history[self._scored_at - 1].evaluations if self._scored_at else 0
        return self.best_fitness is None or self.evaluations - before >= _MANY


def _question(seed: Any, fitness: Fitness, settings: SearchSettings, *, minimize: bool) -> FitnessQuestion:
    """Return what is searched for: by a caller's own species, a configuration, or an expression."""
    if settings.species is not None:
        if seed is not None or settings.space is not None:
            raise EvolveError("A species has its own seed program: leave out `seed_program` and `space`.")
        return FitnessQuestion(settings.species)
    if settings.space is not None:
        return ask_for_configuration(seed, settings.space)
    if seed is not None and not isinstance(seed, str):
        raise EvolveError(
            f"The seed program is source text, such as 'lambda x: x * 2'; any other value, as {seed!r:.40} is, needs a "
            "`space` that says what may vary."
        )
    names, functions, size = settings.parameters, settings.functions, settings.max_size
    return ask_for_expression(fitness, seed, names, functions, size, minimize=minimize)


def _one_fitness(first: Fitness | None, second: Fitness | None) -> Fitness:
    """Return the fitness, which must be given under one of its two names."""
    if (first is None) == (second is None):
        raise EvolveError("Give one fitness function, as `fitness_fn` or as `fitness`.")
    chosen = first or second
    if not callable(chosen):
        raise EvolveError(f"The fitness must be a function of a program, not {type(chosen).__name__}.")
    return chosen


def _check_breeding(mutation_rate: Any, population_size: Any, islands: Any, seed: Any) -> None:
    """Reject invalid settings of the populations, and a seed that could not be reproduced."""
    _check("mutation_rate", mutation_rate, 0, 1)
    _check("population_size", population_size, 2, 100_000, whole=True)
    if islands is not None:
        _check("islands", islands, 1, population_size // 2, whole=True)
    if not isinstance(seed, int):
        raise EvolveError(f"`seed` is {seed!r:.40}; it must be a whole number, which makes a search repeatable.")


def _check(label: str, value: Any, low: float, high: float, *, whole: bool = False) -> None:
    if not is_score(value) or not low <= value <= high or (whole and not isinstance(value, int)):
        kind = "a whole number" if whole else "a number"
        raise EvolveError(f"`{label}` is {value!r:.40}; it must be {kind} from {low} to {high}.")


def _target_loss(target: float | None, *, minimize: bool, is_error: bool) -> float | None:
    if target is None:
        return _PERFECT if is_error and minimize else None
    if not is_score(target):
        raise EvolveError(f"`target_fitness` is {target!r:.40}; it must be a finite number.")
    return target if minimize else -target
