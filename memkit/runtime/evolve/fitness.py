"""The error of a program against a known function or known pairs."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from .errors import EvolveError, UndefinedValue
from .interface import Score
from .reading import Expression, is_score, read_program
from .values import Column, column, why_undefined

Target = Callable[..., float] | Iterable[tuple[Any, float]] | Expression
"""A function, or pairs of argument (several: a tuple) and value."""

_LINE = tuple(index / 2 for index in range(-10, 11))
_GRID = {1: _LINE, 2: tuple(float(value) for value in range(-3, 4)), 3: (-2.0, -1.0, 0.0, 1.0, 2.0)}


@dataclass(frozen=True)
class Cases:
    """The points at which programs are compared, and the wanted value at each."""

    columns: tuple[tuple[float, ...], ...]
    """One column an argument."""
    wanted: tuple[float, ...]


_watched: ContextVar[list[tuple[Cases, float]] | None] = ContextVar("watched", default=None)


def fitness_mean_squared_error(
    program: str, target: Target | None = None, *, points: Sequence[Any] | None = None
) -> float:
    """Return the mean squared error of ``program`` against ``target``; lower is better, 0 is perfect.

    Args:
        program: Source text, such as ``lambda x: x * 2``.
        target: A function, or pairs of argument and value (of a tuple of arguments and a value).
        points: Where to compare with a function. Left out, a function of one argument is compared at 21 points from
            -5 to 5, one of more at the points of a grid. Points where the function itself has no value do not count.

    Returns:
        The error; infinity where the program has no finite value at one of the points.

    Raises:
        RefusedProgram: ``program`` is not in the language of programs that run in process.
        EvolveError: ``target`` or ``points`` is not usable.

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
    """Return the mean squared difference of two columns; infinity or NaN where it is not finite."""
    try:
        total: float = sum([(value - other) ** 2 for value, other in zip(values, wanted, strict=True)])
        return total / len(wanted)
    except OverflowError:
        return math.inf


def cases_of(target: Target | None, points: Sequence[Any] | None = None) -> Cases:
    """Return the points to compare at and the wanted values, or say why there are none."""
    if target is None:
        raise EvolveError(
            "The mean squared error needs a target: a function or pairs. "
            "To hand it to a search: functools.partial(fitness_mean_squared_error, target=...)."
        )
    if callable(target):
        return _sampled(target, points)
    if points is not None:
        raise EvolveError("Pairs hold their points already: leave out `points`.")
    return _paired(target)


def _sampled(function: Callable[..., float], points: Sequence[Any] | None) -> Cases:
    """Return the cases of a function."""
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
    """Tell whether a number is finite as a float."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _paired(target: Iterable[tuple[Any, float]]) -> Cases:
    """Return the cases of pairs."""
    try:
        pairs = [(argument, value) for argument, value in target]
    except (TypeError, ValueError) as problem:
        raise EvolveError("A target is a function, or pairs of argument and value.") from problem
    if not pairs:
        raise EvolveError("A target without pairs asks nothing of a program.")
    arguments = _as_tuples([argument for argument, _ in pairs])
    return _cases([(key, value) for key, (_, value) in zip(arguments, pairs, strict=True)])


def _as_tuples(points: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return each point as a tuple of arguments, all of one length."""
    tuples = [tuple(point) if isinstance(point, tuple | list) else (point,) for point in points]
    if len({len(point) for point in tuples}) > 1:
        raise EvolveError("The points do not all have the same number of arguments.")
    return tuples


def _cases(pairs: Sequence[tuple[tuple[Any, ...], Any]]) -> Cases:
    """Return ``pairs`` by column; whole numbers become floats, so that arithmetic costs the same for all."""
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
        raise EvolveError(f"The target takes {count} arguments: say with `points` where to compare.")
    return list(itertools.product(_GRID[count], repeat=count))


def argument_count(function: Callable[..., float]) -> int:
    """Return how many arguments ``function`` must be given."""
    if isinstance(function, Expression):
        return len(function.parameters)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions do not say
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(item.kind in positional and item.default is item.empty for item in parameters) or 1


@contextmanager
def watching() -> Iterator[list[tuple[Cases, float]]]:
    """Collect what ``fitness_mean_squared_error`` is asked inside the block: the cases and the error."""
    seen: list[tuple[Cases, float]] = []
    token = _watched.set(seen)
    try:
        yield seen
    finally:
        _watched.reset(token)
