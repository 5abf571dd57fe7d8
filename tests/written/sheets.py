"""Write the sheets of the skills that memkit generates.

``python -m tests.written.sheets`` rewrites those in ``outputs/`` of the checkout.
"""

from __future__ import annotations

from pathlib import Path

from memkit.generate.targets import sheet_targets
from memkit.resources import resource
from memkit.skills.sheet import skill_body
from memkit.skills.skill import load_skills

from . import CHECKOUT


def write_sheets(out: Path) -> list[Path]:
    """Write ``skill-<name>.md`` for each starter skill that memkit generates, and return the paths."""
    out.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, skill in load_skills(resource("skills").parent).items():
        if skill.generates is not None:
            source = f"<!-- Rendered from skills/{name}.yaml by 'make outputs'. Change that file, not this one. -->"
            lines = [source, "", *skill_body(skill, sheet_targets(skill))]
            path = out / f"skill-{name}.md"
            path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
            written.append(path)
    return written


if __name__ == "__main__":
    write_sheets(CHECKOUT / "outputs")
