"""Render the store's agent into a project for an SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memkit.errors import UsageError
from memkit.generate.composition import Order
from memkit.generate.reading import WIRED, content_of
from memkit.generate.rendering import render
from memkit.generate.targets import checked_answers, find_target


@dataclass(frozen=True)
class Generated:
    """A rendered project."""

    target: str
    out: Path
    files: tuple[str, ...]
    """Paths relative to ``out``."""


def generate_project(
    root: Path,
    target: str,
    *,
    skill: str | None = None,
    out: Path | None = None,
    answers: Mapping[str, str] | None = None,
    in_repository: bool = False,
) -> Generated:
    """Render the store at ``root`` for ``target`` into ``out`` (default: ``outputs/<target>`` of the store).

    Raises:
        UsageError: An unknown target, skill or answer, a broken file of the store, or a place that is taken.
        EnvironmentFault: The place cannot be written.
    """
    chosen = find_target(target)
    given = checked_answers(chosen, answers or {})
    place = (out if out is not None else root / "outputs" / target).expanduser().absolute()
    if not in_repository:
        _refuse_foreign_repository(root, place)
    content = content_of(root, WIRED if skill is None else (skill,))
    return Generated(target, place, tuple(render(Order(chosen, content, given), place)))


def _refuse_foreign_repository(root: Path, place: Path) -> None:
    """Raise ``UsageError`` where the project would become part of a repository that is not the store's own."""
    # Looking for .git is enough here, and git itself takes longer to start than everything else before the render.
    outer = next((folder for folder in (place, *place.parents) if (folder / ".git").exists()), None)
    if outer is None or outer.resolve() in (root.resolve(), *root.resolve().parents):
        return
    raise UsageError(
        f"{place} lies inside the git repository {outer}. Give --out a folder outside of it, or add --in-repository "
        "to make the project a part of it. Nothing was changed."
    )
