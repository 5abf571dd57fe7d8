"""Memory that git ignores, or that a sparse checkout leaves out, is not said to be committed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from memkit.cli.main import run


def git(root: Path, *words: str) -> None:
    """Run git as its user would."""
    subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)


def said(words: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what a command prints."""
    capsys.readouterr()
    assert run(words) == code
    printed = capsys.readouterr()
    return printed.out + printed.err


@pytest.mark.parametrize("pattern", ["archive/", "*.jsonl", "archive/20*"])
def test_an_archive_that_git_ignores_is_told(store: Path, pattern: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By a commit, by a batch that ends and by doctor; what else is ignored there is nobody's business."""
    here = ["--store", str(store)]
    with (store / ".gitignore").open("a") as file:
        file.write("*.swp\n")
    (store / "archive" / "x.swp").touch()
    assert run(["memory", "add", "Ada likes tea", "--user", "ada", *here]) == 0
    assert "Committed" in said(["commit", *here], 0, capsys)
    with (store / ".gitignore").open("a") as file:
        file.write(f"{pattern}\n")

    git(store, "rm", "-rq", "--cached", "archive")  # a new writer's shard is in no index
    assert "so it commits no memory" in said(["commit", *here], 3, capsys)
    assert "so it commits no memory" in said(["doctor", *here], 1, capsys)
    told = said(["chat", "--user", "ada", "--consent", "-p", "My dog is called Rex", *here], 0, capsys)
    assert "Memory is safe but not committed: Git ignores" in told


def test_a_sparse_checkout_without_the_archive_is_told(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the command that includes it, after which memory is read and committed."""
    assert run(["memory", "add", "Ada likes tea", "--user", "ada", "--store", str(store)]) == 0
    assert run(["commit", "--store", str(store)]) == 0
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(store), str(clone))
    git(clone, "sparse-checkout", "set", "skills", "policies", "domains")
    here = ["--store", str(clone)]
    assert run(["memory", "add", "Ada rows", "--user", "ada", *here]) == 0

    command = f"git -C {clone} sparse-checkout add archive"
    assert command in said(["commit", *here], 3, capsys)
    assert command in said(["doctor", *here], 1, capsys)
    subprocess.run(command.split(), check=True, capture_output=True)
    assert "Committed" in said(["commit", *here], 0, capsys)
    assert "Ada likes tea" in said(["memory", "list", "--user", "ada", *here], 0, capsys)
