"""Evaluate many programs on any ``concurrent.futures.Executor``, and tell the scores in the order of asking."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future

from .errors import EvolveError
from .interface import Program, Score
from .scoring import told

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
        """Return the promise of a score."""
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
