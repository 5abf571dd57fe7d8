"""Write the sheets of the skills that memkit generates.

``python -m tests.written.sheets`` rewrites those in ``outputs/`` of the checkout.
"""

from __future__ import annotations

from pathlib import Path

from memkit.generate.targets import Target, load_targets
from memkit.resources import resource
from memkit.skills.sheet import SheetTarget, wiring_sheet
from memkit.skills.skill import load_skills

from . import CHECKOUT


def write_sheets(out: Path) -> list[Path]:
    """Write ``skill-<name>.md`` for each starter skill that memkit generates, and return the paths."""
    targets = load_targets().values()
    out.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, skill in load_skills(resource("skills").parent).items():
        if skill.generates is not None:
            fitting = [_sheet_target(target) for target in targets if skill.generates.skill in target.skills]
            path = out / f"skill-{name}.md"
            path.write_text(wiring_sheet(skill, fitting), encoding="utf-8")
            written.append(path)
    return written


def _sheet_target(target: Target) -> SheetTarget:
    return SheetTarget(target.name, target.description, tuple(variable.name for variable in target.environment))


if __name__ == "__main__":
    write_sheets(CHECKOUT / "outputs")
