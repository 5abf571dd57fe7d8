"""A repository is believed where it lies with its working tree or knows it; another one is not touched."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from memkit.errors import StoreFault
from memkit.store.git import Git
from memkit.store.layout import git_folder, known_git_folder


def git(folder: Path, *words: str) -> str:
    """Run plain git."""
    words = ("-c", "protocol.file.allow=always", *words)
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a repository with one commit."""
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    git(project, "commit", "-q", "--allow-empty", "-m", "One")
    return project


def test_a_linked_working_tree_shares_branches_and_has_a_head_of_its_own(project: Path, tmp_path: Path) -> None:
    """Its file .git names the place, which names it back."""
    git(project, "worktree", "add", "-q", "-b", "ideas", str(tmp_path / "linked"))

    found = git_folder(tmp_path / "linked")

    assert found is not None
    assert (found.branch, found.shared.resolve()) == ("ideas", project / ".git")
    (tmp_path / "linked" / "a").write_text("x")
    assert Git(tmp_path / "linked").commit("Two", ["a"]) == git(project, "rev-parse", "ideas")


def test_a_submodule_knows_its_working_tree(project: Path, tmp_path: Path) -> None:
    """A store may be one."""
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "--quiet", "add", str(project), "inner")
    (outer / "inner" / "a").write_text("x")

    commit = Git(outer / "inner").commit("Two", ["a"])

    assert commit == git(outer / "inner", "rev-parse", "HEAD")


def test_a_repository_kept_apart_is_believed_once_it_names_its_tree(project: Path, tmp_path: Path) -> None:
    """The refusal says how."""
    apart = tmp_path / "apart"
    apart.mkdir()
    git(apart, "init", "-q", "--separate-git-dir", str(tmp_path / "kept.git"))
    with pytest.raises(StoreFault, match=r"config core\.worktree"):
        git_folder(apart)

    git(apart, "config", "core.worktree", str(apart))

    assert git_folder(apart) is not None


@pytest.mark.parametrize("place", ["HEAD", "commondir", "../.git"])
def test_pipes_in_the_place_of_gits_files_are_not_waited_for(place: str, project: Path) -> None:
    """Whoever opens one waits for ever."""
    path = project / ".git" / place
    if place == "../.git":
        (project / ".git").rename(project / "kept")
        path = project / ".git"
    path.unlink(missing_ok=True)
    os.mkfifo(path)

    known = known_git_folder(project)

    assert known is None or (known.branch, known.head_id) == (None, None)
    if known is not None:
        with pytest.raises(StoreFault, match="is neither a file nor a folder"):
            Git(project).run("status")


def test_a_folder_of_settings_in_a_store_is_no_repository(project: Path) -> None:
    """A clone can bring along what is laid out as a bare repository, with settings; git is told not to use it."""
    store = project / "store"
    store.mkdir()
    git(store, "init", "-q", "--bare", ".")

    assert Git(store).is_repository() is False
    found = git_folder(store)
    assert found is not None and found.top == project


def test_hooks_run_where_they_are_asked_for_and_nowhere_else(project: Path) -> None:
    """A person who trusts a store wants theirs to look at what they commit."""
    hook = project / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch ran\n")
    hook.chmod(0o755)
    (project / "a").write_text("x")
    (project / "b").write_text("x")

    Git(project).commit("Two", ["a"])
    assert not (project / "ran").exists()

    Git(project).commit("Three", ["b"], hooks=True)
    assert (project / "ran").exists()


def test_nothing_that_a_calling_git_left_behind_reaches_git(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a hook of another repository git works on the one that was opened; who commits stays as the person set it."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"):
        monkeypatch.setenv(name, "/nonexistent")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.bare=true'")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Grace")
    (project / "a").write_text("x")

    assert Git(project).commit("Two", ["a"])

    assert Git(project).run("log", "-1", "--format=%an").strip() == "Grace"
