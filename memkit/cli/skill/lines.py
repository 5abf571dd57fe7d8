"""How a skill is printed on one line, and in a list's data."""

from __future__ import annotations

from typing import Any

from memkit.skills.skill import Skill
from memkit.terminal import one_line


def summary(found: Skill) -> dict[str, Any]:
    """Return what a list says about a skill."""
    return {
        "name": found.name,
        "description": found.description,
        "version": found.version,
        "deprecated": bool(found.deprecated),
    }


def skill_line(found: Skill) -> str:
    """Return a skill as one line of a list."""
    marks = f" {found.version}" if found.version else ""
    marks += " (deprecated)" if found.deprecated else ""
    return f"{found.name}{marks}  {one_line(found.description, 90)}"
