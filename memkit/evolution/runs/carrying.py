"""Carry a run on with everything it needs, and say how it stands in the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from memkit.evolution.runs.account import account_of
from memkit.evolution.runs.answers import Answers
from memkit.evolution.runs.checkpoints import Checkpoint, Found
from memkit.evolution.runs.errors import RunChanged
from memkit.evolution.runs.evolution import INTERRUPTED, Evolution, Progress, Watch
from memkit.evolution.runs.folder import RunFolder
from memkit.evolution.runs.outcome import Evolved
from memkit.evolution.runs.record import RunRecord
from memkit.evolution.runs.status import failures_of
from memkit.runtime.evolve.core import EvolutionarySearcher, EvolveError

_FOR_GOOD = {"target": "target", "patience": "patience", "exhausted": None}
"""Reasons to stop that hold on resume, with the setting that would have to be another one."""


@dataclass(frozen=True)
class Audience:
    """Who watches a run."""

    tell: Callable[[Progress], None] = lambda _progress: None
    """Is called after each generation."""
    is_interrupted: Callable[[], bool] = lambda: False
    """Is asked before each generation whether to stop there."""


def carry_on(
    folder: RunFolder,
    record: RunRecord,
    searcher: EvolutionarySearcher,
    answers: Answers,
    audience: Audience,
    found: Found,
    *,
    seed: str,
) -> Evolved:
    """Carry a run on from a checkpoint, if there is one, until there is a reason to stop.

    Raises:
        RunChanged: The task has become one that the checkpoint does not fit.
        RunFault: The disk does not take a generation; the one before stands.
    """
    watch = Watch(
        clock=now,
        tell=audience.tell,
        is_interrupted=audience.is_interrupted,
        spent=lambda: answers.spent,
        used_up=lambda: answers.over(record.settings.budget),
    )
    evolution = Evolution(folder, searcher, record.settings, watch)
    if found.checkpoint is not None:
        try:
            evolution.restore(found.checkpoint)
        except EvolveError as problem:
            raise RunChanged(f"The run {record.name} cannot go on with this task. {problem} Begin a new run.") from None
    if record != folder.record:
        folder.write_record(record)
    try:
        stopped = evolution.run(stopped=_still(found.checkpoint, record))
    except KeyboardInterrupt:  # within a generation, which is lost; the folder holds the one before
        stopped = INTERRUPTED
    return _outcome(folder, seed, stopped, found.notes, answers)


def _still(checkpoint: Checkpoint | None, record: RunRecord) -> str | None:
    """Return why the run ended before, where nothing has changed about it since."""
    if checkpoint is None or checkpoint.stopped not in _FOR_GOOD:
        return None
    name = _FOR_GOOD[checkpoint.stopped]
    since = [str(change["what"]) for change in record.changes if change["after"] == checkpoint.generation]
    changed = any(what.startswith(("task:", f"{name}:")) for what in since)
    return None if changed else checkpoint.stopped


def _outcome(folder: RunFolder, seed: str, stopped: str, notes: tuple[str, ...], answers: Answers) -> Evolved:
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
    """Return the time as it is written down."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
