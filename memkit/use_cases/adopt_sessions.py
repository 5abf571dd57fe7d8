"""Go on with sessions that lie in a store and that this clone did not write."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memkit.errors import EnvironmentFault, NotFound, UsageError
from memkit.runtime.memory.log.clone import foreign_states, lock_file, state_folder
from memkit.runtime.memory.log.files import locked
from memkit.runtime.memory.log.shards import FOUNDED, LOCK_SECONDS
from memkit.store.allowances import FILE as KEYS
from memkit.workspace import Workspace

STAYS = ("erase", "updates", "checkpoints", "lock", "writer", FOUNDED, "pending", KEYS)
"""What would be carried out or gone on with unasked, and what is of one clone alone."""
WHOLE = ("access",)
"""Folders whose files cannot be mixed with others."""


@dataclass(frozen=True)
class Foreign:
    """The state of somebody else, such as of the store that this one is a copy of."""

    state: Path
    files: int

    @property
    def name(self) -> str:
        """Return what it is called, which says nothing."""
        return self.state.name


@dataclass(frozen=True)
class Adopted:
    """What was taken over."""

    foreign: Foreign
    left: int
    """Files that stay where they are: this clone has its own of that name, or nobody may go on with them."""


def adopt_sessions(workspace: Workspace, name: str | None, *, agree: Callable[[Foreign], None]) -> Adopted:
    """Move the sessions, turns, counts, runs and events of somebody else's state to this clone's own.

    An erasure or an update that was cut off there, and the open steps of a turn, stay and are never carried out.

    Args:
        workspace: The store.
        name: Which, where there are several.
        agree: Asks the person, who vouches for it, and raises when the answer is no.

    Raises:
        NotFound: There is none of that name.
        UsageError: There are several, or it holds something that is no file, such as a link.
        EnvironmentFault: This clone has no place of its own to move it to.
    """
    own = state_folder(workspace.root)
    if not own.is_dir() or not own.is_relative_to(workspace.root):
        raise EnvironmentFault("This clone has no place of its own to keep sessions in: 'memkit doctor' says why.")
    foreign = _meant(workspace.root, name)
    for path in _entries(foreign.state):
        if path.is_symlink() or not path.is_file():
            raise UsageError(f"{path} is no file. Look at it and delete it before anything here is taken over.")
    agree(foreign)
    with locked(lock_file(workspace.root), timeout=LOCK_SECONDS):
        for path in sorted(foreign.state.iterdir()):
            if path.name not in STAYS:
                _merge(path, own / path.name)
    workspace.audit.append({"event": "adopted", "actor": "person", "reason": foreign.name})
    return Adopted(foreign, sum(1 for _ in _entries(foreign.state)))


def _meant(root: Path, name: str | None) -> Foreign:
    counted = (Foreign(state, sum(1 for _ in _entries(state))) for state in foreign_states(root))
    found = [foreign for foreign in counted if foreign.files]
    known = ", ".join(each.name for each in found)
    fitting = [each for each in found if name in (None, each.name)]
    if not fitting:
        raise NotFound(f"Nothing foreign lies here{f' by the name {name!r:.60}' if name else ''}. {known}".rstrip())
    if len(fitting) > 1:
        raise UsageError(f"The state of several clones lies here. Say which: {known}.")
    return fitting[0]


def _merge(source: Path, target: Path) -> None:
    """Move what is not there yet, and leave the rest."""
    if not os.path.lexists(target):
        source.rename(target)
    elif source.is_dir() and target.is_dir() and source.name not in WHOLE:
        for path in sorted(source.iterdir()):
            _merge(path, target / path.name)
        if not any(source.iterdir()):
            source.rmdir()


def _entries(folder: Path) -> Iterator[Path]:
    """Yield everything below a folder that is no folder itself."""
    return (path for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir())
