"""Ask a fitness about programs, here or on any ``concurrent.futures.Executor``, and read what it answers as scores."""

from __future__ import annotations

import math
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any

from .interface import EvolveError, Program, RefusedProgram, Score, UndefinedValue, is_score

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
    try:
        return f"{value!r:.40}"
    except Exception:  # noqa: BLE001 - the value is the caller's
        return f"of type {type(value).__name__}"


def _metrics(given: Mapping[Any, Any]) -> dict[str, float]:
    read = {str(label): _number(value)[0] for label, value in given.items()}
    return {label: value for label, value in read.items() if value is not None}


def _texts(score: Score) -> dict[str, str]:
    return {str(label): str(value)[:_LONGEST_ARTIFACT] for label, value in score.artifacts.items()}


Evaluate = Callable[[Program], Score]
"""Scores one program; it and its argument travel to the workers."""


class Workers:
    """Owns the executor of a run; without one, programs are evaluated here."""

    def __init__(self, evaluate: Evaluate, executor: Executor | Callable[[], Executor] | None = None) -> None:
        self._evaluate = evaluate
        self._renewed = callable(executor)
        self._make: Callable[[], Executor] | None = None
        self._executor: Executor | None = None
        if isinstance(executor, Executor):
            self._executor = executor
            self._make = _like(executor) if _has_processes(executor) else None
        elif executor is not None:
            if not callable(executor):
                raise EvolveError(
                    f"An executor is a concurrent.futures.Executor, or makes one; this is {executor!r:.60}."
                )
            self._make = executor
            self._executor = executor()
        if _has_processes(self._executor):
            _check_travels(evaluate)

    def scores(self, programs: Sequence[Program]) -> list[Score]:
        """Return a score for each of ``programs``; one whose worker dies gets a score that does not count."""
        if self._executor is None:
            return [self._evaluate(program) for program in programs]
        found: dict[int, Score] = {}
        suspects = self._round(dict(enumerate(programs)), found)
        for index in suspects:  # one of them broke the executor; alone, it does so again
            if self._round({index: programs[index]}, found):
                found[index] = Score(None, "the worker that evaluated it died")
        return [found[index] for index in range(len(programs))]

    def close(self) -> None:
        """Stop the executor, if it was made here."""
        if self._renewed and self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None

    def _round(self, programs: Mapping[int, Program], found: dict[int, Score]) -> list[int]:
        """Evaluate ``programs`` side by side into ``found``; return those left over because the executor broke."""
        futures: dict[int, Future[Score]] = {}
        left: list[int] = []
        try:
            for index, program in programs.items():
                try:
                    futures[index] = self._submitted(program)
                except BrokenExecutor:
                    left.append(index)
            for index, future in futures.items():
                try:
                    found[index] = future.result()
                except BrokenExecutor:
                    left.append(index)
                except EvolveError:
                    raise
                except Exception as problem:  # noqa: BLE001 - whatever a worker of any kind fails with
                    found[index] = Score(None, f"the worker failed: {told(problem)}")
        except BaseException:
            for future in futures.values():
                future.cancel()
            raise
        if left:
            self._renew()
        return sorted(left)

    def _submitted(self, program: Program) -> Future[Score]:
        assert self._executor is not None
        return self._executor.submit(self._evaluate, program)

    def _renew(self) -> None:
        """Put a new executor in the place of the broken one."""
        assert self._executor is not None
        if self._make is None:
            raise EvolveError(
                f"The {type(self._executor).__name__} broke and takes no more work. Hand in a function that makes "
                "executors, so that it can be replaced."
            )
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._executor = self._make()
        self._renewed = True


def _has_processes(executor: Executor | None) -> bool:
    """Tell whether ``executor`` is the standard library's pool of processes; who has none need not import it."""
    module = sys.modules.get("concurrent.futures.process")
    return module is not None and isinstance(executor, module.ProcessPoolExecutor)


def _like(executor: Executor) -> Callable[[], Executor]:
    """Return what makes another pool with as many processes, started in the same way."""
    workers = getattr(executor, "_max_workers", None)
    context = getattr(executor, "_mp_context", None)
    return lambda: type(executor)(workers, context)  # type: ignore[call-arg]


def _check_travels(evaluate: Evaluate) -> None:
    """Refuse a fitness that cannot be sent to another process."""
    try:
        pickle.dumps(evaluate)
    except Exception as problem:
        raise EvolveError(
            f"The fitness cannot be sent to other processes ({told(problem)}). Define it at the top of a module, or "
            "use a ThreadPoolExecutor."
        ) from problem
