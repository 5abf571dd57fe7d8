"""A writer is one clone on one branch, so that branches merge without conflict."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from open_gate import OpenStore, note

from memkit.runtime.memory.log.log import shard_writer
from memkit.runtime.memory.log.shards import branch_mark, checked_writer


@pytest.fixture
def git(tmp_path: Path) -> "Git":
    """Return a real repository in the store's directory."""
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text(".memkit/\n", encoding="utf-8")
    return Git(tmp_path)


class Git:
    """Runs git in a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __call__(self, *arguments: str) -> str:
        """Run ``git ARGUMENTS`` and return what it printed."""
        done = subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout

    def commit(self, message: str) -> None:
        """Commit everything."""
        self("add", "--all")
        self("commit", "--quiet", "-m", message)


def test_two_branches_of_one_clone_merge(tmp_path: Path, git: Git, open_store: OpenStore) -> None:
    """Records added on main, on a branch, and on main again are all there after the merge, without a conflict."""
    note(open_store(branch="main"), "before the branch")
    git.commit("before")
    git("checkout", "--quiet", "-b", "ideas")
    note(open_store(branch="ideas"), "on the branch")
    git.commit("branch")
    git("checkout", "--quiet", "main")
    note(open_store(branch="main"), "on main")
    git.commit("main")

    git("merge", "--quiet", "-m", "merge", "ideas")

    merged = open_store(branch="main")
    texts = {record.text for record in merged.records(user_id="ada")}
    assert texts == {"before the branch", "on the branch", "on main"}
    assert merged.check() == []
    assert len(list((tmp_path / "archive").rglob("*.jsonl"))) == 2


@given(st.text(min_size=1).filter(lambda name: name.isprintable()), st.integers(2, 99))
def test_the_mark_of_a_branch_is_never_the_number_of_a_part(branch: str, part: int) -> None:
    """Whatever a branch is called, its shards name their writer and part."""
    writer = checked_writer(f"0123456789ab-{branch_mark(branch)}")

    assert shard_writer(f"2026-11/{writer}.jsonl") == (writer, 1)
    assert shard_writer(f"2026-11/{writer}-{part}.jsonl") == (writer, part)
