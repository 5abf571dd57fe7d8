"""``memkit policy stats``: what the audit log of this machine says about each policy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memkit.cli.main import run

POLICY = "destructive_command_approval"


def stats(store: Path, capsys: pytest.CaptureFixture[str], *name: str, code: int = 0) -> dict[str, object]:
    """Run the command and return its data."""
    capsys.readouterr()
    assert run(["policy", "stats", *name, "--json", "--store", str(store)]) == code
    return json.loads(capsys.readouterr().out)["data"]


def test_verdicts_of_agents_are_counted(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A call that a policy stopped counts for that policy alone, and one that none matched for no policy."""
    for text in ("Run rm -rf /srv", "Run rm -rf /srv", "send hello to bob"):
        run(["chat", "--user", "ada", "--consent", "-p", text, "--store", str(store)])

    used = {one["name"]: one for one in stats(store, capsys)["policies"]}

    assert used[POLICY]["matched"] == 2
    assert used[POLICY]["decisions"] == {"deny": 0, "ask": 2, "warn": 0, "allow": 0}
    assert str(used[POLICY]["last_used"]).endswith("Z")
    others = [one for name, one in used.items() if name != POLICY]
    assert others
    assert all((one["matched"], one["last_used"]) == (0, None) for one in others)


def test_one_policy_can_be_named_also_when_it_is_gone(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a policy did stays known after its file went; an unknown name is not found, with a suggestion."""
    run(["chat", "--user", "ada", "--consent", "-p", "Run rm -rf /srv", "--store", str(store)])
    (store / "policies" / f"{POLICY}.yaml").unlink()

    assert stats(store, capsys, POLICY)["matched"] == 1
    assert stats(store, capsys, "destructive_command_aproval", code=1) is None


def test_a_person_reads_a_line_for_each(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without ``--json`` it says what each policy said, or that it matched nothing yet."""
    run(["chat", "--user", "ada", "--consent", "-p", "Run rm -rf /srv", "--store", str(store)])
    capsys.readouterr()

    assert run(["policy", "stats", "--store", str(store)]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert any(line.startswith(f"{POLICY}: 1 ask; last at ") for line in lines)
    assert any(line.endswith(": matched no call yet") for line in lines)
