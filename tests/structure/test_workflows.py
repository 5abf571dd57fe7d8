"""memkit's own workflows may do no more than they have to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from memkit.store.yaml import load_yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_least_permissions(path: Path) -> None:
    """It reads the repository, keeps no token on disk, uses GitHub's own actions, and ends what hangs."""
    described: dict[str, Any] = load_yaml(path).data

    assert described["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in described["on"]
    for job in described["jobs"].values():
        assert job["timeout-minutes"] <= 60 and "permissions" not in job
        used = [step for step in job["steps"] if "uses" in step]
        assert all(re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]) for step in used)
        assert all(step["with"]["persist-credentials"] is False for step in used if "checkout" in step["uses"])
        assert not any("${{" in step.get("run", "") for step in job["steps"]), "values go through the environment"


def test_what_is_run_is_a_target_of_the_makefile() -> None:
    """A workflow that calls what is not there would be noticed a week later."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    called = {name for path in WORKFLOWS for name in re.findall(r"make ([a-z]+)", path.read_text(encoding="utf-8"))}

    assert called and called <= targets
