"""Evolve a program, judged by nothing but its evaluator."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from memkit import __version__
from memkit.evolution.answers import RecordedAnswers
from memkit.evolution.carrying import Audience, Evolved, carry_on, now
from memkit.evolution.folder import RunFolder, new_run_name, runs_folder
from memkit.evolution.record import EvolutionSettings, FoundCheckpoint, RunRecord, digests, settle, task_files
from memkit.evolution.task import EvolutionTask, find_task
from memkit.evolution.workshop import Workshop
from memkit.llm.patience import Patience
from memkit.sandbox import usable_runtime


@dataclass(frozen=True)
class EvolutionRequest:
    """What is to be evolved, and how."""

    program: Path
    """A program, or a folder with ``initial_program.py`` and ``evaluator.py``."""
    evaluator: Path | None
    settings: Mapping[str, Any]
    """Fields of ``Settings`` that were said; the others are the task's or the usual ones."""
    out: Path | None = None
    """The run's folder; None for a new one where runs belong."""
    command: tuple[str, ...] = ()


def evolve_program(request: EvolutionRequest, *, root: Path | None = None, audience: Audience | None = None) -> Evolved:
    """Search for a better program in a run of its own, and return how that run stands in the end.

    Args:
        request: What is to be evolved, and how.
        root: The store in whose state the run lies; without one it lies below the current folder.
        audience: Who watches.

    Raises:
        UsageError: The task makes no sense.
        EvolveError: The program to start from is none that can be varied.
        SandboxUnavailable: Programs cannot be confined here.
        RunFault: The run cannot be written.
    """
    task = find_task(request.program, request.evaluator)
    settings = _with_runtime(settle(request.settings, task))
    files = task_files(task.program, task.evaluator, task.folder)
    places = runs_folder(root)
    path = request.out or places / new_run_name(task.name, datetime.now(UTC), places)
    folder = RunFolder(path.absolute())
    folder.require_free()
    answers = RecordedAnswers(folder.path, price=settings.price)
    here = Path.cwd()
    with Workshop(task, settings, answers, here, Patience.of_store(root)) as workshop, folder.held():
        record = RunRecord(
            name=folder.path.name,
            made_at=now(),
            command=request.command,
            started_in=str(here),
            program=str(task.program),
            evaluator=str(task.evaluator),
            folder=str(task.folder) if task.folder is not None else None,
            digests=digests(files),
            settings=settings,
            versions=_versions(settings.modules),
            sandbox=workshop.confinement,
        )
        folder.begin(record, files)
        return carry_on(
            folder, record, workshop.searcher, answers, audience or Audience(), _beginning(task), seed=task.seed
        )


def _with_runtime(settings: EvolutionSettings) -> EvolutionSettings:
    """Return settings that name the runtime: a run that goes on elsewhere asks for the same one."""
    if settings.container != "auto":
        return settings
    return replace(settings, container=usable_runtime().name)


def _beginning(task: EvolutionTask) -> FoundCheckpoint:
    """Return that there is no checkpoint, and what of the task's settings says nothing here."""
    ignored = task.settings.ignored
    return FoundCheckpoint(None, (f"Left aside of the task's settings: {'; '.join(ignored)}.",) if ignored else ())


def _versions(modules: tuple[str, ...]) -> dict[str, str]:
    """Return the versions of what a result may depend on."""
    found = {"memkit": __version__, "python": platform.python_version(), "system": platform.platform()}
    for name in modules:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # a module whose distribution has another name
            found[name] = "unknown"
    return found
