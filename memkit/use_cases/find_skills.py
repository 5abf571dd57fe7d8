"""Find the skills that fit a request."""

from __future__ import annotations

from pathlib import Path

from memkit.errors import UsageError
from memkit.skills.procedures import FoundSkill, search_skills
from memkit.skills.skill import load_skills


def find_skills(root: Path, query: str, limit: int = 5) -> list[FoundSkill]:
    """Return the skills of the store at ``root`` that share words with ``query``, best first."""
    if not query.strip():
        raise UsageError("An empty query finds nothing. Give some words of the task.")
    return search_skills(load_skills(root).values(), query, limit)
