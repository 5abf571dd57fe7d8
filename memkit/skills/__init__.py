"""Skills: procedural memory as files that say how something is done."""

from memkit.skills.search import Found, search_skills
from memkit.skills.sheet import PROFILES, agent_skill, kebab_case, sheet_problems
from memkit.skills.skill import Skill, load_named_skill, load_skill, load_skills, skill_findings
from memkit.skills.wiring import SheetTarget, wiring_sheet

__all__ = [
    "PROFILES",
    "Found",
    "SheetTarget",
    "Skill",
    "agent_skill",
    "kebab_case",
    "load_named_skill",
    "load_skill",
    "load_skills",
    "search_skills",
    "sheet_problems",
    "skill_findings",
    "wiring_sheet",
]
