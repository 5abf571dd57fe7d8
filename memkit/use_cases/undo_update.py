"""Take back the last update of a generated project."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memkit.generate.manifest import ProjectFault
from memkit.generate.update.updates import UpdateJournal, Updates
from memkit.use_cases.update_project import find_project


@dataclass(frozen=True)
class UndoneUpdate:
    """An update that was taken back."""

    project: Path
    journal: UpdateJournal
    """What it had done."""


def undo_update(folder: Path | None) -> UndoneUpdate:
    """Put back every file that the last update of the project at ``folder``, or around it, changed.

    Raises:
        ProjectFault: An update was cut off.
        NotFound: There is no update to take back.
        NegativeAnswer: A file was edited since the update; nothing was changed.
    """
    updates = Updates(find_project(folder))
    if not updates.folder.is_dir():
        return UndoneUpdate(updates.project, updates.undo())
    with updates.locked():
        if updates.interrupted is not None:
            raise ProjectFault(f"An update of {updates.project} was cut off. 'memkit update' takes it back first.")
        return UndoneUpdate(updates.project, updates.undo())
