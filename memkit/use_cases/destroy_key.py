"""Destroy the key of a user, so that nobody on this machine reads what was sealed with it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass

from memkit.errors import NotFound
from memkit.workspace import Workspace


@dataclass(frozen=True)
class KeyDestroyed:
    """What became of the sealed text of a user."""

    user_id: str
    records: int
    """Records whose text cannot be read any more on this machine."""
    remotes: tuple[str, ...]
    """Where clones come from that may be on machines with the same key."""


def destroy_key(workspace: Workspace, user: str, *, confirm: Callable[[], None]) -> KeyDestroyed:
    """Delete the key of ``user`` from this machine, with the index that shows the sealed text in clear.

    Args:
        workspace: The store.
        user: Whose key it is.
        confirm: Asks a person; raises where the answer is no.

    Raises:
        NotFound: There is no such key here.
    """
    ring = workspace.keys
    if ring.user_key(user) is None:
        raise NotFound(f"No key of {user!r} is on this machine.")
    confirm()
    ring.destroy(user)
    workspace.archive.forget_index(user)
    shutil.rmtree(workspace.cache / "at", ignore_errors=True)  # what past commits held, opened for looking back
    workspace.audit.append({"event": "key", "actor": "person", "user_id": user, "reason": "destroyed"})
    remotes = workspace.git.run("remote", check=False).split()
    return KeyDestroyed(user, workspace.archive.sealed(user), tuple(remotes))
