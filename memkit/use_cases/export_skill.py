"""Export a skill as an agent skill."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memkit.errors import EnvironmentFault, UsageError
from memkit.skills.sheet import agent_skill, kebab_case, left_out, sheet_problems
from memkit.skills.skill import load_named_skill
from memkit.store.files import write_whole


@dataclass(frozen=True)
class Exported:
    """Where a skill was written, and whether its trigger had to be cut."""

    name: str
    path: Path
    shortened: bool
    """Whether the description was cut to the format's limit; the body has all of it."""
    left_out: tuple[str, ...]
    """What the profile has no place for."""


def export_skill(root: Path, name: str, *, profile: str, out: Path, force: bool = False) -> Exported:
    """Write ``out/<name>/SKILL.md`` and return where; nothing is written that the profile's check refuses.

    Raises:
        UsageError: The sheet is not valid in the profile, or another text stands there and ``force`` is not given.
    """
    skill = load_named_skill(root, name)
    text = agent_skill(skill, profile)
    path = out / kebab_case(skill.name) / "SKILL.md"
    problems = sheet_problems(text, path.parent.name, profile)
    if problems:
        raise UsageError(f"The skill {name!r} cannot be exported: {problems[0]}")
    content = text.encode("utf-8")
    if not force and _holds_another(path, content):
        raise UsageError(f"{path} holds another text. Add --force to replace it.")
    write_whole(path, content)
    shortened = "…" in text.split("---\n", 2)[1] and "…" not in skill.description
    return Exported(path.parent.name, path, shortened, tuple(left_out(skill, profile)))


def _holds_another(path: Path, content: bytes) -> bool:
    try:
        return path.is_file() and path.read_bytes() != content
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be read: {error.strerror or error}.") from error
