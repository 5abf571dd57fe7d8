"""The sheets in outputs/ say what memkit does."""

from __future__ import annotations

from pathlib import Path

import pytest
from written.sheets import write_sheets

from memkit.generate.targets import load_targets
from memkit.resources import resource
from memkit.skills.skill import load_skills

SHEETS = ("skill-hybrid-planner.md", "skill-virtual-memory.md")


def test_the_sheets_are_current(tmp_path: Path) -> None:
    """outputs/ holds what the starters and the shipped targets give; 'make outputs' writes it."""
    kept = Path(__file__).parents[2] / "outputs"

    written = {path.name: path.read_text() for path in write_sheets(tmp_path)}

    assert tuple(sorted(written)) == SHEETS
    assert {path.name: path.read_text() for path in kept.glob("skill-*.md")} == written


@pytest.mark.parametrize("name", ["hybrid-planner", "virtual-memory"])
def test_a_sheet_has_the_command_of_each_shipped_target(name: str, tmp_path: Path) -> None:
    """An agent that has only the sheet finds how to install, generate, test and run, and what to set."""
    write_sheets(tmp_path)
    text = (tmp_path / f"skill-{name}.md").read_text()

    assert "pip install memkit-agent" in text
    for target in load_targets().values():
        assert f"`memkit gen {name} --target {target.name} --out outputs/{target.name}`" in text
        assert all(f"`{variable.name}`" in text for variable in target.environment)
    assert "pip install -r requirements.txt" in text
    assert "pip install -e" not in text, "without requirements.txt pip would look for the runtime on an index"
    skill = load_skills(resource("skills").parent)[name]
    for said in (*skill.steps, *skill.safety_checks, *skill.required_tools):
        assert said in text
