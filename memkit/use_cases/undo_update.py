"""Take back the last update of a generated project."""

from __future__ import annotations

from pathlib import Path

from memkit.generate.manifest import ProjectFault
from memkit.generate.update.journal import Step, Updates
from memkit.use_cases.update_project import find_project


def undo_update(folder: Path | None) -> tuple[Path, list[Step]]:
    """Put back every file that the last update changed, and return the project and what the update had done.

    Raises:
        ProjectFault: An update was cut off.
        NotFound: There is no update to take back.
        NegativeAnswer: A file was edited since the update; nothing was changed.
    """
    updates = Updates(find_project(folder))
    if not updates.folder.is_dir():
        return updates.project, updates.undo()
    with updates.locked():
        if updates.interrupted is not None:
            raise ProjectFault(f"An update of {updates.project} was cut off. 'memkit update' takes it back first.")
        return updates.project, updates.undo()
