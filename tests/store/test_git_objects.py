"""Commits, trees and blobs are read and written without the working tree, and no word of a user becomes an option."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from memkit.errors import EnvironmentFault, UsageError
from memkit.store import git_process
from memkit.store.git import Git
from memkit.store.git_objects import GitObjects


@pytest.fixture(params=[".", "inside/a project"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> GitObjects:
    """Make a store with one commit, at the root of a repository and below it."""
    repository = tmp_path / "repository"
    root = repository / request.param
    root.mkdir(parents=True)
    Git(repository).init()
    (root / "archive").mkdir()
    (root / "archive" / "ä.jsonl").write_bytes(b"one\n")
    (root / "other").write_bytes(b"two\n")
    git = Git(root)
    git.commit("First", ["archive", "other"])
    return GitObjects(git)


def root_of(objects: GitObjects) -> Path:
    """Return the folder of the store."""
    return objects._git.root


def git(objects: GitObjects, *arguments: str) -> str:
    """Run plain git in the store."""
    done = subprocess.run(["git", *arguments], cwd=root_of(objects), check=True, capture_output=True, text=True)
    return done.stdout


def test_a_tree_is_read_as_it_was_committed(objects: GitObjects) -> None:
    """Files are listed relative to the store and read byte by byte, whatever the working tree says now."""
    commit = objects.commit_id("HEAD")
    (root_of(objects) / "archive" / "ä.jsonl").write_bytes(b"edited\n")

    (entry,) = objects.tree(commit, "archive")

    assert (entry.path, entry.size, entry.mode) == ("archive/ä.jsonl", 4, "100644")
    assert objects.read(entry.id) == b"one\n"
    assert objects.read_many(entry.id for _ in range(2)) == {entry.id: b"one\n"}
    assert {entry.path for entry in objects.tree(commit)} == {"archive/ä.jsonl", "other"}


@pytest.mark.parametrize("name", ["", "nowhere", "--all", "-h", "--output=x", "HEAD\0", "HEAD:other", "a b", "@{-1}"])
def test_what_names_no_commit_is_bad_usage(name: str, objects: GitObjects) -> None:
    """An unknown name, an option and a hidden end of text are refused in one line."""
    with pytest.raises(UsageError, match="does not name a commit"):
        objects.commit_id(name)


def test_without_a_repository_there_are_no_commits(tmp_path: Path) -> None:
    """A store that is no repository cannot serve."""
    with pytest.raises(EnvironmentFault, match="not in a git repository"):
        GitObjects(Git(tmp_path)).commit_id("HEAD")


def test_a_repository_of_another_user_is_named_as_such(objects: GitObjects, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git refuses such a one, as in a container: nobody is told to run 'git init' in it, but how to vouch for it."""
    monkeypatch.setitem(git_process._SET, "GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    git = Git(root_of(objects))
    (git.root / "other").write_text("changed\n")
    advice = "because another user owns it.*git config --global --add safe.directory"

    with pytest.raises(EnvironmentFault, match=advice):
        GitObjects(git).commit_id("HEAD")
    with pytest.raises(EnvironmentFault, match=advice):
        git.commit("Change the other", ["other"])


def test_a_blob_that_is_not_there_is_a_damaged_repository(objects: GitObjects) -> None:
    """A missing object is named."""
    with pytest.raises(EnvironmentFault, match="missing from the repository"):
        objects.read_many(["0" * 39 + "1"])


def test_a_commit_on_a_branch_leaves_the_working_tree_alone(objects: GitObjects) -> None:
    """The new branch holds the changes; what is checked out, staged or edited stays as it was."""
    root = root_of(objects)
    (root / "staged").write_text("x")
    git(objects, "add", "staged")
    (root / "other").write_text("edited\n")
    before = git(objects, "status", "--porcelain")
    parent = objects.commit_id("HEAD")

    made = objects.commit("ideas", {"archive/new.jsonl": b"\x00new\r\n", "other": None}, "Ideas\n", parent=parent)

    assert git(objects, "status", "--porcelain") == before
    assert git(objects, "branch", "--show-current") == "main\n"
    assert objects.branch("ideas") == made
    assert {entry.path for entry in objects.tree(made)} == {"archive/new.jsonl", "archive/ä.jsonl"}
    assert objects.read(next(entry.id for entry in objects.tree(made) if "new" in entry.path)) == b"\x00new\r\n"
    again = objects.commit("ideas", {"more": b"x"}, "More", parent=made)
    assert git(objects, "log", "--format=%s", "ideas").split() == ["More", "Ideas", "First"]
    assert objects.branch("ideas") == again


def test_a_branch_that_moved_or_is_checked_out_is_refused(objects: GitObjects) -> None:
    """Nobody's commit is overwritten, and the checked-out branch never moves under its files."""
    parent = objects.commit_id("HEAD")
    made = objects.commit("ideas", {"a": b"x"}, "A", parent=parent)

    with pytest.raises(EnvironmentFault, match="already exists with another commit"):
        objects.commit("ideas", {"b": b"x"}, "B", parent=parent)
    with pytest.raises(UsageError, match="checked out"):
        objects.commit("main", {"b": b"x"}, "B", parent=parent)
    assert objects.branch("ideas") == made


@pytest.mark.parametrize("name", ["", "-d", "a..b", "a b", "x.lock", "a\0b", "../main", "@{-1}"])
def test_what_cannot_name_a_branch_is_bad_usage(name: str, objects: GitObjects) -> None:
    """No path, range or option hides in the name of a branch."""
    with pytest.raises(UsageError, match="cannot name a branch"):
        objects.commit(name, {}, "X", parent=objects.commit_id("HEAD"))
