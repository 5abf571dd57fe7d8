"""A commit that was killed bars nobody, and what somebody else's git holds is left alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest

from memkit.errors import EnvironmentFault
from memkit.store import git
from memkit.store.git import Git, writing
from memkit.store.layout import git_folder


@pytest.fixture
def repository(tmp_path: Path) -> Git:
    """Make a repository with one commit and one change."""
    git = Git(tmp_path / "repo")
    git.root.mkdir()
    git.init()
    (git.root / "a").write_text("x")
    git.commit("One", ["a"])
    (git.root / "a").write_text("y")
    return git


def put_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    """Put a program in front of git that does ``script`` where something is added."""
    before = tmp_path / "bin" / "git"
    before.parent.mkdir()
    before.write_text(f'#!/bin/sh\nif [ "$1" = add ]; then {script}; fi\nexec {shutil.which("git")} "$@"\n')
    before.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((str(before.parent), os.environ["PATH"])))


def commit_in_a_child(git: Git) -> int:
    """Commit in a process group of its own and return how that ended."""
    child = os.fork()
    if child == 0:
        os.setsid()
        try:
            git.commit("Two", ["a"])
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("lock", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_what_a_killed_commit_left_locked_is_cleared_away(
    lock: str, repository: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Git itself would refuse for ever."""
    with monkeypatch.context() as patched:
        put_git(patched, tmp_path, f"touch .git/{lock}; kill -9 0")
        assert commit_in_a_child(repository) == -9
    assert (repository.root / ".git" / lock).exists()

    assert repository.commit("Two", ["a"])

    assert repository.run("log", "--format=%s").split() == ["Two", "One"]
    assert repository.run("status", "--porcelain") == ""
    assert not list((repository.root / ".git").rglob("*.lock"))


@pytest.mark.parametrize("left", [False, True], ids=["after a commit", "after a killed commit"])
def test_the_lock_of_somebody_else_stays_and_is_named(
    left: bool, repository: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person's commit that waits in an editor is not disturbed, whatever became of one of memkit's before."""
    monkeypatch.setattr(git, "COURTESY", 0.0)
    folder = repository.root / ".git"
    if left:
        (folder / git.BUSY_FILE).write_text("writing\n")
        long_ago = time.time() - 2 * git.SLOWEST
        os.utime(folder / git.BUSY_FILE, (long_ago, long_ago))
    (folder / "index.lock").touch()

    with pytest.raises(EnvironmentFault, match=r"\.git/index\.lock exists: another git process is running"):
        repository.commit("Two", ["a"])

    (folder / "index.lock").unlink()
    assert repository.commit("Two", ["a"])


def test_two_that_commit_at_once_do_it_one_after_the_other(repository: Git) -> None:
    """Neither fails; the second waits."""
    entered, leave = threading.Event(), threading.Event()

    folder = git_folder(repository.root)
    assert folder is not None

    def hold() -> None:
        with writing(folder):
            entered.set()
            leave.wait(5)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait(5)
    committing = threading.Thread(target=lambda: repository.commit("Two", ["a"]))
    committing.start()
    committing.join(0.3)
    assert committing.is_alive()
    leave.set()
    committing.join(10)
    holder.join()

    assert repository.run("log", "--format=%s").split() == ["Two", "One"]


def test_a_git_that_outlives_its_memkit_is_waited_for(
    repository: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Killed alone, memkit leaves a git that goes on: what it has locked is not taken from it."""
    with monkeypatch.context() as patched:
        put_git(patched, tmp_path, 'touch .git/index.lock; kill -9 "$PPID"; sleep 0.4; rm .git/index.lock; exit 1')
        assert commit_in_a_child(repository) == -9
    begun = time.monotonic()

    assert repository.commit("Two", ["a"])

    assert time.monotonic() - begun > 0.2
    assert subprocess.run(["git", "fsck"], cwd=repository.root, check=False).returncode == 0
