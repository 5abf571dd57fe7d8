"""Stores and projects for the tests of this folder."""

from __future__ import annotations

import atexit
import compileall
import functools
import shutil
import tempfile
from pathlib import Path

from memkit.generate.composition import Order
from memkit.generate.content import WIRED, content_of
from memkit.generate.manifest import Runtime
from memkit.generate.plugins import find_target
from memkit.generate.rendering import render
from memkit.generate.runtime_wheel import PACKAGE, installed_runtime, runtime_files
from memkit.use_cases.generate_project import way_to
from memkit.use_cases.store import starter_files

EJECTED = Runtime("0.0.0+tests", "", ejected=True)
"""For tests that are about templates alone."""
TARGETS = ("claude-agent-sdk", "langgraph", "openai-agents", "openai-assistants", "react")
WIRES = {"openai-agents": ("responses",), "openai-assistants": ("assistants-v2",)}
"""Wires that a target has besides its default."""
KINDS = (
    *((target, {}) for target in TARGETS),
    *((target, {"wire": wire}) for target, wires in WIRES.items() for wire in wires),
)
"""Every kind of project: a target and the answers that choose among what it offers."""
CHOICES = {"both": WIRED, "virtual-memory": ("virtual-memory",), "hybrid-planner": ("hybrid-planner",)}


def write_store(root: Path) -> Path:
    """Write the starters into ``root``, without a repository."""
    for path, content in starter_files("demo").items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def project(root: Path, target: str, out: Path, choice: str = "both", **answers: str) -> Path:
    """Render the store at ``root`` and return where."""
    wheel, content = installed_runtime(), content_of(root, CHOICES[choice])
    render(Order(find_target(target), content, answers, Runtime.of(wheel), wheel, way_to(root, out)), out)
    return out


def unpacked_runtime(folder: Path) -> Path:
    """Put the runtime into ``folder`` as an installer would, compiled, and return the folder for the search path."""
    return shutil.copytree(_installed(), folder, dirs_exist_ok=True)


@functools.cache
def _installed() -> Path:
    """Return a folder with the runtime that is copied: compiling it takes longer than most of what it is wanted for."""
    folder = Path(tempfile.mkdtemp(prefix="memkit-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for path, content in runtime_files().items():
        place = folder / PACKAGE / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    compileall.compile_dir(folder, quiet=1)
    return folder
