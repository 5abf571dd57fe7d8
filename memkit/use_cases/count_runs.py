"""Count how skills did when they were run."""

from __future__ import annotations

from memkit.errors import NotFound
from memkit.skills.runs import RunStatistics, statistics
from memkit.skills.skill import FOLDER
from memkit.store.layout import checked_name
from memkit.store.schema import suggestion
from memkit.workspace import Workspace


def count_runs(workspace: Workspace, name: str | None = None) -> list[RunStatistics]:
    """Return the statistics of one skill or of all: those that the store has, and those that were run and are gone.

    They are of this machine alone.

    Raises:
        NotFound: There is no skill ``name``, and none was ever run.
    """
    present = [path.stem for path in (workspace.root / FOLDER).glob("*.yaml")]
    known = sorted({*present, *workspace.skill_runs.names()})
    if name is not None and checked_name(name, "skill") not in known:
        raise NotFound(f"There is no skill {name!r}, and none was run.{suggestion(name, known)}")
    wanted = known if name is None else [name]
    return [statistics(each, workspace.skill_runs.runs(each)) for each in wanted]
