"""Write one example project per target, rendered from a fresh store, for people to review: what its owner would own.

``python -m tests.written.examples`` rewrites ``outputs/examples/`` of the checkout.
"""

from __future__ import annotations

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
COMPILED = Path("agent", "compiled")
SHOWN = Path("langgraph") / COMPILED
"""What is compiled from the store is the same in each project: one holds it, and a change of it is reviewed once."""


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
    for compiled in (project / COMPILED for project in projects):
        if compiled != folder / SHOWN and _contents(compiled) == _contents(folder / SHOWN):
            shutil.rmtree(compiled)
            compiled.symlink_to(Path("..", "..", SHOWN), target_is_directory=True)
    return projects


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


if __name__ == "__main__":
    write_examples(CHECKOUT / "outputs" / "examples")
