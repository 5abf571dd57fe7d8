"""Evolve a program, resume a run, and report its results."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from memkit import __version__
from memkit.errors import UsageError
from memkit.evolution.account import EvolutionAccount, account_of
from memkit.evolution.answers import RecordedAnswers
from memkit.evolution.carrying import Audience, Evolved, Workshop, carry_on, now
from memkit.evolution.files import RunChanged
from memkit.evolution.folder import RunFolder, find_run, new_run_name, runs_folder
from memkit.evolution.record import (
    EvolutionSettings,
    FoundCheckpoint,
    RunRecord,
    differences,
    digests,
    settle,
    task_files,
)
from memkit.evolution.task import EVALUATOR, EvolutionTask, find_task
from memkit.llm.providers import StoreModels
from memkit.runtime.host.terminal import counted
from memkit.sandbox import usable_runtime
from memkit.store.files import write_whole
from memkit.store.layout import MANIFEST
from memkit.store.trust import Trust


@dataclass(frozen=True)
class EvolutionRequest:
    """The task of an evolution, and its settings."""

    program: Path
    """A program, or a folder with ``initial_program.py`` and ``evaluator.py``."""
    evaluator: Path | None
    settings: Mapping[str, Any]
    """Given fields of ``EvolutionSettings``; the others come from the task or the defaults."""
    out: Path | None = None
    """The run's folder; None for a new one in the usual place."""
    command: tuple[str, ...] = ()


def evolve_program(request: EvolutionRequest, *, root: Path | None = None, audience: Audience | None = None) -> Evolved:
    """Search for a better program in a new run, and return the run's final state.

    Args:
        request: What to evolve, and how.
        root: The store whose state holds the run; without one it is below the current folder.
        audience: Who watches.

    Raises:
        NotTrusted: Code that would run unconfined is in a store, and nobody trusted it.
        UsageError: The task is invalid.
        EvolveError: The initial program cannot be varied.
        SandboxUnavailable: Programs cannot be confined here.
        RunFault: The run cannot be written.
    """
    task = find_task(request.program, request.evaluator)
    settings = _with_runtime(settle(request.settings, task))
    named = request.evaluator or request.program / EVALUATOR
    require_trusted_task(task, named, unsafe=settings.unsafe)
    files = task_files(task.program, task.evaluator, task.folder)
    places = runs_folder(root)
    path = request.out or places / new_run_name(task.name, datetime.now(UTC), places)
    folder = RunFolder(path.absolute())
    folder.require_free()
    answers = RecordedAnswers(folder.path, price=settings.price)
    here = Path.cwd()
    with Workshop(task, settings, answers, here, StoreModels.of(root)) as workshop, folder.held():
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


def require_trusted_task(task: EvolutionTask, named: Path | None = None, *, unsafe: bool) -> None:
    """Raise ``NotTrusted`` if code that would run unconfined is in a store that nobody trusted.

    ``named`` is the evaluator's path as given, which may be a link that leads out of a store.
    """
    places = [task.evaluator] if named is None else [task.evaluator, named.parent.resolve() / named.name]
    for path in places:
        if (root := _store_of(path)) is not None:
            Trust(root).require_evaluator(path)
    if unsafe and (root := _store_of(task.program)) is not None:
        Trust(root).require(f"{task.program.name} is in a store and would run unconfined")


def _store_of(path: Path) -> Path | None:
    return next((folder for folder in path.parents if (folder / MANIFEST).is_file()), None)


def _with_runtime(settings: EvolutionSettings) -> EvolutionSettings:
    """Return settings that name the runtime, so that a run resumed elsewhere requires the same one."""
    if settings.container != "auto":
        return settings
    return replace(settings, container=usable_runtime().name)


def _beginning(task: EvolutionTask) -> FoundCheckpoint:
    """Return an empty checkpoint, with notes on settings of the task that have no effect here."""
    ignored = task.settings.ignored
    return FoundCheckpoint(None, (f"Ignored settings of the task: {'; '.join(ignored)}.",) if ignored else ())


def _versions(modules: tuple[str, ...]) -> dict[str, str]:
    """Return the versions of everything that a result may depend on."""
    found = {"memkit": __version__, "python": platform.python_version(), "system": platform.platform()}
    for name in modules:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # a module whose distribution has another name
            found[name] = "unknown"
    return found


def resume_evolution(
    run: str,
    changes: Mapping[str, Any],
    *,
    accept_changes: bool = False,
    root: Path | None = None,
    audience: Audience | None = None,
) -> Evolved:
    """Resume a run as if it had never stopped, and return its final state.

    Args:
        run: Its name, its folder, or ``latest``.
        changes: Settings that differ from now on.
        accept_changes: Resume although program or evaluator changed; the run records it.
        root: The store whose state holds the runs.
        audience: Who watches.

    Raises:
        NotTrusted: Code that would run unconfined is in a store, and nobody trusted it.
        NotFound: There is no such run.
        RunChanged: The task changed since the run began.
        UsageError: The run already has more generations than requested.
        RunBusy: Another process is working on it.
        RunFault: It is damaged, or was written by a newer memkit.
    """
    folder = find_run(run, root)
    with folder.held():
        found, record = folder.newest(), folder.record
        after = found.checkpoint.generation if found.checkpoint else 0
        folder.individuals.require_whole(size=found.checkpoint.journal_bytes if found.checkpoint else 0)
        task = find_task(Path(record.folder or record.program), Path(record.evaluator))
        require_trusted_task(task, unsafe=record.settings.unsafe)
        record = _with_task(record, task, after, accept_changes)
        _require_further(record, changes, after)
        record = _with_settings(record, changes, after)
        answers = RecordedAnswers(folder.path, price=record.settings.price)
        here, models = Path(record.started_in), StoreModels.of(root)
        with Workshop(task, record.settings, answers, here, models) as workshop:
            return carry_on(folder, record, workshop.searcher, answers, audience or Audience(), found, seed=task.seed)


def _with_task(record: RunRecord, task: EvolutionTask, after: int, accept_changes: bool) -> RunRecord:
    """Return the record if the task is unchanged, or its changes are accepted."""
    current = digests(task_files(task.program, task.evaluator, task.folder))
    changed = differences(record.digests, current)
    if not changed:
        return record
    named = ", ".join(changed)
    if not accept_changes:
        raise RunChanged(
            f"Changed since the run began: {named}. Scores before and after would not be comparable. Restore the "
            "files (copies are in the run's folder, in task/), start a new run, or give --accept-changes."
        )
    return replace(record.changed(now(), after, f"task: {named}"), digests=current)


def _require_further(record: RunRecord, changes: Mapping[str, Any], after: int) -> None:
    """Raise if the number of generations counts only those to come, not those of the whole run."""
    asked = changes.get("generations", after)
    if asked < after:
        raise UsageError(
            f"The run {record.name} already has {counted(after, 'generation')}, and --generations {asked} is the "
            f"total. Give the total it should reach, such as {after + asked}."
        )


def _with_settings(record: RunRecord, changes: Mapping[str, Any], after: int) -> RunRecord:
    """Return the record with changed settings, each noted."""
    for name, value in changes.items():
        before = getattr(record.settings, name)
        if name == "budget":
            value = {**before, **value}
        if before != value:
            record = record.changed(now(), after, f"{name}: {before} → {value}")
            record = replace(record, settings=replace(record.settings, **{name: value}))
    return record


def read_evolution(run: str, *, root: Path | None = None) -> EvolutionAccount:
    """Return the account of a run, by its name, its path or ``latest``; an active run is not disturbed.

    Raises:
        NotFound: There is no such run.
        RunFault: It is damaged, or was written by a newer memkit.
    """
    return account_of(find_run(run, root))


def report_evolution(run: str, out: Path | None = None, *, root: Path | None = None) -> Path:
    """Write a run's page, by default into its own folder, and return its path.

    Raises:
        NotFound: There is no such run.
        EnvironmentFault: The run is damaged, or the file cannot be written.
    """
    from memkit.evolution.report import page

    folder = find_run(run, root)
    path = out if out is not None else folder.path / "report.html"
    write_whole(path, page(account_of(folder)).encode("utf-8", "backslashreplace"))
    return path
