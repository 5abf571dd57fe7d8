"""Each generated project passes its own tests, against the real SDK, without memkit and without a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from itertools import cycle, product
from pathlib import Path

import pytest
from projects import KINDS, TARGETS, project, unpacked_runtime
from sampled import ALL

SECONDS = 1700.0
SKILLS = {"virtual-memory": "TestMemory", "hybrid-planner": "TestPlanning"}
"""Each skill, and the tests of a project that are about it."""
NEEDS = {
    "claude-agent-sdk": ("claude_agent_sdk",),
    "langgraph": ("langgraph", "langchain", "langchain_openai"),
    "openai-agents": ("agents",),
    "openai-assistants": ("openai",),
    "react": ("openai",),
}


def run_tests(folder: Path, *arguments: str) -> None:
    """Run the project's tests in a process of their own, with the packages of this one."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    # The plug-ins of memkit's own tests take seconds to load, and no project asks for any.
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    environment["PYTHONPATH"] = str(unpacked_runtime(folder.parent / "runtime"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout, done.stdout[-2000:]


def named(kind: tuple[str, dict[str, str]]) -> str:
    """Return what a kind of project is called in the report."""
    target, answers = kind
    return "-".join([target, *answers.values()])


@pytest.mark.parametrize("kind", KINDS, ids=named)
def test_the_projects_own_tests_pass(kind: tuple[str, dict[str, str]], starters: Path, tmp_path: Path) -> None:
    """With both skills, every test passes that runs in one process; `make prove` runs the others as well."""
    target, answers = kind
    for package in NEEDS[target]:
        pytest.importorskip(package)

    run_tests(project(starters, target, tmp_path / "project", **answers), "-m", "not process")


ALONE = tuple(product(TARGETS, SKILLS) if ALL else zip(TARGETS, cycle(SKILLS), strict=False))
"""At each run every target meets one of the skills, and every skill a target."""


@pytest.mark.sampled
@pytest.mark.parametrize(("target", "choice"), ALONE)
def test_each_skill_alone_makes_a_working_project(target: str, choice: str, starters: Path, tmp_path: Path) -> None:
    """With one skill the project has fewer tools, and what depends on that passes, whatever the wire."""
    for package in NEEDS[target]:
        pytest.importorskip(package)

    folder = project(starters, target, tmp_path / "project", choice)
    run_tests(folder, "-m", "not process", "-k", f"TestStanding or {SKILLS[choice]}")


def test_a_projects_own_tests_find_a_wheel_that_was_changed_by_hand(starters: Path, tmp_path: Path) -> None:
    """Such a wheel installs like any other, and where the project is, there may be no memkit to find it."""
    folder = project(starters, "react", tmp_path / "project")
    promise = ("tests/test_promises.py", "-k", "test_the_runtime_is_the_one_that_was_rendered")
    run_tests(folder, *promise)
    (wheel,) = (folder / "vendor").iterdir()
    with zipfile.ZipFile(wheel, "a") as opened:
        opened.writestr("memkit_runtime/more.py", "")

    with pytest.raises(AssertionError, match=f"{re.escape(wheel.name)} was modified"):
        run_tests(folder, *promise)
