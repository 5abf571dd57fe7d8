"""Write one example project per target, rendered from a fresh store, for people to review: what its owner would own.

``python -m tests.written.examples`` rewrites ``outputs/examples/`` of the checkout.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from memkit.generate.composition import Order
from memkit.generate.content import content_of
from memkit.generate.manifest import Runtime, Stamp
from memkit.generate.rendering import render
from memkit.generate.targets import load_targets
from memkit.use_cases.store import starter_files

from . import CHECKOUT

NAME = "example"
EXAMPLE = Runtime("0.0.0+example", "")
"""What stands in the place of a version: with the real one, each change of the runtime would change every example."""
FROM_STORE = ("agent/compiled", "skills")
"""Folders that are made of the store alone, and so are the same in each project."""
SHOWN = "langgraph"
"""The one example that holds them, so that a change of them is reviewed once; the others link to it."""


def write_examples(folder: Path) -> list[Path]:
    """Render every target from the starters into ``folder/<target>``, replacing what is there; return the projects."""
    folder.mkdir(parents=True, exist_ok=True)
    projects: list[Path] = []
    with tempfile.TemporaryDirectory(prefix="memkit-examples-") as scratch:
        store = Path(scratch) / NAME
        for path, content in starter_files(NAME).items():
            (store / path).parent.mkdir(parents=True, exist_ok=True)
            (store / path).write_bytes(content)
        for target in load_targets().values():
            project = folder / target.name
            shutil.rmtree(project, ignore_errors=True)
            render(Order(target, content_of(store), {}, EXAMPLE, templates=Stamp(EXAMPLE.version, "")), project)
            projects.append(project)
    for name in FROM_STORE:
        shown = folder / SHOWN / name
        for place in (project / name for project in projects if project.name != SHOWN):
            if _contents(place) == _contents(shown):
                shutil.rmtree(place)
                place.symlink_to(os.path.relpath(shown, place.parent), target_is_directory=True)
    return projects


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


if __name__ == "__main__":
    write_examples(CHECKOUT / "outputs" / "examples")
