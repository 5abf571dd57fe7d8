"""A store that was copied or cloned is told so, and writes to shards of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from memkit.cli.main import run


def test_the_first_command_in_a_copy_says_so(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said once, on standard error; both go on apart."""
    at = ["--user", "ada", "--store"]
    run(["memory", "add", "Ada likes tea", *at, str(store)])
    copy = store.parent / "copy"
    subprocess.run(["cp", "-r", str(store), str(copy)], check=True)
    capsys.readouterr()

    run(["memory", "list", *at, str(copy)])
    assert "to another clone" in capsys.readouterr().err
    run(["memory", "add", "Ada likes cocoa", *at, str(copy)])
    run(["memory", "add", "Ada likes coffee", *at, str(store)])
    assert "clone" not in capsys.readouterr().err
    assert len({path.name for root in (store, copy) for path in (root / "archive").rglob("*.jsonl")}) == 2
    assert run(["fsck", "--store", str(copy)]) == 0


def test_two_clones_write_to_shards_of_their_own(store: Path, tmp_path: Path) -> None:
    """``git clone`` carries no name, so pulling one into the other merges without a conflict."""
    at = ["--user", "ada", "--store"]
    run(["memory", "add", "Ada likes tea", *at, str(store)])
    run(["commit", "--store", str(store)])
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(store), str(clone)], check=True)
    for root, text in ((store, "Ada likes jazz"), (clone, "Ada lives in Graz")):
        run(["memory", "add", text, *at, str(root)])
        run(["commit", "--store", str(root)])

    subprocess.run(["git", "pull", "-q", "--no-rebase", "--no-edit"], cwd=clone, check=True)

    assert run(["fsck", "--store", str(clone)]) == 0
    assert len({path.name for path in (clone / "archive").rglob("*.jsonl")}) == 2
