"""``memkit policy commit``: a changed policy is one commit that says by meaning what changed, if its tests pass."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run

TEXT = """\
# Nobody launches alone.
name: launch
description: Ask before a launch.
rule: Ask a second person before anything is launched.
enforcement: hard
rationale: A rocket does not come back.
effect: ask
match: {tool: rocket}   # the only one
tests:
  - {name: asks, call: {tool: rocket}, expect: ask}
  - {name: lets others pass, call: {tool: kite}, expect: allow}
version: "1.0.0"
changelog:
  - {version: "1.0.0", changes: First version.}
"""


def git(root: Path, *arguments: str) -> str:
    """Run git in the store."""
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def commit(store: Path, capsys: pytest.CaptureFixture[str], *more: str, code: int = 0) -> dict[str, Any]:
    """Commit the policy launch, expect an exit code and return the envelope."""
    assert run(["policy", "commit", "launch", *more, "--json", "--store", str(store)]) == code
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


@pytest.fixture
def launch(store: Path) -> Path:
    """Return a store with the policy launch."""
    (store / "policies" / "launch.yaml").write_text(TEXT)
    git(store, "add", "-A")
    git(store, "commit", "-qm", "Launch")
    return store


def change(store: Path, old: str, new: str) -> None:
    """Edit the policy as a person would."""
    path = store / "policies" / "launch.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_a_change_says_what_binds_less(launch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commit and the answer name it, and the file keeps its comments."""
    change(launch, "enforcement: hard", "enforcement: soft")
    change(launch, "call: {tool: rocket}, expect: ask", "call: {tool: rocket}, expect: warn")

    data = commit(launch, capsys, "--bump", "major")["data"]

    assert data["version"] == "2.0.0"
    assert [one["field"] for one in data["changes"] if one["attention"]] == ["enforcement", "tests"]
    subject = git(launch, "log", "-1", "--format=%s").strip()
    assert subject.startswith("Change the policy launch to 2.0.0: enforcement hard → soft") and len(subject) <= 72
    text = (launch / "policies" / "launch.yaml").read_text()
    assert text.startswith("# Nobody launches alone.") and "{tool: rocket}   # the only one" in text
    assert git(launch, "status", "--porcelain") == ""


def test_a_policy_that_fails_its_tests_is_not_committed(launch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the person wrote stays as it is, without the bump."""
    change(launch, "match: {tool: rocket}", "match: {tool: rockets}")
    before, head = (launch / "policies" / "launch.yaml").read_text(), git(launch, "rev-parse", "HEAD")

    body = commit(launch, capsys, "--bump", "patch", code=1)

    assert "fails its own test 'asks' today: expected ask, decided allow" in body["diagnostics"][0]["message"]
    assert (launch / "policies" / "launch.yaml").read_text() == before
    assert git(launch, "rev-parse", "HEAD") == head


def test_a_change_of_meaning_needs_a_version(launch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A comment does not, and nothing changed is nothing to commit."""
    assert commit(launch, capsys)["data"]["commit"] is None
    change(launch, "# Nobody", "# Really nobody")
    assert commit(launch, capsys)["data"]["changes"] == []
    change(launch, "effect: ask", "effect: deny")
    change(launch, "call: {tool: rocket}, expect: ask", "call: {tool: rocket}, expect: deny")
    assert "--bump" in commit(launch, capsys, code=1)["diagnostics"][0]["message"]
    assert commit(launch, capsys, "--bump", "minor", "-m", "Never")["data"]["version"] == "1.1.0"


def test_the_tables_of_a_policy_are_committed_with_it(launch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fresh clone has the tests that passed here; those that fail keep the policy out, and others' tables stay."""
    tables = launch / "policies" / "tests"
    (tables / "launch.csv").write_text("policy,tool,expect\nlaunch,rocket,allow\n")
    (tables / "all.yaml").write_text("tests:\n  - {name: a, policy: launch, call: {tool: kite}, expect: allow}\n")
    (tables / "other.csv").write_text("policy,tool,expect\nmine,rocket,allow\n")
    assert "policies/tests/launch.csv:2 'rocket'" in commit(launch, capsys, code=1)["diagnostics"][0]["message"]
    (tables / "launch.csv").write_text("policy,tool,expect\nlaunch,rocket,ask\n")

    assert commit(launch, capsys)["data"]["commit"] == git(launch, "rev-parse", "HEAD").strip()

    files = git(launch, "show", "--name-only", "--format=").split()
    assert files == ["policies/tests/all.yaml", "policies/tests/launch.csv"]
    assert git(launch, "status", "--porcelain") == "?? policies/tests/other.csv\n"
    assert commit(launch, capsys)["data"]["commit"] is None


def test_a_policy_that_does_not_load_is_not_committed(launch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The place is named."""
    change(launch, "effect: ask", "effect: asks")

    assert "policies/launch.yaml:7:9" in commit(launch, capsys, code=2)["diagnostics"][0]["message"]
    (launch / "policies" / "launch.yaml").unlink()
    assert commit(launch, capsys, code=1)["diagnostics"][0]["code"] == "not_found"
