"""A kill, a broken disk or a full one at every change of the disk: nothing is lost, torn or half done."""

from __future__ import annotations

import errno
import json
import shutil
import signal
from pathlib import Path

import pytest

from memkit.cli.main import run
from tests.privacy.killed import run_killed
from tests.privacy.traces import BOB, TEXT, erase, git, leaking

FAULTS = {"killed": None, "broken disk": errno.EIO, "full disk": errno.ENOSPC}
AT_ERASING = 8
"""Faults in an erasure, spread evenly over its changes; there are hundreds."""


def _texts(store: Path, capsys: pytest.CaptureFixture[str], user: str) -> list[str]:
    capsys.readouterr()
    assert run(["memory", "list", "--user", user, "--json", "--store", str(store)]) == 0
    return sorted(record["text"] for record in json.loads(capsys.readouterr().out)["data"]["records"])


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("command", ["add", "supersede", "commit"])
def test_a_write_is_done_or_not_done(
    command: str, fault: str, peopled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was acknowledged is there, what was not is whole or absent, and the next write goes on."""
    listing = ["memory", "list", "--user", "alice", "--json", "--store", str(peopled)]
    capsys.readouterr()
    run(listing)
    known = next(each["id"] for each in json.loads(capsys.readouterr().out)["data"]["records"] if each["text"] == TEXT)
    before, new = _texts(peopled, capsys, "alice"), "Alice has a kite now"
    words = {
        "add": ["memory", "add", new, "--user", "alice"],
        "supersede": ["memory", "supersede", known, new, "--user", "alice"],
        "commit": ["commit"],
    }[command]
    done = {"add": sorted([*before, new]), "supersede": sorted({*before, new} - {TEXT}), "commit": before}[command]
    counted, point, ends = tmp_path / "counted", 0, set()
    while True:
        point += 1
        counted.unlink(missing_ok=True)
        store = Path(shutil.copytree(peopled, tmp_path / f"{point}", symlinks=True))
        code = run_killed([*words, "--store", str(store)], point, "at-once", counted, FAULTS[fault])
        assert code in ((0, 1, 3) if FAULTS[fault] else (0, -signal.SIGKILL)), (point, code, capsys.readouterr())

        found = _texts(store, capsys, "alice")
        assert found == done or (found == before and code != 0), point
        ends.add(found == done)
        assert _texts(store, capsys, "bob") == [BOB], point
        assert run(["memory", "add", "Alice goes on", "--user", "alice", "--store", str(store)]) == 0, point
        assert run(["commit", "--store", str(store)]) == 0, (point, capsys.readouterr())
        assert run(["fsck", "--store", str(store)]) == 0, (point, capsys.readouterr())
        assert git(store, "fsck", "--no-dangling") == "", point
        assert git(store, "status", "--short", "archive") == "", point
        shutil.rmtree(store)
        if counted.exists() and int(counted.read_text()) < point:
            break
    assert point > 3 and True in ends


@pytest.mark.parametrize("fault", ["broken disk", "full disk"])
def test_an_erasure_is_done_or_not_done(
    fault: str, peopled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bob keeps what he had, and erasing again ends it."""
    words, counted = ["memory", "erase", "--user", "alice", "--yes", "--store"], tmp_path / "counted"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "keys-of-the-whole"))
    whole = shutil.copytree(peopled, tmp_path / "whole", symlinks=True)
    assert run_killed([*words, str(whole)], 0, "at-once", counted) == 0
    total = int(counted.read_text()) - 6  # the count differs a little from run to run
    for point in sorted({1 + number * (total - 1) // (AT_ERASING - 1) for number in range(AT_ERASING)}):
        store = Path(shutil.copytree(peopled, tmp_path / f"{point}", symlinks=True))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / f"keys-{point}"))
        code = run_killed([*words, str(store)], point, "at-once", counted, FAULTS[fault])
        assert code in (0, 1, 3), (point, code, capsys.readouterr())

        assert _texts(store, capsys, "bob") == [BOB], point
        assert git(store, "fsck", "--no-dangling") == "", point
        assert code != 0 or leaking(store) == [], point
        code, answer = erase(store, capsys)
        assert leaking(store) == [], point
        assert code in (0, 1), (point, answer)
        shutil.rmtree(store)
