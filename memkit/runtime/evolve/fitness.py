"""The task of a search: which species to vary, how a program is scored, and the error against a known function."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

from .configuration import Configurations, Space, Vector, Vectors
from .expressions.reading import Expression, checked_parameters, read_program
from .expressions.species import Expressions, probe_points
from .expressions.tree import FUNCTIONS, Column, ExpressionNode, column, name, operation, why_undefined
from .interface import EvolveError, Fitness, Genome, Score, Species, UndefinedValue, is_score
from .judge import score_of

Target = Callable[..., float] | Iterable[tuple[Any, float]] | Expression
"""A function, or pairs of argument (a tuple if several) and value."""

_LINE = tuple(index / 2 for index in range(-10, 11))
_GRID = {1: _LINE, 2: tuple(float(value) for value in range(-3, 4)), 3: (-2.0, -1.0, 0.0, 1.0, 2.0)}


@dataclass(frozen=True)
class Cases:
    """The points at which programs are compared, with the wanted values."""

    columns: tuple[tuple[float, ...], ...]
    """One column per argument."""
    wanted: tuple[float, ...]


_watched: ContextVar[list[tuple[Cases, float]] | None] = ContextVar("watched", default=None)


def fitness_mean_squared_error(
    program: str, target: Target | None = None, *, points: Sequence[Any] | None = None
) -> float:
    """Return the mean squared error of ``program`` against ``target``; lower is better, 0 is perfect.

    Args:
        program: Source text, such as ``lambda x: x * 2``.
        target: A function, or pairs of argument and value (of a tuple of arguments and a value).
        points: Where to compare with a function. By default, a function of one argument is compared at 21 points from
            -5 to 5, one of more arguments on a grid. Points where the function itself has no value do not count.

    Returns:
        The error; infinity if the program has no finite value at one of the points.

    Raises:
        RefusedProgram: ``program`` is not in the language of programs that run in process.
        EvolveError: ``target`` or ``points`` cannot be used.

    Example:
        >>> fitness_mean_squared_error("lambda x: x + 1", target=lambda x: x)
        1.0
        >>> fitness_mean_squared_error("lambda x: x * 2", target=[(1, 2), (2, 6)])
        2.0
    """
    cases = cases_of(target, points)
    score = squared_error(read_program(program), cases)
    seen = _watched.get()
    if seen is not None:
        seen.append((cases, score.value if score.value is not None else math.inf))
    return math.inf if score.value is None else score.value


def squared_error(program: Expression, cases: Cases) -> Score:
    """Return the mean squared error of ``program`` on ``cases``, or why it has none."""
    if len(program.parameters) != len(cases.columns):
        raise EvolveError(
            f"The program takes {len(program.parameters)} arguments ({', '.join(program.parameters)}) "
            f"and the target {len(cases.columns)}."
        )
    columns = dict(zip(program.parameters, cases.columns, strict=True))
    values = column(program.body, columns, {}, len(cases.wanted))
    error = error_of(values, cases.wanted)
    if is_score(error):
        return Score(error)
    return Score(None, why_undefined(program.body, columns, len(cases.wanted)))


def error_of(values: Column, wanted: Sequence[float]) -> float:
    """Return the mean squared difference of two columns; infinity or NaN if it is not finite."""
    try:
        total: float = sum([(value - other) ** 2 for value, other in zip(values, wanted, strict=True)])
        return total / len(wanted)
    except OverflowError:
        return math.inf


def cases_of(target: Target | None, points: Sequence[Any] | None = None) -> Cases:
    """Return the points of comparison and the wanted values; raise an error if there are none."""
    if target is None:
        raise EvolveError(
            "The mean squared error needs a target: a function or pairs. To pass it to a search: "
            "functools.partial(fitness_mean_squared_error, target=...)."
        )
    if callable(target):
        return _sampled(target, points)
    if points is not None:
        raise EvolveError("Pairs already contain their points: leave out `points`.")
    try:
        pairs = [(argument, value) for argument, value in target]
    except (TypeError, ValueError) as problem:
        raise EvolveError("A target must be a function, or pairs of argument and value.") from problem
    if not pairs:
        raise EvolveError("A target without pairs tests nothing.")
    arguments = _as_tuples([argument for argument, _ in pairs])
    return _cases([(key, value) for key, (_, value) in zip(arguments, pairs, strict=True)])


def _sampled(function: Callable[..., float], points: Sequence[Any] | None) -> Cases:
    chosen = _as_tuples(_default_points(function) if points is None else points)
    pairs = []
    for arguments in chosen:
        try:
            value = function(*arguments)
        except (ArithmeticError, ValueError, UndefinedValue):  # outside the function's domain
            continue
        if isinstance(value, bool) or not hasattr(value, "__float__"):
            raise EvolveError(f"The target returns {value!r:.60} at {arguments}; it must return a number.")
        pairs += [(arguments, value)] if _is_finite(value) else []
    if len(pairs) < 2:
        raise EvolveError("The target has a value at fewer than two of the points. Choose others with `points`.")
    return _cases(pairs)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _as_tuples(points: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return each point as a tuple of arguments, all of the same length."""
    tuples = [tuple(point) if isinstance(point, tuple | list) else (point,) for point in points]
    if len({len(point) for point in tuples}) > 1:
        raise EvolveError("The points do not all have the same number of arguments.")
    return tuples


def _cases(pairs: Sequence[tuple[tuple[Any, ...], Any]]) -> Cases:
    """Return ``pairs`` by column; integers become floats, so that arithmetic costs the same for all."""
    try:
        columns = tuple(tuple(map(float, values)) for values in zip(*(key for key, _ in pairs), strict=True))
        wanted = tuple(float(value) for _, value in pairs)
    except (TypeError, ValueError, OverflowError) as problem:
        raise EvolveError(f"Arguments and values of a target are numbers: {problem}.") from problem
    if not all(map(math.isfinite, itertools.chain(wanted, *columns))):
        raise EvolveError("Arguments and values of a target are finite numbers.")
    return Cases(columns, wanted)


def _default_points(function: Callable[..., float]) -> list[tuple[float, ...]]:
    """Return points for a function of one to three arguments."""
    count = argument_count(function)
    if count not in _GRID:
        raise EvolveError(f"The target takes {count} arguments: give `points` to compare at.")
    return list(itertools.product(_GRID[count], repeat=count))


def argument_count(function: Callable[..., float]) -> int:
    """Return how many arguments ``function`` requires."""
    if isinstance(function, Expression):
        return len(function.parameters)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have no signature
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(item.kind in positional and item.default is item.empty for item in parameters) or 1


@contextmanager
def watching() -> Iterator[list[tuple[Cases, float]]]:
    """Record the calls of ``fitness_mean_squared_error`` in the block: the cases and the error."""
    seen: list[tuple[Cases, float]] = []
    token = _watched.set(seen)
    try:
        yield seen
    finally:
        _watched.reset(token)


_NAMES = ("x", "y", "z")


@dataclass(frozen=True)
class FitnessQuestion:
    """A species and the way to score it."""

    species: Species
    exact: Callable[[Sequence[Genome]], list[Score]] | None = None
    """Scores programs from values that the species already has; None: the fitness must be called."""
    is_error: bool = False
    """Whether the score is known to be a squared error, which cannot be less than 0."""


def ask_for_configuration(seed: Any, space: Space | Vector) -> FitnessQuestion:
    """Return the question for the best configuration, or the best vector, within ``space``."""
    if isinstance(space, Mapping):
        if seed is not None and not isinstance(seed, Mapping):
            raise EvolveError("With a space, the seed program must be a dictionary.")
        return FitnessQuestion(Configurations(space, seed))
    if not isinstance(space, list | tuple):
        raise EvolveError("A space must be a dictionary of names or a list of places, each with what it allows.")
    if seed is not None and not isinstance(seed, list | tuple):
        raise EvolveError("With a list as space, the seed program must be a list.")
    return FitnessQuestion(Vectors(space, seed))


def ask_for_expression(
    fitness: Fitness,
    seed: str | None,
    parameters: Sequence[str] | None,
    functions: Sequence[str],
    max_size: int,
    *,
    minimize: bool,
) -> FitnessQuestion:
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
    return FitnessQuestion(species, is_error=wanted is not None)


def _stated_cases(fitness: Fitness) -> Cases | None:
    """Return the cases of a fitness that is exactly the mean squared error."""
    if fitness is fitness_mean_squared_error:
        return cases_of(None)  # reports that a target is missing
    if isinstance(fitness, partial) and fitness.func is fitness_mean_squared_error and not fitness.args:
        return cases_of(**fitness.keywords)
    return None


def _shown_cases(fitness: Fitness, program: Expression, *, minimize: bool) -> Cases | None:
    """Return the cases of a fitness that gives ``program`` the same score as the mean squared error does."""
    with watching() as seen:
        score = score_of(fitness, program.source, minimize=minimize)
    return seen[0][0] if len(seen) == 1 and seen[0][1] == score.value else None


def _seed_program(
    fitness: Fitness, seed: str | None, parameters: Sequence[str] | None, cases: Cases | None, *, minimize: bool
) -> Expression:
    """Return the program to start from: the given one, or the sum of the parameters."""
    if seed is not None:
        if parameters is not None:
            raise EvolveError("The seed program already names its parameters: leave out `parameters`.")
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
    total: ExpressionNode | None = None
    for parameter in parameters:
        total = name(parameter) if total is None else operation("add", total, name(parameter))
    if total is None:
        raise EvolveError("A program without parameters has nothing to compute: name at least one.")
    return Expression(tuple(parameters), total)


def _exact(species: Expressions, parameters: Sequence[str], cases: Cases) -> FitnessQuestion:
    """Return the question whose score is computed from the values that the species already has."""
    columns = dict(zip(parameters, cases.columns, strict=True))

    def scored(genome: ExpressionNode) -> Score:
        error = error_of(species.values(genome), cases.wanted)
        if is_score(error):
            return Score(error)
        return Score(None, why_undefined(genome, columns, len(cases.wanted)))

    return FitnessQuestion(species, lambda genomes: [scored(genome) for genome in genomes], is_error=True)
