"""Ask a fitness about a program and read its answer: a finite number, metrics or a ``Score``; nothing else counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from .errors import EvolveError, RefusedProgram, UndefinedValue
from .interface import Program, Score
from .reading import is_score

_LONGEST_REASON = 500
_LONGEST_ARTIFACT = 8000
COMBINED = "combined_score"


def score_of(fitness: Callable[[Any], Any], program: Program, *, minimize: bool) -> Score:
    """Return what ``fitness`` says about ``program``; what is no finite number is a score that does not count.

    Raises:
        EvolveError: The question itself is wrong, for every program.
    """
    try:
        answer = fitness(program)
    except (RefusedProgram, UndefinedValue) as problem:
        return Score(None, str(problem))
    except EvolveError:
        raise
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - what the caller's function raises is this program's score
        return Score(None, told(problem))
    return read_score(answer, minimize=minimize)


def told(problem: BaseException) -> str:
    """Return an exception in one bounded line."""
    try:
        text = " ".join(str(problem).split())
    except Exception:  # noqa: BLE001 - the exception is the caller's
        text = "it cannot say why"
    return f"{type(problem).__name__}: {text}"[:_LONGEST_REASON]


def read_score(answer: Any, *, minimize: bool) -> Score:
    """Return the answer of a fitness as a score."""
    if isinstance(answer, Score):
        value, reason = (None, answer.reason) if answer.value is None else _number(answer.value)
        return Score(value, (reason or answer.reason)[:_LONGEST_REASON], _metrics(answer.metrics), _texts(answer))
    if isinstance(answer, Mapping):
        if minimize:
            raise EvolveError("The fitness returns metrics, where higher is better: say `minimize=False`.")
        return Score(*_combined(answer), metrics=_metrics(answer))
    return Score(*_number(answer))


def _combined(metrics: Mapping[Any, Any]) -> tuple[float | None, str]:
    """Return the combined score of ``metrics``, or the mean of their numbers where there is none."""
    if COMBINED in metrics:
        return _number(metrics[COMBINED])
    numbers = [value for value in metrics.values() if not _is_truth(value) and isinstance(value, int | float)]
    if not numbers:
        return None, "the metrics hold no number"
    try:
        return _number(math.fsum(numbers) / len(numbers))
    except (OverflowError, ValueError):
        return None, "the mean of the metrics is not a finite number"


def _number(value: Any) -> tuple[float | None, str]:
    """Return ``value`` as a finite number, or why it is none."""
    if _is_truth(value):
        return None, "the fitness is a truth value"
    if not isinstance(value, int | float) and (not hasattr(value, "__float__") or hasattr(value, "__len__")):
        return None, f"the fitness is {_shown(value)}, not a number"
    try:
        number = float(value)  # also the numbers of numerical libraries
    except Exception as problem:  # noqa: BLE001 - the value is the caller's
        return None, f"the fitness is no number: {told(problem)}"
    return (number, "") if is_score(number) else (None, f"the fitness is {number}, not a finite number")


def _is_truth(value: Any) -> bool:
    """Tell whether ``value`` is true or false, Python's own or numpy's."""
    return type(value).__name__ in ("bool", "bool_")


def _shown(value: Any) -> str:
    """Return what ``value`` looks like."""
    try:
        return f"{value!r:.40}"
    except Exception:  # noqa: BLE001 - the value is the caller's
        return f"of type {type(value).__name__}"


def _metrics(given: Mapping[Any, Any]) -> dict[str, float]:
    """Return the metrics that are finite numbers."""
    read = {str(label): _number(value)[0] for label, value in given.items()}
    return {label: value for label, value in read.items() if value is not None}


def _texts(score: Score) -> dict[str, str]:
    """Return the artifacts as bounded text."""
    return {str(label): str(value)[:_LONGEST_ARTIFACT] for label, value in score.artifacts.items()}
