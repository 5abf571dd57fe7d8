"""Projects: list the SDKs, render one, and keep its template for updates."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memkit.errors import UsageError
from memkit.generate.composition import Order
from memkit.generate.content import WIRED, content_of
from memkit.generate.manifest import Runtime
from memkit.generate.plugins import PluginProblem, find_target, load_plugins
from memkit.generate.rendering import render
from memkit.generate.runtime_wheel import installed_runtime
from memkit.generate.targets import RELEASES, Release, Releases, Target, checked_answers, load_targets
from memkit.store.files import WrittenPlaces
from memkit.store.git_process import scratch_repository
from memkit.store.layout import find_store, require_writable_inside


@dataclass(frozen=True)
class Generated:
    """A rendered project."""

    target: str
    out: Path
    files: tuple[str, ...]
    """Paths relative to ``out``."""
    repository: Path | None
    """The repository, not the store's, that contains the project."""
    notes: tuple[str, ...] = ()
    """What its owner has to know before it can run."""
    ignored: tuple[str, ...] = ()
    """Files that a ``.gitignore`` above would keep out of git."""


def generate_project(
    store: Path | None,
    target: str,
    *,
    skill: str | None = None,
    out: Path | None = None,
    answers: Mapping[str, str] | None = None,
) -> Generated:
    """Render a store for ``target`` into ``out`` (default: ``outputs/<target>`` of the store).

    Args:
        store: The store's root, or None for the nearest one.
        target: A name that ``memkit targets`` lists.
        skill: The one skill to wire; by default all that the target can.
        out: A new or empty folder.
        answers: Answers to the template's questions.

    Raises:
        UsageError: An unknown target, skill or answer, a broken file of the store, or a place that is taken.
        EnvironmentFault: There is no store, or the place cannot be written.
    """
    chosen = find_target(target)
    wired = _wired(chosen, skill)
    given = checked_answers(chosen, answers or {})
    root = find_store(store)
    place = (out if out is not None else root / "outputs" / target).expanduser().absolute()
    require_writable_inside(root, place)
    content = content_of(root, wired)
    wheel = installed_runtime()
    order = Order(chosen, content, given, Runtime.of(wheel), wheel, way_to(root, place))
    files = render(order, place)
    WrittenPlaces(root).note("project", place)
    return Generated(
        target,
        place,
        tuple(files),
        _foreign_repository(root, place),
        order.chosen.notes,
        tuple(ignored_above(place, files)),
    )


def way_to(root: Path, place: Path) -> str:
    """Return the path from a project at ``place`` to the store at ``root``: relative, so both can move together."""
    return Path(os.path.relpath(os.path.realpath(root), os.path.realpath(place))).as_posix()


def ignored_above(place: Path, files: Sequence[str]) -> list[str]:
    """Return which of the files in ``place`` the ``.gitignore`` files above keep out of the surrounding repository."""
    outer = _repository_around(place)
    if outer is None:
        return []
    prefix = place.resolve().relative_to(outer.resolve()).as_posix()
    asked = b"".join(f"{prefix}/{path}".encode() + b"\0" for path in files)
    with scratch_repository() as git:
        printed = git.run(
            "--work-tree",
            str(outer),
            "-C",
            str(outer),
            "check-ignore",
            "--no-index",
            "--stdin",
            "-z",
            given=asked,
            check=False,
        )
    return [path.decode().removeprefix(f"{prefix}/") for path in printed.split(b"\0") if path]


def _wired(target: Target, skill: str | None) -> tuple[str, ...]:
    """Return the skills to wire; raise ``UsageError`` for one that the target cannot wire."""
    able = tuple(name for name in WIRED if name in target.skills)
    if skill is None:
        return able
    if skill not in able:
        raise UsageError(f"The target {target.name} cannot wire the skill {skill!r}. Skills: {', '.join(able)}.")
    return (skill,)


def _foreign_repository(root: Path, place: Path) -> Path | None:
    """Return the repository around ``place`` if it is not the store's own."""
    outer = _repository_around(place)
    own = (root.resolve(), *root.resolve().parents)
    return None if outer is None or outer.resolve() in own else outer


def _repository_around(place: Path) -> Path | None:
    # Looking for .git is enough, and starting git would take longer than everything before the render.
    return next((folder for folder in place.resolve().parents if (folder / ".git").exists()), None)


def list_targets() -> tuple[list[Target], list[PluginProblem]]:
    """Return memkit's own targets and those of installed plug-ins, each in alphabetical order, and what is broken."""
    own = load_targets()
    more, problems = load_plugins(own)
    return [*own.values(), *more.values()], problems


def release_target(name: str) -> Release:
    """Return the release that holds the present files of the target ``name``, creating it if necessary.

    Raises:
        UsageError: There is no such target, it is memkit's own, or its version was released with other files.
    """
    target = find_target(name)
    if target.origin is None:
        raise UsageError(f"{name} is memkit's own target and is released with its templates: make template-release.")
    files = {path: place.read_bytes() for path, place in target.own_files.items()}
    return Releases(target.folder / RELEASES).add(target.origin.version, files)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Name the target: python -m memkit.use_cases.generate_project NAME")
    sys.stdout.write(f"Release {release_target(sys.argv[1]).version} contains {sys.argv[1]} as it is.\n")
