"""Run the checks that skills carry."""

from __future__ import annotations

from pathlib import Path

from memkit.errors import EnvironmentFault
from memkit.policies.files import FOLDER as POLICIES
from memkit.policies.files import load_guard
from memkit.skills.checks import CheckResult, run_checks
from memkit.skills.skill import Skill, load_named_skill, load_skills


def check_skills(root: Path, name: str | None = None) -> list[tuple[Skill, list[CheckResult]]]:
    """Return what the checks of the skill ``name`` come to, or those of every skill that has some.

    Raises:
        EnvironmentFault: There is no check to run; nothing to check is not success.
    """
    chosen = [load_named_skill(root, name)] if name is not None else load_skills(root).values()
    skills = [skill for skill in chosen if skill.checks]
    if not skills:
        where = f"the skill {name}" if name is not None else "no skill"
        raise EnvironmentFault(f"There is no check to run: {where} has {'no ' if name is not None else ''}'checks:'.")
    guard = load_guard(root / POLICIES)
    return [(skill, list(run_checks(skill, root, guard))) for skill in skills]
