"""``memkit policy export``: the text on one channel, the account on the other, and nothing half-written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memkit.cli.main import run


def words(store: Path, *more: str) -> list[str]:
    """Return the command with its store."""
    return ["policy", "export", *more, "--store", str(store)]


def test_the_text_goes_to_standard_output_and_the_account_to_standard_error(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The output can be piped; what permits more is said loudly and does not change the exit code."""
    assert run(words(store, "--format", "claude-code")) == 0
    told = capsys.readouterr()

    assert "Bash(rm *)" in json.loads(told.out)["permissions"]["ask"]
    assert "untrusted_recall_approval (ask): NOT EXPORTED\n" in told.err
    assert "WEAKER THAN MEMKIT: calls that destructive_command_approval, " in told.err


def test_the_account_is_data(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each policy has a state and its reasons; each that is weaker is a warning."""
    assert run(words(store, "--format", "cedar", "--json")) == 0
    told = json.loads(capsys.readouterr().out)

    states = {policy["name"]: policy["state"] for policy in told["data"]["policies"]}
    assert states["untrusted_recall_approval"] == "wider" and states["destructive_command_approval"] == "wider"
    assert told["schema"] == "memkit.policy.export/1"
    assert told["data"]["content"].startswith("// Written by memkit")
    warned = {finding["path"] for finding in told["diagnostics"] if finding["severity"] == "warning"}
    assert warned == {f"policies/{name}.yaml" for name in told["data"]["weaker"]}


def test_a_weaker_export_can_be_refused_or_tightened(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused, nothing is written and the exit code is 1; tightened, nothing is weaker."""
    out = tmp_path / "policies.cedar"

    assert run(words(store, "--format", "cedar", "--out", str(out), "--losses", "refuse")) == 1
    assert not out.exists()
    assert run(words(store, "--format", "cedar", "--out", str(out), "--losses", "tighten")) == 0
    assert out.read_text().count("\nforbid (") == 4
    capsys.readouterr()
    assert run(words(store, "--format", "cedar", "--losses", "tighten", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["data"]["weaker"] == []


def test_a_file_that_holds_something_else_stays(store: Path, tmp_path: Path) -> None:
    """Settings hold more than permissions; they are replaced only when that is asked for."""
    out = tmp_path / "settings.json"
    out.write_text('{"model": "mine"}')
    command = words(store, "--format", "claude-code", "--out", str(out))

    assert run(command) == 2
    assert out.read_text() == '{"model": "mine"}'
    assert run([*command, "--force"]) == 0
    assert run(command) == 0
    assert "permissions" in json.loads(out.read_text())


def test_broken_policies_and_none_are_not_exported(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A set that does not load permits nothing, so no export could stand for it; an empty one is no success either."""
    broken = store / "policies" / "broken.yaml"
    broken.write_text("name: broken\n")
    assert run(words(store, "--format", "cedar")) == 2
    assert "policies/broken.yaml:1:1" in capsys.readouterr().err

    for path in (store / "policies").glob("*.yaml"):
        path.unlink()
    assert run(words(store, "--format", "cedar")) == 1
    assert run(words(store, "--format", "cedr")) == 2
