"""Write the sheets of the skills that memkit generates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memkit.resources import resource
from memkit.skills import load_skills, wiring_sheet


def write_sheets(out: Path, *, root: Path | None = None, targets: Sequence[str] | None = None) -> list[Path]:
    """Write ``skill-<name>.md`` for each starter skill that memkit generates, and return the paths.

    ``root`` is the folder that holds ``skills/``: the package's own unless given; ``targets`` are the shipped ones.
    """
    home = root or resource("skills").parent
    names = shipped_targets() if targets is None else targets
    out.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, skill in load_skills(home).items():
        if skill.generates is not None:
            path = out / f"skill-{name}.md"
            path.write_text(wiring_sheet(skill, names), encoding="utf-8")
            written.append(path)
    return written


def shipped_targets() -> list[str]:
    """Return the names of the targets that this memkit has templates for."""
    folders = resource("templates").glob("[a-z]*/")
    return sorted(folder.name for folder in folders if folder.is_dir() and any(folder.iterdir()))
