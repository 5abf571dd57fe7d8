"""The wheel works for anybody: in an empty environment, from another directory, with every template inside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import memkit
from memkit.generate.runtime_wheel import installed_runtime
from memkit.resources import TRAVELLING
from tests.docs.consoles import WALKS, matches, run, steps

CHECKOUT = Path(memkit.__file__).resolve().parent.parent


def call(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in ``cwd`` and return what it printed, whatever its exit code."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run(
        [str(word) for word in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel through the source distribution, as a release does."""
    out = tmp_path_factory.mktemp("dist")
    done = call(sys.executable, "-m", "build", "--outdir", out, CHECKOUT, cwd=out)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an empty environment and return its folder of programs."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home)
    # The pip at hand does it: one of its own would cost as much as all the rest, and bytecode is made where it is used.
    words = ("install", "--quiet", "--no-compile", wheel)
    done = call(sys.executable, "-m", "pip", "--python", home / "bin" / "python", *words, cwd=home)
    assert done.returncode == 0, done.stdout + done.stderr
    return home / "bin"


def test_the_wheel_carries_every_file_that_people_write(wheel: Path) -> None:
    """What git tracks in the carried folders is in the wheel, dot-files included, and nothing else is."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *TRAVELLING], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout
    tracked = {f"memkit/data/{name}" for name in listed.split("\0") if name}
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    carried = {name for name in names if name.startswith(tuple(f"memkit/data/{name}" for name in TRAVELLING))}

    assert carried == tracked
    assert "memkit/py.typed" in names
    assert any(name.startswith("memkit/data/store/") for name in names)


def test_init_gen_and_lint_run_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    """Far from the checkout an installed memkit makes a store, checks it and renders a project."""
    store = tmp_path / "elsewhere" / "store"
    steps: list[list[str | Path]] = [
        ["init", store],
        ["lint", "--store", store],
        ["memory", "add", "Ada prefers espresso", "--user", "ada", "--store", store],
        ["gen", "--target", "langgraph", "--out", tmp_path / "agent", "--store", store],
    ]

    for step in steps:
        done = call(installed / "memkit", *step, cwd=tmp_path)
        assert done.returncode == 0, (step, done.stdout, done.stderr)

    found = call(
        installed / "memkit", "memory", "search", "espresso", "--user", "ada", "--store", store, "--json", cwd=tmp_path
    )
    assert json.loads(found.stdout)["data"]["results"][0]["text"] == "Ada prefers espresso"
    assert (tmp_path / "agent" / "vendor" / installed_runtime().filename).read_bytes() == installed_runtime().content


def test_a_project_is_updated_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    """Far from the checkout a project follows its store: a changed policy is told, brought, and nothing else."""
    store, project = tmp_path / "store", tmp_path / "project"
    assert call(installed / "memkit", "init", store, cwd=tmp_path).returncode == 0
    made = call(installed / "memkit", "gen", "--target", "react", "--store", store, "--out", project, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    (project / "agent" / "mine.py").write_text("MINE = 1\n")
    policy = store / "policies" / "staging_first_deployment.yaml"
    policy.write_text(policy.read_text().replace("Staging finds what tests cannot", "It pays"))

    assert call(installed / "memkit", "update", "--check", cwd=project / "agent").returncode == 1
    done = call(installed / "memkit", "update", "--json", cwd=project / "agent")

    assert done.returncode == 0, done.stdout + done.stderr
    data = json.loads(done.stdout)["data"]
    assert data["behind"] == ["policy staging_first_deployment changed"] and data["conflicts"] == []
    assert (project / "agent" / "mine.py").read_text() == "MINE = 1\n"
    assert call(installed / "memkit", "update", project, "--check", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("page", WALKS)
def test_a_walk_runs_from_the_wheel(page: str, installed: Path, tmp_path: Path) -> None:
    """Every console of a page, far from the checkout, prints what the page shows."""
    shown = list(steps((CHECKOUT / "docs" / f"{page}.md").read_text(encoding="utf-8")))

    printed = run([command for command, _ in shown], tmp_path, programs=installed)

    assert len(printed) == len(shown) > 10
    for (command, expected), lines in zip(shown, printed, strict=True):
        assert matches(expected, lines), f"$ {command}\n" + "\n".join(lines)
