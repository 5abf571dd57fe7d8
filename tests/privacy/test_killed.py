"""A kill at any point of an erasure leaves the old store or the new one, and the next start finishes."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest
from sampled import tried

from memkit.cli.main import run
from memkit.runtime.memory.log.clone import state_folder
from tests.privacy.killed import run_killed
from tests.privacy.traces import BOB, erase, git, leaking

POINTS = tried(10, 3)
"""Kills, spread evenly over all changes of names on the disk."""


ERASE = ["memory", "erase", "--user", "alice", "--yes", "--store"]


@pytest.mark.sampled
@pytest.mark.parametrize("how", ["at-once", "in-two-renames"])
def test_a_kill_leaves_the_old_store_or_the_new_one(
    how: str, peopled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Afterwards one start makes the store whole, Bob has what he had, and erasing again proves the end."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "keys-of-the-whole"))
    whole, counted = shutil.copytree(peopled, tmp_path / "whole", symlinks=True), tmp_path / "counted"
    assert run_killed([*ERASE, str(whole)], 0, how, counted) == 0
    total = int(counted.read_text()) - 6  # the count differs a little from run to run
    finished = 0
    for point in sorted({1 + number * (total - 1) // (POINTS - 1) for number in range(POINTS)}):
        store = Path(shutil.copytree(peopled, tmp_path / f"{point}", symlinks=True))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / f"keys-{point}"))
        assert run_killed([*ERASE, str(store)], point, how, counted) == -signal.SIGKILL

        assert run(["memory", "list", "--user", "bob", "--json", "--store", str(store)]) == 0, point
        listed = json.loads(capsys.readouterr().out)["data"]["records"]
        assert [record["text"] for record in listed] == [BOB], point
        assert git(store, "fsck") == "", point
        is_finished = leaking(store) == []
        assert is_finished or run(["memory", "list", "--user", "alice", "--store", str(store)]) == 0
        finished += is_finished

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

    assert code == 0
    written = json.loads(Path(answer["data"]["certificate"]).read_text())
    assert written["result"] == "nothing found"
    assert written["removed"]["records"] == 2
    assert not (state_folder(peopled) / "erase").exists()


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
    assert not (state_folder(peopled) / "erase").exists()
    assert leaking(peopled)
