"""memkit's own workflows may do no more than they have to."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memkit.store.yaml import load_yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


MORE = {
    ("release.yml", "publish"): {"id-token": "write", "attestations": "write"},
    ("release.yml", "page"): {"contents": "write"},
}
"""What a job may do besides reading: the one has no repository at hand, the other runs nothing but GitHub's program."""


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_least_permissions(path: Path) -> None:
    """It reads the repository, keeps no token on disk, runs others' actions by a commit, and ends what hangs."""
    described: dict[str, Any] = load_yaml(path).data

    assert described["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in described["on"]
    for name, job in described["jobs"].items():
        assert job["timeout-minutes"] <= 60
        assert job.get("permissions", {}) == MORE.get((path.name, name), {})
        used = [step for step in job["steps"] if "uses" in step]
        assert all(re.fullmatch(r"(actions|pypa)/[\w-]+@[0-9a-f]{40}", step["uses"]) for step in used)
        assert all(step["with"]["persist-credentials"] is False for step in used if "checkout" in step["uses"])
        assert not any("${{" in step.get("run", "") for step in job["steps"]), "values go through the environment"


def test_nothing_is_built_where_something_may_be_handed_out() -> None:
    """What a job with a permission runs was built without one: no code of the repository is there to abuse it."""
    jobs: dict[str, Any] = load_yaml(ROOT / ".github" / "workflows" / "release.yml").data["jobs"]

    for name in ("publish", "page"):
        assert not any("checkout" in step.get("uses", "") for step in jobs[name]["steps"])
        assert not any(re.search(r"\b(make|pip|python)\b", step.get("run", "")) for step in jobs[name]["steps"])
    assert jobs["publish"]["needs"] == "build" and jobs["publish"]["environment"] == "pypi"


def test_an_auditor_of_workflows_finds_nothing() -> None:
    """An auditor, zizmor, looks for what others have been attacked by: injected text, kept tokens, moved actions."""
    auditor = Path(sys.executable).with_name("zizmor")
    if not auditor.exists():
        pytest.skip("zizmor is not here: pip install zizmor")

    done = subprocess.run([auditor, "--offline", "--no-progress", ROOT / ".github"], capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr


def test_each_workflow_has_the_format_of_the_forge(tmp_path: Path) -> None:
    """By the schema that is published for it: keys, triggers, permissions, and what a job and a step may hold."""
    pytest.importorskip("check_jsonschema")
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    misspelt = tmp_path / "misspelt.yml"
    release = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    misspelt.write_text(release.replace("attestations: write", "atestations: write"), encoding="utf-8")

    assert subprocess.run([*check, *WORKFLOWS], capture_output=True, check=False).returncode == 0
    assert subprocess.run([*check, misspelt], capture_output=True, check=False).returncode == 1


def test_what_is_run_is_a_target_of_the_makefile() -> None:
    """A workflow that calls what is not there would be noticed a week later."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    called = {name for path in WORKFLOWS for name in re.findall(r"make ([a-z-]+)", path.read_text(encoding="utf-8"))}

    assert called and called <= targets


def test_ci_installs_what_a_skip_asks_for() -> None:
    """Where a test says what to install so that it runs, CI installs it, and does not count on somebody's machine."""
    texts = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    asked = {name for text in texts for line in re.findall(r"apt-get install ([\w -]+)", text) for name in line.split()}
    run = (ROOT / ".ci" / "run").read_text("utf-8")

    assert {"pgbouncer", "strace"} <= asked
    assert {name for name in asked if not re.search(rf"\b{name}\b", run)} == set()
