"""A run under way: each generation is on the disk before the next one begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from memkit.evolution.runs.checkpoints import Checkpoint
from memkit.evolution.runs.folder import RunFolder
from memkit.evolution.runs.individuals import Judged
from memkit.evolution.runs.record import Settings
from memkit.runtime.evolve.core import EvolutionarySearcher, Generation, Individual
from memkit.terminal import one_line

INTERRUPTED, GENERATIONS = "interrupted", "generations"
_REASON = 300
"""Characters of a reason that are kept."""


@dataclass(frozen=True)
class Progress:
    """How the run stands after a generation."""

    generation: int
    generations: int
    best: float | None
    improved: bool
    evaluations: int
    seconds: float
    spent: Mapping[str, float]


@dataclass(frozen=True)
class Watch:
    """What the run is told and tells while it is at work."""

    clock: Callable[[], str]
    """The time, as it is written down."""
    tell: Callable[[Progress], None] = lambda _progress: None
    is_interrupted: Callable[[], bool] = lambda: False
    """Whether somebody wants it to end after this generation."""
    spent: Callable[[], Mapping[str, float]] = dict
    used_up: Callable[[], str | None] = lambda: None
    """Which budget of the models is used up."""


class Evolution:
    """Carries one run on, from its newest checkpoint or from the beginning."""

    def __init__(self, folder: RunFolder, searcher: EvolutionarySearcher, settings: Settings, watch: Watch) -> None:
        self._folder, self._searcher, self._settings, self._watch = folder, searcher, settings, watch
        self._checkpoint: Checkpoint | None = None

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint, as if the run had never stopped."""
        self._searcher.restore(checkpoint.state)
        self._checkpoint = checkpoint

    def run(self, *, stopped: str | None = None) -> str:
        """Carry on until there is a reason to stop, and return it.

        Args:
            stopped: Why the run ended before, where that still holds.

        Raises:
            RunFault: The disk does not take a generation; the one before stands.
        """
        if stopped is None and self._checkpoint is not None:
            stopped = self._spent(self._checkpoint.generation)
        while stopped is None:
            if self._watch.is_interrupted():
                return INTERRUPTED
            stopped = self._next()
        return stopped

    def _spent(self, generation: int) -> str | None:
        """Return what the run was allowed and has used, if that is so."""
        return GENERATIONS if generation >= self._settings.generations else self._watch.used_up()

    def _next(self) -> str | None:
        """Breed and judge one generation, put it on the disk, and return the reason to stop, if there is one."""
        before, started = self._checkpoint, time.monotonic()
        generation = self._searcher.generation()
        stopped = self._searcher.stopped or self._spent(generation.number)
        individuals = self._searcher.drain()
        self._folder.require_record()
        self._folder.texts.write(generation.number, _texts(individuals))
        size = self._folder.individuals.append(map(_judged, individuals), at=before.journal_bytes if before else 0)
        state = self._searcher.state()
        checkpoint = Checkpoint(
            generation.number,
            self._watch.clock(),
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
        self._watch.tell(self._progress(checkpoint, before))
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
            self._watch.spent(),
        )


def _texts(individuals: Iterable[Individual]) -> dict[str, str]:
    return {each.id: each.program for each in individuals if isinstance(each.program, str)}


def _judged(individual: Individual) -> Judged:
    score = individual.score
    return Judged(
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
    """Return the best program so far with its id, as the generation tells it."""
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
