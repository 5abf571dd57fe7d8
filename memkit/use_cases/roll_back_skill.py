"""Bring an earlier version of a skill back."""

from __future__ import annotations

from pathlib import Path

from memkit.skills.skill import SKILL
from memkit.store.rollback import RolledBack, roll_back


def roll_back_skill(root: Path, name: str, version: str) -> RolledBack:
    """Write the newest text of the skill that has ``version`` (or that a commit id names) and commit it.

    Raises:
        NotFound: No commit of the skill has that version.
        NegativeAnswer: The file has uncommitted changes, or the old text is no valid skill any more.
    """
    return roll_back(root, SKILL, name, version)
