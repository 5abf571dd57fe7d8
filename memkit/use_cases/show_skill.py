"""Show one skill."""

from __future__ import annotations

from pathlib import Path

from memkit.skills.skill import Skill, load_named_skill


def show_skill(root: Path, name: str) -> Skill:
    """Return the skill ``name`` of the store at ``root``; raises ``NotFound`` with the nearest name."""
    return load_named_skill(root, name)
