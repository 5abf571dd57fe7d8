"""Work about many users: here as one part, or in parts that an engine's workers carry out, with the same result.

A worker opens the store by its path, which must be visible to it, and returns the result of its part; results that
are kept are written here. So a worker that dies has written nothing, and its part is repeated.
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
"""Parts per worker thread: with several, one slow part delays less."""


def in_parts(
    workspace: Workspace, names: Sequence[str], work: Callable[..., Answer], *given: Any, executor: str | None = None
) -> Iterator[Answer]:
    """Yield the results of ``work(workspace, names, *given)`` for each part of ``names``, in order.

    Raises:
        UsageError: The executor is unknown.
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
    """Return the result of a part, on a worker."""
    with open_workspace(Path(root), clock=lambda: now) as workspace:
        return work(workspace, names, *given)
