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


def evil_filter(folder: Path, mark: Path) -> str:
    """Return settings whose filter leaves a mark, and let it apply to every file below ``folder``."""
    (folder / ".gitattributes").write_text("* filter=evil\n")
    return f'[filter "evil"]\n\tclean = "touch {mark}; cat"\n'


@pytest.mark.parametrize("place", ["config", "included", "worktree", "included by what came later"])
def test_what_a_repository_names_while_memkit_is_running_runs_nothing(
    place: str, repository: Git, tmp_path: Path
) -> None:
    """A server of months has read the settings before somebody adds a program to them."""
    own, mark = repository.root / ".git", tmp_path / "ran"
    extra = own / ("config.worktree" if place == "worktree" else "extra")
    before = {"included": "[include]\n\tpath = extra\n", "worktree": "[extensions]\n\tworktreeConfig = true\n"}
    with (own / "config").open("a") as config:
        config.write(before.get(place, ""))
    (repository.root / "fact.txt").write_text("x\n")
    assert repository.commit("Remember", ["fact.txt"])

    evil = evil_filter(repository.root, mark)
    (own / "config" if place == "config" else extra).open("a").write(evil)
    if place == "included by what came later":
        (own / "config").open("a").write("[include]\n\tpath = extra\n")
    (repository.root / "fact.txt").write_text("y\n")

    assert repository.commit("Remember", [".gitattributes", "fact.txt"])
    assert not mark.exists()


def test_a_repository_that_was_made_while_memkit_is_running_runs_nothing(tmp_path: Path) -> None:
    """The settings of no repository are not those of one that was made since."""
    git, mark = Git(tmp_path), tmp_path / "ran"
    assert not git.is_repository()
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / ".git" / "config").open("a").write(evil_filter(tmp_path, mark))
    (tmp_path / "fact.txt").write_text("x\n")

    assert git.commit("Remember", [".gitattributes", "fact.txt"])
    assert not mark.exists()


def test_a_link_that_came_while_memkit_is_running_is_not_written_through(repository: Git, tmp_path: Path) -> None:
    """What memkit found in order once can lead out by its next commit."""
    (repository.root / "fact.txt").write_text("x\n")
    assert repository.commit("Remember", ["fact.txt"])
    outside = tmp_path / "outside"
    (repository.root / ".git" / "logs" / "HEAD").rename(outside)
    (repository.root / ".git" / "logs" / "HEAD").symlink_to(outside)
    before = outside.read_bytes()
    (repository.root / "fact.txt").write_text("y\n")

    with pytest.raises(StoreFault, match="is a link out of the repository"):
        repository.commit("Remember", ["fact.txt"])
    assert outside.read_bytes() == before


def test_a_command_is_one_process_while_the_settings_stay(
    repository: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Listing the settings before every command would double what git costs; a person's own file counts as well."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "own"))
    (tmp_path / "own").write_text("[user]\n\tname = Ada\n")
    assert repository.run("config", "user.name").strip() == "Ada"
    started: list[object] = []
    start = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda words, **more: (started.append(words), start(words, **more))[1])

    Git(repository.root).run("rev-parse", "--git-dir")
    assert len(started) == 1
    (tmp_path / "own").write_text("[user]\n\tname = Bob\n")
    assert Git(repository.root).run("config", "user.name").strip() == "Bob"
    assert len(started) == 3


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
