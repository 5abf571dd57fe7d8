"""Continue a run: each generation is on the disk before the next one begins. Return its final state."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from memkit.evolution.account import account_of, failures_of
from memkit.evolution.answers import RecordedAnswers, RecordingProposer, open_proposers
from memkit.evolution.elsewhere import Elsewhere, RemoteEvaluator, confining, sandbox_of
from memkit.evolution.files import JudgedProgram, RunChanged
from memkit.evolution.folder import RunFolder
from memkit.evolution.judging import Judging
from memkit.evolution.record import Checkpoint, EvolutionSettings, FoundCheckpoint, RunRecord, write_record
from memkit.evolution.task import EvolutionTask
from memkit.llm.providers import StoreModels
from memkit.runtime.evolve.core import EvolutionarySearcher, EvolveError, Generation, Individual, Score, SearchSettings
from memkit.runtime.evolve.source.answers import ChangePrompt, PromptedProposer
from memkit.runtime.host.terminal import one_line

UNCONFINED = "nothing: programs run with the rights of whoever started the run (--unsafe)"
_AT_A_TIME = 4
"""The questions that one model works on at a time."""
EXPRESSION = "program"
"""The name under which the evaluator finds the function of a file that is one lambda expression and nothing else."""


class Workshop(AbstractContextManager["Workshop"]):
    """Owns what a run needs besides its folder, for the duration of a block."""

    def __init__(
        self,
        task: EvolutionTask,
        settings: EvolutionSettings,
        answers: RecordedAnswers,
        folder: Path,
        models: StoreModels | None = None,
    ) -> None:
        """Open everything, so that all errors are reported before anything is written.

        Relative file names of providers are relative to ``folder``.

        Raises:
            UsageError: The evaluator cannot be used or is not deterministic, or something granted does not exist.
            SandboxUnavailable: Programs cannot be confined here.
            EvolveError: The initial program cannot be varied.
        """
        self._task, self._settings = task, settings
        self._stack = ExitStack()
        try:
            opened = open_proposers(settings.providers, task, model=settings.model, folder=folder, models=models)
            proposers = [_recorded(each, answers, settings.budget) for each in opened]
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
        """Return the confinement in effect."""
        return UNCONFINED if self._sandbox is None else str(self._sandbox.report)

    def __exit__(self, *_exception: object) -> None:
        self._stack.close()

    @cached_property
    def _is_expression(self) -> bool:
        """Return whether the program is one lambda expression, which the search varies best."""
        try:
            return isinstance(ast.parse(self._task.seed.strip(), mode="eval").body, ast.Lambda)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False

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
        """Return threads that wait for evaluations, which are separate processes."""
        workers = max(self._settings.workers, self._elsewhere.workers if self._elsewhere else 1)
        if workers == 1:
            return None
        executor = ThreadPoolExecutor(workers)
        # Not by leaving its own block: that would wait for evaluations that are no longer needed after an interrupt.
        self._stack.callback(executor.shutdown, wait=False, cancel_futures=True)
        return executor


def _recorded(proposer: PromptedProposer, answers: RecordedAnswers, budget: Mapping[str, float]) -> RecordingProposer:
    """Return a proposer whose answers are stored; a script, which has no state, continues where it was."""
    if not proposer.name.startswith("scripted:"):
        return RecordingProposer(proposer, answers, budget, at_a_time=_AT_A_TIME)
    for _ in range(answers.count(proposer.name)):
        proposer.ask(ChangePrompt("", ""))
    return RecordingProposer(proposer, answers, budget)


@dataclass(frozen=True)
class Evolved:
    """The state of a run when its process ends."""

    run: str
    """Its folder, which contains everything."""
    program: str
    """The best program; the initial one if none has a valid score."""
    score: float | None
    metrics: Mapping[str, Any]
    generations: int
    evaluations: int
    stopped: str
    failures: Mapping[str, int]
    spent: Mapping[str, float]
    notes: tuple[str, ...] = ()

    @property
    def scored(self) -> bool:
        """Return whether any program has a valid score."""
        return self.score is not None

    def to_data(self) -> dict[str, Any]:
        """Return the data that ``--json`` prints."""
        return {
            "best": {"program": self.program, "score": self.score, "metrics": dict(self.metrics)},
            "generations": self.generations,
            "evaluations": self.evaluations,
            "run": self.run,
            "stopped": self.stopped,
            "failures": dict(self.failures),
            "spent": dict(self.spent),
        }


INTERRUPTED, GENERATIONS = "interrupted", "generations"
_REASON = 300
"""The most characters of a reason that are stored."""


@dataclass(frozen=True)
class Progress:
    """The state of the run after a generation."""

    generation: int
    generations: int
    best: float | None
    improved: bool
    evaluations: int
    seconds: float
    spent: Mapping[str, float]


@dataclass(frozen=True)
class Audience:
    """Observer of a run."""

    tell: Callable[[Progress], None] = lambda _progress: None
    """Called after each generation."""
    is_interrupted: Callable[[], bool] = lambda: False
    """Called before each generation; returns whether to stop there."""


class Evolution:
    """Continues one run, from its newest checkpoint or from the beginning."""

    def __init__(
        self,
        folder: RunFolder,
        searcher: EvolutionarySearcher,
        settings: EvolutionSettings,
        answers: RecordedAnswers,
        audience: Audience,
        clock: Callable[[], str] | None = None,
    ) -> None:
        self._clock = clock or now
        self._folder, self._searcher, self._settings = folder, searcher, settings
        self._answers, self._audience = answers, audience
        self._checkpoint: Checkpoint | None = None

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint, as if the run had never stopped."""
        self._searcher.restore(checkpoint.state)
        self._checkpoint = checkpoint

    def run(self, *, stopped: str | None = None) -> str:
        """Continue until there is a reason to stop, and return it; ``stopped`` is an earlier one that still holds.

        Raises:
            RunFault: A generation cannot be written; the previous one stands.
        """
        if stopped is None and self._checkpoint is not None:
            stopped = self._spent(self._checkpoint.generation)
        while stopped is None:
            if self._audience.is_interrupted():
                return INTERRUPTED
            stopped = self._next()
        return stopped

    def _spent(self, generation: int) -> str | None:
        """Return which limit of the run is used up, if any."""
        return GENERATIONS if generation >= self._settings.generations else self._answers.over(self._settings.budget)

    def _next(self) -> str | None:
        """Breed and judge one generation, write it to the disk, and return the reason to stop, if there is one."""
        before, started = self._checkpoint, time.monotonic()
        generation = self._searcher.generation()
        stopped = self._searcher.stopped or self._spent(generation.number)
        individuals = self._searcher.drain()
        self._folder.require_record()
        texts = {each.id: each.program for each in individuals if isinstance(each.program, str)}
        self._folder.texts.write(generation.number, texts)
        size = self._folder.individuals.append(map(_judged, individuals), at=before.journal_bytes if before else 0)
        state = self._searcher.state()
        checkpoint = Checkpoint(
            generation.number,
            self._clock(),
            size,
            _best(individuals, generation, before.best if before else None),
            generation.evaluations,
            self._searcher.reasons,
            round(time.monotonic() - started + (before.seconds if before else 0.0), 3),
            stopped,
            state,
            _archive(self._searcher, state["settings"]["features"]),
        )
        self._folder.checkpoints.write(checkpoint)
        self._checkpoint = checkpoint
        self._audience.tell(self._progress(checkpoint, before))
        return stopped

    def _progress(self, now: Checkpoint, before: Checkpoint | None) -> Progress:
        best = now.best or {}
        improved = best.get("id") != ((before.best if before else None) or {}).get("id")
        return Progress(
            now.generation,
            self._settings.generations,
            best.get("score"),
            improved,
            now.evaluations,
            now.seconds,
            self._answers.spent,
        )


def _judged(individual: Individual) -> JudgedProgram:
    score = individual.score
    return JudgedProgram(
        individual.id,
        individual.parents,
        individual.operation,
        individual.island,
        individual.generation,
        score.value,
        one_line(score.reason, _REASON),
        dict(score.metrics),
    )


def _best(
    individuals: Iterable[Individual], now: Generation, before: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return the best program so far with its id, in the form for a checkpoint."""
    if now.best_fitness is None:
        return None
    if before is not None and before["program"] == now.best_program:
        return dict(before)
    found = next(each for each in individuals if each.program == now.best_program and each.operation != "migrate")
    return {
        "id": found.id,
        "program": now.best_program,
        "score": now.best_fitness,
        "metrics": dict(found.score.metrics),
    }


def _archive(searcher: EvolutionarySearcher, grid: Mapping[str, float]) -> dict[str, Any]:
    """Return the map of diverse programs, each at the lower end of its cell."""
    cells = [
        {"place": [index * width for index, width in zip(cell, grid.values(), strict=True)], "id": each.id,
         "score": each.score.value}
        for cell, each in searcher.archive.items()
    ]  # fmt: skip
    return {"features": list(grid), "cells": cells}


_FOR_GOOD = {"target": "target", "patience": "patience", "exhausted": None}
"""Reasons to stop that still hold on resume, with the setting that would have to change."""


def carry_on(
    folder: RunFolder,
    record: RunRecord,
    searcher: EvolutionarySearcher,
    answers: RecordedAnswers,
    audience: Audience,
    found: FoundCheckpoint,
    *,
    seed: str,
) -> Evolved:
    """Continue a run from a checkpoint, if there is one, until there is a reason to stop.

    Raises:
        RunChanged: The task has changed so that the checkpoint does not fit it.
        RunFault: A generation cannot be written; the previous one stands.
    """
    evolution = Evolution(folder, searcher, record.settings, answers, audience)
    if found.checkpoint is not None:
        try:
            evolution.restore(found.checkpoint)
        except EvolveError as problem:
            raise RunChanged(
                f"The run {record.name} cannot continue with this task. {problem} Start a new run."
            ) from None
    if record != folder.record:
        write_record(folder.path, record)
    try:
        stopped = evolution.run(stopped=_still(found.checkpoint, record))
    except KeyboardInterrupt:  # within a generation, which is lost; the folder holds the previous one
        stopped = INTERRUPTED
    return _outcome(folder, seed, stopped, found.notes, answers)


def _still(checkpoint: Checkpoint | None, record: RunRecord) -> str | None:
    """Return why the run ended before, if nothing has changed about that since."""
    if checkpoint is None or checkpoint.stopped not in _FOR_GOOD:
        return None
    name = _FOR_GOOD[checkpoint.stopped]
    since = [str(change["what"]) for change in record.changes if change["after"] == checkpoint.generation]
    changed = any(what.startswith(("task:", f"{name}:")) for what in since)
    return None if changed else checkpoint.stopped


def _outcome(folder: RunFolder, seed: str, stopped: str, notes: tuple[str, ...], answers: RecordedAnswers) -> Evolved:
    account = account_of(folder)
    checkpoint = account.checkpoint
    best = checkpoint.best if checkpoint is not None else None
    return Evolved(
        run=str(folder.path),
        program=str(best["program"]) if best else seed,
        score=best["score"] if best else None,
        metrics=best["metrics"] if best else {},
        generations=checkpoint.generation if checkpoint else 0,
        evaluations=checkpoint.evaluations if checkpoint else 0,
        stopped=stopped,
        failures=failures_of(account.judged),
        spent=answers.spent,
        notes=notes,
    )


def now() -> str:
    """Return the time in its written form."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
