"""``memkit memory sweep | restore`` at the command line: shapes, exit codes, what is dropped, what is said."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.runtime.memory.log.clone import state_folder


class Answers:
    """Run commands on one store and return their envelopes."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        """Return the envelope of ``memkit ARGUMENTS``, which must exit with ``code``."""
        exit_code = run([*arguments, "--json", "--store", str(self.root)])
        printed = self._capsys.readouterr()
        assert exit_code == code, printed
        answer: dict[str, Any] = json.loads(printed.out)
        return answer

    def add(self, text: str, *options: str, user: str = "ada") -> str:
        """Add a fact and return its id."""
        data = self("memory", "add", text, "--user", user, *options)["data"]
        return str(data["id"])


@pytest.fixture
def memkit(store: Path, capsys: pytest.CaptureFixture[str]) -> Answers:
    """Return a runner of commands on a fresh store."""
    return Answers(store, capsys)


def test_sweep_names_what_it_retires_and_why(memkit: Answers) -> None:
    """The answer, the record's history and the audit log agree; a second sweep finds nothing."""
    minor = memkit.add("Ada once saw a heron", "--importance", "0.1")
    unsure = memkit.add("Ada lives in Paris")
    memkit("memory", "update", unsure, "--confidence", "0.2")
    memkit.add("Ada prefers espresso")

    swept = memkit("memory", "sweep")
    again = memkit("memory", "sweep")

    assert swept["schema"] == "memkit.memory.sweep/1"
    assert {item["id"]: item["rule"] for item in swept["data"]["retired"]} == {
        minor: "importance",
        unsure: "confidence",
    }
    assert (swept["data"]["kept"], swept["data"]["dry_run"]) == (1, False)
    assert again["data"]["retired"] == []
    assert memkit("memory", "get", minor)["data"]["status"] == "retired"
    events = memkit("audit", "--event", "retirement")["data"]["events"]
    assert [event["ids"] for event in events] == [[minor], [unsure]]
    assert all(event["actor"] == "program" and event["reason"] for event in events)


def test_a_dry_run_changes_nothing(memkit: Answers) -> None:
    """It names what it would retire."""
    minor = memkit.add("Ada once saw a heron", "--importance", "0.1")

    answer = memkit("memory", "sweep", "--dry-run")["data"]

    assert ([item["id"] for item in answer["retired"]], answer["dry_run"]) == ([minor], True)
    assert memkit("memory", "get", minor)["data"]["status"] == "live"


def test_sweeping_an_empty_store_is_no_error(memkit: Answers) -> None:
    """Nothing was due."""
    assert memkit("memory", "sweep")["data"] | {"dropped": None} == {
        "retired": [],
        "kept": 0,
        "dry_run": False,
        "dropped": None,
    }


def test_restore_takes_a_retirement_back(memkit: Answers) -> None:
    """The record is live again and stays so; doing it twice changes nothing."""
    minor = memkit.add("Ada once saw a heron", "--importance", "0.1")
    memkit("memory", "sweep")

    assert memkit("memory", "restore", minor, "--reason", "it matters")["data"]["status"] == "live"
    assert memkit("memory", "restore", minor)["data"]["status"] == "live"

    assert memkit("memory", "sweep")["data"]["retired"] == []
    history = memkit("memory", "get", minor)["data"]["history"]
    assert [event["op"] for event in history] == ["add", "retire", "restore"]


def test_restore_brings_no_rejected_value_back(memkit: Answers) -> None:
    """Neither the rejected record itself nor another one that says the same."""
    one = memkit.add("Ada lives in Paris")
    memkit("memory", "forget", one)
    other = memkit.add("Ada lives in Paris")
    memkit("memory", "reject", other)

    assert "rejected" in memkit("memory", "restore", one, code=1)["diagnostics"][0]["message"]
    assert "rejected" in memkit("memory", "restore", other, code=1)["diagnostics"][0]["message"]


def test_restore_of_a_superseded_or_foreign_record_is_a_negative_answer(memkit: Answers) -> None:
    """What took its place stays; another user's id is not found."""
    old = memkit.add("Ada lives in Paris")
    memkit("memory", "supersede", old, "Ada lives in Berlin")

    assert "superseded" in memkit("memory", "restore", old, code=1)["diagnostics"][0]["message"]
    memkit("memory", "restore", old, "--user", "bob", code=1)


def test_get_says_where_a_forgotten_record_still_is(memkit: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the time of grace it is not found, and the message says that the archive keeps it."""
    old = memkit.add("Ada lives in Paris")
    memkit("memory", "forget", old)
    monkeypatch.setenv("MEMKIT_FORGET_KEEP_SUPERSEDED", "0s")

    message = memkit("memory", "get", old, code=1)["diagnostics"][0]["message"]

    assert "forget.keep_superseded" in message
    assert memkit("memory", "list", "--user", "ada", "--status", "retired")["data"]["records"] == []


def test_a_sweep_drops_what_outlived_its_time_on_this_machine(memkit: Answers) -> None:
    """Old turns, old sessions and old months of the audit log go, younger ones stay."""
    state = state_folder(memkit.root)
    run(["chat", "--user", "ada", "--session", "s", "-p", "Hello there", "--consent", "--store", str(memkit.root)])
    turns = next(state.glob("sessions/*/*.jsonl"))
    old = {"user_id": "ada", "session_id": "s", "turn_id": 0, "role": "user", "text": "long ago", "at": "2020-01-01"}
    turns.write_text(json.dumps(old) + "\n" + turns.read_text(encoding="utf-8"), encoding="utf-8")
    session = state / "sessions" / "old.json"
    session.write_text("{}", encoding="utf-8")
    os.utime(session, (time.time() - 30 * 86400,) * 2)
    month = state / "audit" / "2020-01.jsonl"
    month.write_text("{}\n", encoding="utf-8")
    memkit._capsys.readouterr()

    dropped = memkit("memory", "sweep")["data"]["dropped"]

    assert dropped == {"turns": 1, "sessions": 1, "audit_months": 1, "access_counts": 0}
    assert "long ago" not in turns.read_text(encoding="utf-8") and "Hello there" in turns.read_text(encoding="utf-8")
    assert not session.exists() and not month.exists()


def test_a_bad_decay_is_one_clear_line(memkit: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the setting."""
    monkeypatch.setenv("MEMKIT_FORGET_DECAY", "0.02 per 0d unused")

    assert "forget.decay" in memkit("memory", "sweep", code=2)["diagnostics"][0]["message"]
