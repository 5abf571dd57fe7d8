"""What a run works with, open together: the sandbox, the evaluator, the models, the workers and the search."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Self

from memkit.evolution.answers import RecordedAnswers, RecordingProposer, open_proposers
from memkit.evolution.elsewhere import Elsewhere, RemoteEvaluator, confining, sandbox_of
from memkit.evolution.judging import Judging
from memkit.evolution.record import EvolutionSettings
from memkit.evolution.task import EvolutionTask
from memkit.llm.providers import StoreModels
from memkit.runtime.evolve.core import EvolutionarySearcher, Score, SearchSettings
from memkit.runtime.evolve.source.answers import ChangePrompt, PromptedProposer

UNCONFINED = "nothing: programs run with the rights of who began the run (--unsafe)"
_AT_A_TIME = 4
"""Questions that one model works on."""
EXPRESSION = "program"
"""What the function is called, for the evaluator, of a file that is one lambda expression and nothing else."""


class Workshop:
    """Owns what a run needs beside its folder, for the time of a block."""

    def __init__(
        self,
        task: EvolutionTask,
        settings: EvolutionSettings,
        answers: RecordedAnswers,
        folder: Path,
        models: StoreModels | None = None,
    ) -> None:
        """Open everything, so that whatever is wrong with it is said before anything is written.

        Relative file names of providers start in ``folder``.

        Raises:
            UsageError: The evaluator cannot be used or is not deterministic, or something is granted that is not there.
            SandboxUnavailable: Programs cannot be confined here.
            EvolveError: The program to start from is none that can be varied.
        """
        self._task, self._settings = task, settings
        self._stack = ExitStack()
        try:
            proposers = [_recorded(each, answers, settings.budget) for each in self._proposers(folder, models)]
            self._sandbox = (
                None if settings.unsafe else self._stack.enter_context(sandbox_of(*confining(settings)[:-1]))
            )
            self._elsewhere = self._stack.enter_context(Elsewhere(settings.executor)) if settings.executor else None
            self._judging = self._stack.enter_context(self._judge())
            self._judging.begin()
            self.searcher = self._search(proposers)
        except BaseException:
            self._stack.close()
            raise

    @property
    def confinement(self) -> str:
        """Return which means of confinement hold."""
        return UNCONFINED if self._sandbox is None else str(self._sandbox.report)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stack.close()

    @cached_property
    def _is_expression(self) -> bool:
        """Tell whether the program is one lambda expression, which the search knows to vary best."""
        try:
            return isinstance(ast.parse(self._task.seed.strip(), mode="eval").body, ast.Lambda)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False

    def _proposers(self, folder: Path, models: StoreModels | None) -> list[PromptedProposer]:
        settings = self._settings
        return open_proposers(settings.providers, self._task, model=settings.model, folder=folder, models=models)

    def _judge(self) -> Judging:
        settings = self._settings
        task = replace(self._task, seed=self._module(self._task.seed))
        there = None
        if self._elsewhere is not None:
            there = RemoteEvaluator(self._elsewhere.executor, task.evaluator, confining(settings))
        return Judging(
            task, self._sandbox, seed=settings.seed, timeout=settings.timeout, minimize=settings.minimize, there=there
        )

    def _module(self, program: str) -> str:
        return f"{EXPRESSION} = (\n{program}\n)\n" if self._is_expression else program

    def _fitness(self, program: str) -> Score:
        return self._judging(self._module(program))

    def _confirm(self, program: str) -> Score:
        return self._judging.confirm(self._module(program))

    def _search(self, proposers: Sequence[RecordingProposer]) -> EvolutionarySearcher:
        settings = self._settings
        return EvolutionarySearcher(
            self._task.seed.strip() if self._is_expression else None,
            fitness=self._fitness,
            population_size=settings.population,
            minimize=settings.minimize,
            seed=settings.seed,
            settings=SearchSettings(
                species=None if self._is_expression else self._task.species(),
                confirm=self._confirm,
                target_fitness=settings.target,
                patience=settings.patience,
                islands=settings.islands,
                proposers=proposers,
                executor=self._executor(),
            ),
        )

    def _executor(self) -> Executor | None:
        """Return threads that wait for evaluations, which are processes of their own."""
        workers = max(self._settings.workers, self._elsewhere.workers if self._elsewhere else 1)
        if workers == 1:
            return None
        executor = ThreadPoolExecutor(workers)
        # Not by leaving its own block: that would wait for evaluations that nobody wants any more after an interrupt.
        self._stack.callback(executor.shutdown, wait=False, cancel_futures=True)
        return executor


def _recorded(proposer: PromptedProposer, answers: RecordedAnswers, budget: Mapping[str, float]) -> RecordingProposer:
    """Return a proposer whose answers are kept; a script, which has no memory, goes on where it was."""
    if not proposer.name.startswith("scripted:"):
        return RecordingProposer(proposer, answers, budget, at_a_time=_AT_A_TIME)
    for _ in range(answers.count(proposer.name)):
        proposer.ask(ChangePrompt("", ""))
    return RecordingProposer(proposer, answers, budget)
