"""The git wrapper runs nothing that a store's own configuration names."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from memkit.errors import EnvironmentFault, StoreFault
from memkit.store import git_process
from memkit.store.git import Git


@pytest.fixture
def repository(tmp_path: Path) -> Git:
    """Make an empty repository."""
    git = Git(tmp_path / "repo")
    git.root.mkdir()
    git.init()
    return git


@pytest.mark.parametrize(
    "setting",
    ["core.fsmonitor", "filter.evil.clean", "filter.evil.process", "core.hooksPath", "gpg.program"],
)
def test_a_hostile_configuration_runs_nothing(setting: str, repository: Git, tmp_path: Path) -> None:
    """Monitors, filters, hooks and signing programs of the store stay silent during a commit."""
    trap, mark = tmp_path / "trap", tmp_path / "ran"
    trap.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    trap.chmod(0o755)
    value = str(trap)
    if setting == "core.hooksPath":
        hooks = tmp_path / "hooks"
        hooks.mkdir()
        (hooks / "pre-commit").symlink_to(trap)
        value = str(hooks)
    (repository.root / ".gitattributes").write_text("* filter=evil\n")
    (repository.root / "fact.txt").write_text("x\n")
    subprocess.run(["git", "config", setting, value], cwd=repository.root, check=True)
    subprocess.run(["git", "config", "commit.gpgSign", "true"], cwd=repository.root, check=True)

    commit = Git(repository.root).commit("Remember", [".gitattributes", "fact.txt"])

    assert commit is not None
    assert not mark.exists()


def test_a_commit_takes_only_the_named_paths(repository: Git) -> None:
    """What a person has staged stays staged and out of memkit's commit."""
    for name in ("theirs.txt", "ours.txt"):
        (repository.root / name).write_text("x")
    subprocess.run(["git", "add", "theirs.txt"], cwd=repository.root, check=True)

    repository.commit("Remember", ["ours.txt"])

    assert repository.run("show", "--name-only", "--format=", "HEAD").split() == ["ours.txt"]
    assert repository.run("diff", "--cached", "--name-only").split() == ["theirs.txt"]


def test_a_commit_without_a_change_is_none(repository: Git) -> None:
    """Nothing to commit is no error and no empty commit."""
    (repository.root / "a").write_text("x")
    assert repository.commit("One", ["a"])

    assert repository.commit("Two", ["a"]) is None


def test_a_commit_outside_of_a_repository_says_what_to_do(tmp_path: Path) -> None:
    """Somebody took the repository away, or copied the files alone."""
    (tmp_path / "notes").write_text("a\n")

    with pytest.raises(EnvironmentFault, match="git init"):
        Git(tmp_path).commit("Add notes", ["notes"])


def test_variables_of_a_calling_git_are_forgotten(repository: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run from a hook of another repository, the wrapper still reads its own."""
    monkeypatch.setenv("GIT_DIR", "/nonexistent")

    assert repository.top() == repository.root


def test_a_failing_command_says_what_git_said(repository: Git) -> None:
    """The error is git's own last line."""
    with pytest.raises(EnvironmentFault, match="git rev-parse failed"):
        repository.run("rev-parse", "--verify", "nowhere")


def test_the_cause_of_a_failure_is_told_and_its_end(
    repository: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Git ends with what it could not do, and says before why: a key that does not sign, a disk that is full."""
    person = "[commit]\ngpgSign = true\n[gpg]\nprogram = false\n[user]\nname = Ada\nemail = ada@example.org\n"
    (tmp_path / "gitconfig").write_text(person)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    (repository.root / "a").write_text("x")

    with pytest.raises(EnvironmentFault, match=r"gpg failed to sign.*failed to write commit object"):
        repository.commit("One", ["a"])


def test_a_commit_during_a_merge_says_to_finish_it(repository: Git) -> None:
    """Git commits no part of a merge, and its own words for that name neither the place nor a way on."""
    (repository.root / "a").write_text("x")
    repository.commit("One", ["a"])
    (repository.root / ".git" / "MERGE_HEAD").write_text(repository.run("rev-parse", "HEAD"))
    (repository.root / "a").write_text("y")

    with pytest.raises(EnvironmentFault, match=r"A merge is in progress in .* Finish or abort it first"):
        repository.commit("Two", ["a"])


def test_the_branch_is_read_without_running_git(repository: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    """The branch comes from HEAD, also where there is no git on the PATH."""
    monkeypatch.setenv("PATH", "")

    assert repository.head_branch() == "main"
    assert Git(repository.root.parent).head_branch() is None


def test_a_folder_of_a_repository_knows_its_branch(repository: Git) -> None:
    """A store that is a part of a project is on the project's branch, also in a linked worktree."""
    inner = repository.root / "inner"
    inner.mkdir()
    (inner / "a").write_text("x")
    repository.commit("One", ["inner/a"])
    linked = repository.root.parent / "linked"
    subprocess.run(["git", "worktree", "add", "-q", "-b", "ideas", str(linked)], cwd=repository.root, check=True)

    assert Git(inner).head_branch() == "main"
    assert Git(linked / "inner").head_branch() == "ideas"


@pytest.mark.parametrize("place", ["deep/below/.gitignore", "deep/.gitattributes"])
def test_git_does_not_wait_for_a_pipe_below_for_ever(
    place: str, repository: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git opens these files on its way through the folders; a repository that just takes long is left alone."""
    monkeypatch.setattr(git_process, "_PATIENCE", 0.2)
    (repository.root / place).parent.mkdir(parents=True)
    (repository.root / place).parent.joinpath("file").write_text("text\n")
    os.mkfifo(repository.root / place)

    with pytest.raises(StoreFault, match=f"{place} is not a file, so git would block on it"):
        repository.run("add", "-A")

    (repository.root / place).unlink()
    monkeypatch.setattr(git_process, "_PATIENCE", 0.000_001)
    assert "file" in repository.run("ls-files", "--others", "--exclude-standard")


def test_a_damaged_configuration_is_not_a_missing_identity(repository: Git) -> None:
    """Git reads no name from it, and telling it one does not help."""
    with (repository.root / ".git" / "config").open("a") as file:
        file.write("[broken\n")

    with pytest.raises(EnvironmentFault, match="bad config line"):
        repository.require_identity()
