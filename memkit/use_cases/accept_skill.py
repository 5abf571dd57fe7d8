"""Let a text of a skill in only if its checks pass."""

from __future__ import annotations

from pathlib import Path

from memkit.errors import NegativeAnswer
from memkit.policies.files import FOLDER, load_guard
from memkit.skills.checks import run_checks
from memkit.skills.skill import Skill


def accept_skill(root: Path, skill: Skill) -> None:
    """Return if every check of ``skill``, whose file is in its place, passes.

    Raises:
        NegativeAnswer: One does not; the message says which and why.
    """
    if not skill.checks:
        return
    for result in run_checks(skill, root, load_guard(root / FOLDER)):
        if not result.passed:
            version = f" {skill.version}" if skill.version else ""
            raise NegativeAnswer(
                f"{skill.name}{version} fails its check {result.name!r}, so it was not committed: {result.detail}"
            )
