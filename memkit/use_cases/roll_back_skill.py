"""Bring an earlier version of a skill back."""

from __future__ import annotations

from pathlib import Path

from memkit.skills.skill import SKILL, read_skill
from memkit.store.rollback import RolledBack, roll_back
from memkit.use_cases.accept_skill import accept_skill


def roll_back_skill(root: Path, name: str, version: str, *, checked: bool = True) -> RolledBack:
    """Write the newest text of the skill that has ``version`` (or that a commit id names) and commit it.

    Args:
        root: The store.
        name: The skill.
        version: A version that it had, or the beginning of a commit's id.
        checked: Whether the checks of that version must pass today.

    Raises:
        NotFound: No commit of the skill has that version.
        NegativeAnswer: The file has uncommitted changes, or the old text is no valid skill any more or fails a check.
    """
    accept = (lambda document: accept_skill(root, read_skill(document.data))) if checked else None
    return roll_back(root, SKILL, name, version, accept=accept)
