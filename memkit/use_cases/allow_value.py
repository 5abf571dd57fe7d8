"""Let a value that was rejected or erased be told again."""

from __future__ import annotations

from memkit.errors import NotFound
from memkit.runtime.memory.interface import Tombstone
from memkit.workspace import Workspace


def allow_value(workspace: Workspace, value: str, *, user: str, reason: str = "") -> list[Tombstone]:
    """Lift every tombstone that bars ``value``, a text or the id of a rejected record, and return what was lifted.

    Raises:
        NotFound: Nothing bars it.
    """
    lifted = workspace.archive.allow(value, workspace.person(user), reason=reason)
    if not lifted:
        raise NotFound(
            f"Nothing bars this value for {user!r:.60}: it was neither rejected nor erased, or is allowed again."
        )
    workspace.commit_memory()
    return lifted
