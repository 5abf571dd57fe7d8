"""Work on other machines, through an engine that offers ``concurrent.futures``: at present Dask.

For an evaluation, only a program and the path of its evaluator are sent, a path that the workers must also see;
only the evaluator's results return. Randomness, selection and all stored data stay here, so the result is
that of one worker.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import AbstractContextManager, ExitStack
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any

from memkit.errors import EnvironmentFault, MissingExtra, UsageError
from memkit.sandbox import Evaluation, Evaluator, Grants, Sandbox, SandboxLimits, Scratch

SCHEME = "dask://"
CONNECT_SECONDS = 10
_HELD = 4
"""The most evaluators that a worker keeps open."""
_opening = threading.Lock()


def require_executor(name: str) -> str:
    """Return the address in the name of an executor; raise ``UsageError`` for an invalid name."""
    host, _, port = name.removeprefix(SCHEME).rpartition(":")
    if not name.startswith(SCHEME) or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError(f"{name!r:.80} is not a known executor: give dask://HOST:PORT.")
    return f"tcp://{host}:{port}"


class Elsewhere(AbstractContextManager["Elsewhere"]):
    """The workers of a scheduler, for the duration of a block."""

    def __init__(self, name: str) -> None:
        """Connect.

        Raises:
            UsageError: The executor is unknown.
            MissingExtra: Its library is not installed.
            EnvironmentFault: The scheduler cannot be reached, or has no workers.
        """
        address = require_executor(name)
        try:
            import distributed
        except ImportError:
            raise MissingExtra(
                f"{name} needs a package: pip install distributed (the extra memkit-agent[dask])."
            ) from None
        self._stack = ExitStack()
        try:
            connect: Any = distributed.Client
            client = self._stack.enter_context(connect(address, timeout=CONNECT_SECONDS, set_as_default=False))
            threads = sum(client.nthreads().values())
        except (OSError, ValueError) as error:  # a timeout is an OSError
            why = str(error).partition("\n")[0] or type(error).__name__
            raise EnvironmentFault(f"The scheduler at {name} cannot be reached: {why}.".replace("..", ".")) from None
        if not threads:
            self._stack.close()
            raise EnvironmentFault(f"The scheduler at {name} has no workers yet. Start some: dask worker {address}.")
        self._name = name
        self.workers = threads
        self.executor: Executor = self._stack.enter_context(client.get_executor(pure=False))

    def answers(self, calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the result of each call, a function and its arguments, in order; a worker that dies is replaced.

        Raises:
            EnvironmentFault: The scheduler disappeared, or a call killed every worker that tried it.
        """
        from distributed import KilledWorker

        asked = [self.executor.submit(*call) for call in calls]
        try:
            for one in asked:
                yield one.result()
        except (KilledWorker, CancelledError, OSError) as error:
            why = str(error).partition("\n")[0][:200] or type(error).__name__
            raise EnvironmentFault(
                f"The workers of {self._name} did not finish: {why}. No partial result was kept."
            ) from None

    def __exit__(self, *_exception: object) -> None:
        self._stack.close()


class RemoteEvaluator:
    """An evaluator whose evaluations are done by workers."""

    def __init__(self, executor: Executor, file: Path, terms: tuple[Any, ...]) -> None:
        self._executor = executor
        self._of = (str(file.resolve()), terms)
        self.stages: tuple[str, ...] = executor.submit(stages_there, *self._of).result()

    def evaluate(self, program: str, **how: Any) -> Evaluation:
        """Return the evaluator's result for a program."""
        return self._executor.submit(evaluated_there, *self._of, program, how).result()

    def close(self) -> None:
        """Leave the workers what they hold: the next run of this task reuses it."""


def confining(settings: Any) -> tuple[Any, ...]:
    """Return the settings by which a worker confines programs."""
    return (settings.timeout, settings.memory, settings.modules, settings.scratch, settings.container, settings.unsafe)


def stages_there(file: str, terms: tuple[Any, ...]) -> tuple[str, ...]:
    """Return which functions the evaluator offers, on a worker."""
    return _held(file, terms).stages


def evaluated_there(file: str, terms: tuple[Any, ...], program: str, how: dict[str, Any]) -> Evaluation:
    """Return the evaluator's result for a program, on a worker."""
    return _held(file, terms).evaluate(program, **how)


def _held(file: str, terms: tuple[Any, ...]) -> Evaluator:
    with _opening:
        return _opened(file, terms, Path(file).stat().st_mtime_ns)


@lru_cache(_HELD)
def _opened(file: str, terms: tuple[Any, ...], _changed: int) -> Evaluator:
    return Evaluator(Path(file), None if terms[-1] else sandbox_of(*terms[:-1]))


def sandbox_of(
    timeout: float, memory: int, modules: tuple[str, ...], scratch: str | None, container: str | None
) -> Sandbox:
    """Return the sandbox of a run: a program's time and memory limits, and its grants."""
    limits = SandboxLimits(wall=timeout, cpu=max(1, ceil(timeout)), memory=memory << 20)
    return Sandbox(limits, Grants(modules=modules, scratch=Scratch(scratch) if scratch else None), container=container)
