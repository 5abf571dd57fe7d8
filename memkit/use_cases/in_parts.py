"""Work about many users: here as one part, or in parts that an engine's workers carry out, with the same result.

A worker opens the store by its path, which it has to see as this process does, and hands back what came of its part;
what is kept is written here. So a worker that dies in the middle has written nothing, and its part is done again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from math import ceil
from pathlib import Path
from typing import Any, TypeVar

from memkit.workspace import Workspace, open_workspace

Answer = TypeVar("Answer")
PARTS = 2
"""So many for each thread of a worker: one that is slower than others holds up less."""


def in_parts(
    workspace: Workspace, names: Sequence[str], work: Callable[..., Answer], *given: Any, executor: str | None = None
) -> Iterator[Answer]:
    """Yield what ``work(workspace, names, *given)`` returns for each part of ``names``, in their order.

    Raises:
        UsageError: Nobody knows such an executor.
        EnvironmentFault: Its scheduler cannot be reached, or lost a part too often.
    """
    if executor is None:
        yield work(workspace, names, *given)
        return
    from memkit.evolution.elsewhere import Elsewhere

    with Elsewhere(executor) as there:
        size = max(1, ceil(len(names) / (PARTS * there.workers)))
        parts = [names[start : start + size] for start in range(0, len(names), size)]
        told = (str(workspace.root), workspace.clock())
        yield from there.answers([(_carried_out, work, *told, part, given) for part in parts])


def _carried_out(work: Callable[..., Answer], root: str, now: datetime, names: Sequence[str], given: Any) -> Answer:
    """Return what a part comes to, on a worker."""
    with open_workspace(Path(root), clock=lambda: now) as workspace:
        return work(workspace, names, *given)
