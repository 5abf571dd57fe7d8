"""What a search is asked: which species to vary, how a program is scored, and what is known about a perfect score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .configuration import Configurations, Space, Vector, Vectors
from .errors import EvolveError
from .expressions import Expressions, probe_points
from .fitness import Cases, cases_of, error_of, fitness_mean_squared_error, watching
from .interface import Fitness, Genome, Score, Species
from .operations import FUNCTIONS
from .reading import Expression, checked_parameters, is_score, read_program
from .scoring import score_of
from .tree import Node, name, operation
from .values import why_undefined

_NAMES = ("x", "y", "z")


@dataclass(frozen=True)
class Question:
    """A species and the way to score it."""

    species: Species
    exact: Callable[[Sequence[Genome]], list[Score]] | None = None
    """Scores programs from values that the species has at hand; None: the fitness has to be asked."""
    is_error: bool = False
    """Whether the score is known to be a squared error, which 0 is the end of."""


def ask_for_configuration(seed: Any, space: Space | Vector) -> Question:
    """Return the question for the best configuration, or the best vector, within ``space``."""
    if isinstance(space, Mapping):
        if seed is not None and not isinstance(seed, Mapping):
            raise EvolveError("With a space, the seed program is a dictionary.")
        return Question(Configurations(space, seed))
    if not isinstance(space, list | tuple):
        raise EvolveError("A space is a dictionary of names or a list of places, each with what it allows.")
    if seed is not None and not isinstance(seed, list | tuple):
        raise EvolveError("With a list as space, the seed program is a list.")
    return Question(Vectors(space, seed))


def ask_for_expression(
    fitness: Fitness,
    seed: str | None,
    parameters: Sequence[str] | None,
    functions: Sequence[str],
    max_size: int,
    *,
    minimize: bool,
) -> Question:
    """Return the question for the best expression."""
    unknown = set(functions) - {item.name for item in FUNCTIONS}
    if unknown:
        known = ", ".join(item.name for item in FUNCTIONS)
        raise EvolveError(f"Unknown functions: {', '.join(sorted(unknown))}. Known: {known}.")
    cases = _stated_cases(fitness)
    start = _seed_program(fitness, seed, parameters, cases, minimize=minimize)
    if cases is not None:
        if len(cases.columns) != len(start.parameters):
            raise EvolveError(
                f"The seed program takes {len(start.parameters)} arguments and the target {len(cases.columns)}."
            )
        wanted = cases.wanted if minimize else None
        species = Expressions(start, functions, cases.columns, max_size, wanted)
        return _exact(species, start.parameters, cases)
    shown = _shown_cases(fitness, start, minimize=minimize)
    points = shown.columns if shown is not None else probe_points(len(start.parameters))
    wanted = shown.wanted if shown is not None and minimize else None
    species = Expressions(start, functions, points, max_size, wanted)
    return Question(species, is_error=wanted is not None)


def _stated_cases(fitness: Fitness) -> Cases | None:
    """Return the cases of a fitness that is the mean squared error and nothing else."""
    if fitness is fitness_mean_squared_error:
        return cases_of(None)  # says that a target is missing
    if isinstance(fitness, partial) and fitness.func is fitness_mean_squared_error and not fitness.args:
        return cases_of(**fitness.keywords)
    return None


def _shown_cases(fitness: Fitness, program: Expression, *, minimize: bool) -> Cases | None:
    """Return the cases of a fitness that answers for ``program`` what the mean squared error answers."""
    with watching() as seen:
        score = score_of(fitness, program.source, minimize=minimize)
    return seen[0][0] if len(seen) == 1 and seen[0][1] == score.value else None


def _seed_program(
    fitness: Fitness, seed: str | None, parameters: Sequence[str] | None, cases: Cases | None, *, minimize: bool
) -> Expression:
    """Return the program to start from: the given one, or the sum of the parameters."""
    if seed is not None:
        if parameters is not None:
            raise EvolveError("The seed program names its parameters already: leave out `parameters`.")
        return read_program(seed)
    if parameters is not None:
        return _sum_program(checked_parameters(parameters))
    if cases is not None:
        count = len(cases.columns)
        return _sum_program(_NAMES[:count] if count <= len(_NAMES) else [f"x{index}" for index in range(count)])
    return _fitting_program(fitness, minimize=minimize)


def _fitting_program(fitness: Fitness, *, minimize: bool) -> Expression:
    """Return the sum of as many parameters as ``fitness`` accepts."""
    problems = []
    for count in range(1, len(_NAMES) + 1):
        program = _sum_program(_NAMES[:count])
        try:
            _shown_cases(fitness, program, minimize=minimize)
        except EvolveError as problem:
            problems.append(problem)
        else:
            return program
    raise problems[0]


def _sum_program(parameters: Sequence[str]) -> Expression:
    """Return the sum of ``parameters``."""
    total: Node | None = None
    for parameter in parameters:
        total = name(parameter) if total is None else operation("add", total, name(parameter))
    if total is None:
        raise EvolveError("A program without parameters has nothing to compute: name at least one.")
    return Expression(tuple(parameters), total)


def _exact(species: Expressions, parameters: Sequence[str], cases: Cases) -> Question:
    """Return the question whose score is worked out from the values that the species has at hand."""
    columns = dict(zip(parameters, cases.columns, strict=True))

    def scored(genome: Node) -> Score:
        error = error_of(species.values(genome), cases.wanted)
        if is_score(error):
            return Score(error)
        return Score(None, why_undefined(genome, columns, len(cases.wanted)))

    return Question(species, lambda genomes: [scored(genome) for genome in genomes], is_error=True)
