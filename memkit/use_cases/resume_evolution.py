"""Go on with a run of evolution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.evolution.answers import RecordedAnswers
from memkit.evolution.carrying import Audience, Evolved, carry_on, now
from memkit.evolution.files import RunChanged
from memkit.evolution.folder import find_run
from memkit.evolution.record import RunRecord, differences, digests, task_files
from memkit.evolution.task import EvolutionTask, find_task
from memkit.evolution.workshop import Workshop
from memkit.llm.patience import Patience
from memkit.terminal import counted


def resume_evolution(
    run: str,
    changes: Mapping[str, Any],
    *,
    accept_changes: bool = False,
    root: Path | None = None,
    audience: Audience | None = None,
) -> Evolved:
    """Go on with a run as if it had never stopped, and return how it stands in the end.

    Args:
        run: Its name, its folder, or ``latest``.
        changes: Settings that are others from now on.
        accept_changes: Go on although program or evaluator changed; the run says so.
        root: The store in whose state runs lie.
        audience: Who watches.

    Raises:
        NotFound: There is no such run.
        RunChanged: The task changed since the run began.
        UsageError: The run has more generations already than it is to have.
        RunBusy: Another process is at work on it.
        RunFault: It is damaged, or of a newer memkit.
    """
    folder = find_run(run, root)
    with folder.held():
        found, record = folder.newest(), folder.record
        after = found.checkpoint.generation if found.checkpoint else 0
        folder.individuals.require_whole(size=found.checkpoint.journal_bytes if found.checkpoint else 0)
        task = find_task(Path(record.folder or record.program), Path(record.evaluator))
        record = _with_task(record, task, after, accept_changes)
        _require_further(record, changes, after)
        record = _with_settings(record, changes, after)
        answers = RecordedAnswers(folder.path, price=record.settings.price)
        here, models = Path(record.started_in), Patience.of_store(root)
        with Workshop(task, record.settings, answers, here, models) as workshop:
            return carry_on(folder, record, workshop.searcher, answers, audience or Audience(), found, seed=task.seed)


def _with_task(record: RunRecord, task: EvolutionTask, after: int, accept_changes: bool) -> RunRecord:
    """Return the record of a task that is the same, or that may be another."""
    current = digests(task_files(task.program, task.evaluator, task.folder))
    changed = differences(record.digests, current)
    if not changed:
        return record
    named = ", ".join(changed)
    if not accept_changes:
        raise RunChanged(
            f"Changed since the run began: {named}. Scores before and after would not compare. Put the files back "
            "(copies lie in the run's folder, in task/), begin a new run, or say --accept-changes."
        )
    return replace(record.changed(now(), after, f"task: {named}"), digests=current)


def _require_further(record: RunRecord, changes: Mapping[str, Any], after: int) -> None:
    """Raise where somebody counts the generations to come, and not those of the whole run."""
    asked = changes.get("generations", after)
    if asked < after:
        raise UsageError(
            f"The run {record.name} has {counted(after, 'generation')} already, and --generations {asked} counts those "
            f"of the whole run. Say how many it is to have in the end, such as {after + asked}."
        )


def _with_settings(record: RunRecord, changes: Mapping[str, Any], after: int) -> RunRecord:
    """Return the record with other settings, each noted."""
    for name, value in changes.items():
        before = getattr(record.settings, name)
        if name == "budget":
            value = {**before, **value}
        if before != value:
            record = record.changed(now(), after, f"{name}: {before} → {value}")
            record = replace(record, settings=replace(record.settings, **{name: value}))
    return record
