"""List the keys of a store that are on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memkit.workspace import Workspace


@dataclass(frozen=True)
class KeyOwner:
    """One user who has a key here."""

    mark: str
    """What stands for the user in file names."""
    user_id: str | None
    """None where the archive holds nothing of this user."""


@dataclass(frozen=True)
class KeyList:
    """The keys of a store on this machine."""

    key_id: str | None
    """None while the store has no keys at all."""
    folder: Path | None
    store: bool
    """Whether the store's own key is here."""
    users: tuple[KeyOwner, ...]


def list_keys(workspace: Workspace) -> KeyList:
    """Return which keys are here. No file names a user, so names come from the archive."""
    ring = workspace.keys
    marks = ring.users()
    names = {ring.mark(user): user for user in workspace.archive.users()} if marks else {}
    owners = tuple(KeyOwner(mark, names.get(mark)) for mark in marks)
    return KeyList(ring.key_id, ring.folder, ring.store_key() is not None, owners)
