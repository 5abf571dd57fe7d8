"""Search what was said in the sessions of a user."""

from __future__ import annotations

from memkit.errors import UsageError
from memkit.runtime.memory.tiers.sessions import Turn
from memkit.workspace import Workspace


def search_sessions(workspace: Workspace, query: str, *, user: str) -> list[tuple[float, Turn]]:
    """Return the turns of ``user`` that share a word with ``query`` or stand beside one, each with its score.

    Raises:
        UsageError: There is no word to look for.
    """
    if not query.strip():
        raise UsageError("There is nothing to search for. Name words that were said: memkit sessions search WORDS.")
    return workspace.recall.ranked(query, user)
