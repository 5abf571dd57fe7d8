"""Bring a store to the format that this version writes."""

from __future__ import annotations

from dataclasses import dataclass

from memkit.store.config import DEFAULT, FORMAT
from memkit.store.migrations import UNSTATED, steps_from
from memkit.workspace import Workspace


@dataclass(frozen=True)
class Migration:
    """Where a store stood, where it stands, and what was done between."""

    before: int | None
    """The format that it stated, if any."""
    after: int
    steps: tuple[str, ...]
    commits: tuple[str, ...] = ()


def migrate_store(workspace: Workspace, *, dry_run: bool = False) -> Migration:
    """Take every step from the store's format to this version's, each as one commit; ``dry_run`` only names them.

    Raises:
        StoreFault: The store was written by a newer memkit.
        EnvironmentFault: A file cannot be written or committed; the steps before that one stand.
    """
    setting = workspace.settings.values["format"]
    before = None if setting.origin == DEFAULT else setting.value
    steps = steps_from(UNSTATED if before is None else before)
    commits = () if dry_run else tuple(filter(None, [step.apply(workspace.root) for step in steps]))
    return Migration(before, FORMAT, tuple(step.words for step in steps), commits)
