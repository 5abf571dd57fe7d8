"""Commands that change one file of a store change it and commit it, or leave everything as it was."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from memkit.cli.main import run
from memkit.runtime.memory.log.clone import claim

COMMANDS = [
    ["skill", "commit", "tea"],
    ["policy", "commit", "tea"],
    ["config", "set", "user", "ada"],
    ["skill", "rollback", "virtual-memory", "0.1.0"],
]


def git(root: Path, *arguments: str) -> str:
    """Run git in the store."""
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def changed(store: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return a store in which every command of ``COMMANDS`` has something to change."""
    skill = store / "skills" / "virtual-memory.yaml"
    skill.write_text(skill.read_text().replace("when_to_use:", "when_to_use:\n  - Always."))
    git(store, "commit", "-qam", "Count on")
    assert [run([kind, "new", "tea", "--store", str(store)]) for kind in ("skill", "policy")] == [0, 0]
    capsys.readouterr()
    return store


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing more reach the disk."""

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)


def forget_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take git's identity away."""
    for role in ("AUTHOR", "COMMITTER"):
        for key in ("NAME", "EMAIL"):
            monkeypatch.delenv(f"GIT_{role}_{key}")


def hide_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take git off the path."""
    monkeypatch.setenv("PATH", "/nonexistent")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("obstacle", [fill_disk, forget_identity, hide_git])
def test_a_change_that_cannot_be_made_leaves_nothing(
    command: list[str],
    obstacle: object,
    changed: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without room, identity or git the command exits 3 in one line, and given again it works."""
    assert callable(obstacle)
    claim(changed)
    before = git(changed, "status", "--porcelain")
    with monkeypatch.context() as patch:
        obstacle(patch)
        assert run([*command, "--store", str(changed)]) == 3
    said = capsys.readouterr().err
    assert said.startswith("memkit: ") and said.count("\n") == 1
    assert git(changed, "status", "--porcelain") == before

    assert run([*command, "--store", str(changed)]) == 0
    others = [line for line in before.splitlines() if command[0][:5] not in line or "commit" not in command]
    assert git(changed, "status", "--porcelain").splitlines() == others


@pytest.mark.parametrize("command", COMMANDS[:3], ids=" ".join)
def test_a_change_in_the_middle_of_a_merge_is_taken_back(
    command: list[str], changed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Git commits no single file during a merge: the command says so, and what is being merged stays as it is."""
    git(changed, "checkout", "-qb", "other", "HEAD~1")
    (changed / "note.md").write_text("A note.\n")
    git(changed, "add", "note.md")
    git(changed, "commit", "-qm", "Note")
    git(changed, "merge", "--no-commit", "--no-ff", "main")
    before = git(changed, "status", "--porcelain")

    assert run([*command, "--store", str(changed)]) == 3

    assert "merge" in capsys.readouterr().err
    assert git(changed, "status", "--porcelain") == before


@pytest.mark.parametrize("command", [["skill", "new", "tea"], ["policy", "new", "tea"], COMMANDS[2]], ids=" ".join)
def test_a_store_that_is_no_repository_can_be_changed(command: list[str], store: Path) -> None:
    """Where there is no git history, the file alone is written."""
    (store / ".git").rename(store.parent / "elsewhere")

    assert run([*command, "--store", str(store)]) == 0


def test_the_format_is_no_setting(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A store cannot be told to be of another format, which would shut it."""
    assert run(["config", "set", "format", "2", "--store", str(store)]) == 2
    assert run(["config", "show", "--store", str(store)]) == 0


def test_an_export_that_does_not_fit_leaves_the_old_sheet(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A full disk does not leave half a sheet, which would be in the way of the next export."""
    with monkeypatch.context() as patch:
        fill_disk(patch)
        assert run(["skill", "export", "virtual-memory", "--store", str(store)]) == 3

    assert not list((store / "outputs").rglob("*SKILL.md*"))
    assert run(["skill", "export", "virtual-memory", "--store", str(store)]) == 0
