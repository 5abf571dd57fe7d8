"""A store of an older format is brought to the newest one, and one of a newer memkit is left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.store.config import FORMAT
from memkit.store.git import Git
from memkit.store.migrations import STEPS, UNSTATED


def asked(store: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, Any]]:
    """Run the command and return its exit code and its envelope."""
    capsys.readouterr()
    code = run(["migrate", "--store", str(store), "--json", *options])
    envelope: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, envelope


def rewrite(store: Path, stated: str) -> None:
    """Put another line in the place of the one that states the format, and commit that."""
    manifest = store / "memkit.yaml"
    manifest.write_text(manifest.read_text().replace(f"format: {FORMAT}\n", stated))
    Git(store).run("commit", "-qam", "Edit by hand")


def test_steps_lead_from_every_older_format_to_this_one() -> None:
    """A new format comes with the step that leads to it."""
    assert sorted(STEPS) == list(range(UNSTATED, FORMAT))


def test_a_store_of_this_format_is_left_alone(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing to do, which is no failure."""
    before = (store / "memkit.yaml").read_bytes()

    code, envelope = asked(store, capsys)

    assert code == 0
    assert envelope["data"] == {"from": FORMAT, "to": FORMAT, "steps": [], "commits": []}
    assert (store / "memkit.yaml").read_bytes() == before


def test_a_format_that_nobody_stated_is_stated(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One commit a step, which keeps what else the file says; a dry run only names them."""
    rewrite(store, "# ours\n")
    dry = asked(store, capsys, "--dry-run")[1]["data"]
    steps = ["state the format in memkit.yaml", "state format 2, whose lines have links"]
    assert dry == {"from": None, "to": FORMAT, "steps": steps, "commits": []}
    assert "format:" not in (store / "memkit.yaml").read_text()

    code, envelope = asked(store, capsys)

    assert code == 0
    assert envelope["data"]["commits"] == Git(store).run("rev-list", "--reverse", "-2", "HEAD").split()
    text = (store / "memkit.yaml").read_text()
    assert "# ours" in text and "format: 2" in text
    assert asked(store, capsys)[1]["data"]["steps"] == []


def test_a_store_of_a_newer_memkit_is_refused_untouched(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody guesses what its files mean."""
    rewrite(store, "format: 99\n")

    code, envelope = asked(store, capsys)

    assert code == 3
    assert "Upgrade memkit-agent" in envelope["diagnostics"][0]["message"]
    assert "format: 99" in (store / "memkit.yaml").read_text()
