"""Search what was said in the sessions of a user."""

from __future__ import annotations

from memkit.memory.recall import Turn
from memkit.workspace import Workspace


def search_sessions(workspace: Workspace, query: str, *, user: str) -> list[tuple[float, Turn]]:
    """Return the turns of ``user`` that share a word with ``query`` or stand beside one, each with its score."""
    return workspace.recall.ranked(query, user)
