"""A kill at any point of an erasure leaves the old store or the new one, and the next start finishes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memkit.cli.main import run
from tests.privacy.traces import BOB, erase, git, leaking

POINTS = 10
"""Kills, spread evenly over all changes of names on the disk."""


def _run_killed(store: Path, point: int, how: str) -> subprocess.CompletedProcess[str]:
    arguments = ["memory", "erase", "--user", "alice", "--yes", "--store", str(store)]
    return subprocess.run(
        [sys.executable, "-m", "tests.privacy.killed", str(point), how, *arguments],
        capture_output=True, text=True, cwd=Path(__file__).parents[2], env=os.environ,
    )  # fmt: skip


@pytest.mark.parametrize("how", ["at-once", "in-two-renames"])
def test_a_kill_leaves_the_old_store_or_the_new_one(
    how: str, peopled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Afterwards one start makes the store whole, Bob has what he had, and erasing again proves the end."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "keys-of-the-count"))
    counted = _run_killed(Path(shutil.copytree(peopled, tmp_path / "count", symlinks=True)), 0, how)
    assert counted.returncode == 0, counted.stderr
    total = int(counted.stderr.split()[-1]) - 6  # the count differs a little from run to run
    finished = 0
    for point in sorted({1 + number * (total - 1) // (POINTS - 1) for number in range(POINTS)}):
        store = Path(shutil.copytree(peopled, tmp_path / f"{point}", symlinks=True))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / f"keys-{point}"))
        assert _run_killed(store, point, how).returncode == -signal.SIGKILL

        assert run(["memory", "list", "--user", "bob", "--json", "--store", str(store)]) == 0, point
        listed = json.loads(capsys.readouterr().out)["data"]["records"]
        assert [record["text"] for record in listed] == [BOB], point
        assert git(store, "fsck") == "", point
        assert leaking(store) == [] or run(["memory", "list", "--user", "alice", "--store", str(store)]) == 0
        finished += leaking(store) == []

        code, answer = erase(store, capsys)
        assert leaking(store) == [], point
        assert code in (0, 1), (point, answer)
    assert 0 < finished < POINTS


def test_an_unproven_erasure_is_said_and_proven_later(
    peopled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the process died after the change, the next start says so, and erasing again writes the certificate."""
    from memkit.use_cases import erase_user

    def died(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(erase_user, "_scan", died)
        assert run(["memory", "erase", "--user", "alice", "--yes", "--store", str(peopled)]) == 130
    assert leaking(peopled) == []

    code, answer = erase(peopled, capsys)

    assert code == 1
    written = json.loads(Path(answer["data"]["certificate"]).read_text())
    assert written["result"] == "incomplete proof"
    assert written["removed"]["records"] == 2
    assert not (peopled / ".memkit/state/erase").exists()


def test_an_interrupt_before_the_change_leaves_the_old_store(
    peopled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C while the history is made anew: exit 130, nothing changed, and no lock is left."""
    from memkit.privacy import rebuilding

    head = git(peopled, "rev-parse", "HEAD")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rebuilding, "_take_in", interrupted)
    assert run(["memory", "erase", "--user", "alice", "--yes", "--store", str(peopled)]) == 130

    assert git(peopled, "log", "-1", "--format=%P") == head  # the store's keys were named in a commit
    assert not list(peopled.glob(".git/*.lock"))
    assert not (peopled / ".memkit/state/erase").exists()
    assert leaking(peopled)
