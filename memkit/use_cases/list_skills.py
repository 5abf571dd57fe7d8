"""List the skills of a store."""

from __future__ import annotations

from pathlib import Path

from memkit.skills.skill import Skill, load_skills


def list_skills(root: Path) -> list[Skill]:
    """Return the skills of the store at ``root``, by name."""
    return [skill for _, skill in sorted(load_skills(root).items())]
