"""A store that was copied or cloned is told so, and writes to shards of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from memkit.cli.main import run


def test_fsck_names_a_copy_and_gives_it_a_name(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before its first write fsck says what a copy is, which is no damage; the repair, like a write, ends that."""
    add_it = ["memory", "add", "Ada likes tea", "--user", "ada", "--store"]
    assert run([*add_it, str(store)]) == 0
    copy = store.parent / "copy"
    subprocess.run(["cp", "-r", str(store), str(copy)], check=True)
    capsys.readouterr()

    assert run(["fsck", "--json", "--store", str(copy)]) == 0
    told = json.loads(capsys.readouterr().out)
    (finding,) = told["diagnostics"]
    assert (finding["code"], finding["severity"], told["data"]["problems"]) == ("copied-store", "warning", [])
    assert str(store) in finding["message"]
    assert run(["fsck", "--fix", "--store", str(copy)]) == 0
    capsys.readouterr()
    assert run(["fsck", "--json", "--store", str(copy)]) == 0
    assert json.loads(capsys.readouterr().out)["diagnostics"] == []
    assert run(["fsck", "--store", str(store)]) == 0
    assert run(["memory", "add", "Ada likes coffee", "--user", "ada", "--store", str(copy)]) == 0
    assert len({path.name for root in (store, copy) for path in (root / "archive").rglob("*.jsonl")}) == 2


def test_the_first_write_of_a_copy_says_so(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said once, on standard error, and stands in the audit log."""
    at = ["--user", "ada", "--store"]
    run(["memory", "add", "Ada likes tea", *at, str(store)])
    copy = store.parent / "copy"
    subprocess.run(["cp", "-r", str(store), str(copy)], check=True)
    capsys.readouterr()

    run(["memory", "add", "Ada likes coffee", *at, str(copy)])
    assert "is a copy" in capsys.readouterr().err
    run(["memory", "add", "Ada likes cocoa", *at, str(copy)])
    assert "copy" not in capsys.readouterr().err


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
