# ruff: noqa: E501 - tables read best when they are dense
"""The pytest plugin: one item for each policy test of a store, and nothing at all elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import memkit


def run_pytest(store: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a store with the plugin and no other."""
    command = [sys.executable, "-m", "pytest", "-p", "memkit.pytest_plugin", "-p", "no:cacheprovider", *arguments]
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(Path(memkit.__file__).parent.parent),
    }
    environment.pop("PYTEST_ADDOPTS", None)
    return subprocess.run(command, cwd=store, capture_output=True, text=True, check=False, env=environment)


def test_every_test_of_a_store_is_an_item(store: Path) -> None:
    """Inline tests and rows of tables are collected by name, and those of the starters pass."""
    listed = run_pytest(store, "--collect-only", "-q").stdout

    assert "policies/destructive_command_approval.yaml::blocks rm -fr" in listed
    assert "policies/tests/untrusted_recall_approval.csv::" in listed
    done = run_pytest(store, "-q")
    assert (done.returncode, "passed" in done.stdout) == (0, True), done.stdout


def test_a_failure_says_what_was_decided_and_why(store: Path) -> None:
    """The text names place, call, both decisions, and what matched down to the clause."""
    path = store / "policies" / "destructive_command_approval.yaml"
    path.write_text(path.read_text().replace('"rm -fr /srv"}}, expect: ask', '"rm -fr /srv"}}, expect: deny'))

    line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if "blocks rm -fr" in text)

    done = run_pytest(store, "-q", "policies/destructive_command_approval.yaml", "-k", "blocks")

    assert done.returncode == 1
    for words in (
        f"policies/destructive_command_approval.yaml:{line}: blocks rm -fr",
        "expected deny, decided ask",
        "rm -fr /srv",
        "args.command: shell program rm in",
    ):
        assert words in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("policies/bad.yaml", "name: bad\nmatch: [\n", "policies/bad.yaml:3"),
        ("policies/tests/bad.csv", "tool,expekt\n", "policies/tests/bad.csv:1:1: Unknown column"),
        ("policies/tests/bad.csv", "policy,tool,expect\nstaging_first_deploy,send,ask\n", "Did you mean"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_collection_error(store: Path, name: str, text: str, words: str) -> None:
    """A broken policy or table fails the run with its place."""
    (store / name).write_text(text)

    done = run_pytest(store, "-q", name)

    assert (done.returncode, words in done.stdout) == (2, True), done.stdout


def test_other_projects_and_a_switched_off_plugin_collect_nothing(store: Path, tmp_path: Path) -> None:
    """A folder of that name outside of a store is nobody's business, and the ini option turns the plugin off."""
    other = tmp_path / "other" / "policies"
    other.mkdir(parents=True)
    (other / "a.yaml").write_text("not: ours\n")

    assert run_pytest(other.parent, "-q").returncode == 5
    assert run_pytest(store, "-q", "-o", "memkit_policies=false").returncode == 5


def test_the_plugin_imports_nothing_until_it_is_needed() -> None:
    """A run of pytest elsewhere pays for one small module."""
    program = "import sys, memkit.pytest_plugin; print([m for m in sys.modules if m.startswith(('memkit.', 'yaml', 'click'))])"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "['memkit.pytest_plugin']"


def test_the_entry_point_is_declared() -> None:
    """Pip makes the plugin known to pytest."""
    root = Path(memkit.__file__).parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["pytest11"] == {"memkit": "memkit.pytest_plugin"}
