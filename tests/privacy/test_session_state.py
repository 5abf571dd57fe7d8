"""What a session leaves beside its turns goes with its user, is carried with them, and is sealed as they are."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.runtime.memory.log.clone import state_folder
from memkit.runtime.memory.record.lines import Sealer
from memkit.runtime.memory.tiers.sessions import session_digest
from memkit.store.sessions import Checkpoints
from memkit.workspace import Workspace
from tests.privacy.conftest import Ask
from tests.privacy.traces import commit, erase, leaking

CANARIES = (b"marzipan", b"umbrella", b"periscope", b"Gwendolyn")


def steps_of(user: str, session: str, text: str) -> list[dict[str, Any]]:
    """Return what the journal of a session holds of a turn that was cut off."""
    whose = {"user_id": user, "session_id": session, "at": "2026-03-01T10:00:00+00:00"}
    return [
        {"op": "opened", "turn_id": 2, "text": text, "instruction": False, "moment": 1, **whose},
        {"op": "answered", "said": "", "calls": [], "usage": {}, **whose},
    ]


def live_through(store: Path, user: str) -> None:
    """Let a user talk in a session that is named, forked, at work on a task, and cut off in mid-turn."""
    words = ("chat", "--user", user, "--store", str(store))
    run([*words, "--session", "main", "--name", f"Gwendolyn of {user}", "--consent", "-p", "I hid the marzipan well."])
    run([*words, "--session", "fork", "--fork", "main", "-p", "I lost the umbrella yesterday."])
    with Workspace(store) as workspace:
        path = workspace.sessions / f"{session_digest(user, 'fork')}.json"
        sealer: Sealer = workspace.sealer
        content = dict(sealer.open(json.loads(path.read_text())))
        content["working"] = {"task": "Build the periscope", "goals": [{"text": "Find the mirror", "subgoals": []}]}
        path.write_text(json.dumps(sealer.seal(content)))
        steps = Checkpoints(workspace.sessions.parent / "checkpoints", sealer)
        steps.bring_back(user, "cut", steps_of(user, "cut", "I hid the marzipan in the umbrella"))


def exported(store: Path, user: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines of an export."""
    capsys.readouterr()
    assert run(["memory", "export", "--user", user, "--store", str(store)]) == 0
    return capsys.readouterr().out.splitlines()


def test_an_erasure_finds_names_forks_tasks_and_open_steps(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of a session is left of the one who is erased, and everything of another with the same sessions."""
    for user in ("alice", "bob"):
        live_through(store, user)
    commit(store)
    bobs = exported(store, "bob", capsys)

    code, answer = erase(store, capsys, "--whole-repository", user="alice")

    assert (code, sum(place["traces"] for place in answer["data"]["scanned"])) == (0, 0)
    assert answer["data"]["removed"]["checkpoints"] >= 1 and answer["data"]["removed"]["sessions"] >= 4
    kept = [json.loads(line) for line in exported(store, "bob", capsys)]
    assert len(kept) == len(bobs)
    assert not any(path.match(f"*{session_digest('alice', '*')}*") for path in (store / ".memkit").rglob("*"))
    assert run(["sessions", "list", "--user", "alice", "--json", "--store", str(store)]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["sessions"] == []


def test_when_a_task_was_kept_is_nothing_that_the_user_said(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines of the same minute are no traces: those of others, and those that the erasure itself writes."""
    live_through(store, "alice")
    with Workspace(store) as workspace:
        path = workspace.sessions / f"{session_digest('alice', 'fork')}.json"
        content = json.loads(path.read_text())
        content["working"]["at"] = "2026-05-17T09:41:22.100000Z"
        path.write_text(json.dumps(content))
    (store / "trains.md").write_text("The last one left at 2026-05-17T09:41:59.\n")
    commit(store)

    code, answer = erase(store, capsys, "--whole-repository", user="alice")

    assert (code, sum(place["traces"] for place in answer["data"]["scanned"])) == (0, 0)


def test_of_a_user_alone_no_word_stays(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No byte of any place of a session is in a file or an object afterwards."""
    live_through(store, "alice")
    commit(store)
    assert leaking(store, CANARIES)

    erase(store, capsys)

    assert leaking(store, CANARIES) == []


def test_nobody_is_erased_in_the_middle_of_a_conversation(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A chat that goes on would write down again what was erased: exit 3, and nothing was changed."""
    live_through(store, "alice")
    commit(store)
    path = state_folder(store) / "checkpoints" / f"{session_digest('alice', 'main')}.jsonl"
    path.touch(mode=0o600)
    handle = os.open(path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)

    code, answer = erase(store, capsys)

    assert (code, answer["diagnostics"][0]["code"]) == (3, "session-in-use")
    assert leaking(store, CANARIES)
    os.close(handle)
    assert erase(store, capsys)[0] == 0


def test_an_open_session_is_listed_as_such_and_neither_removed_nor_renamed(ask: Ask, store: Path) -> None:
    """Whoever talks in it would write over either: exit 3, and all of it stays."""
    live_through(store, "alice")
    path = state_folder(store) / "checkpoints" / f"{session_digest('alice', 'main')}.jsonl"
    path.touch(mode=0o600)
    handle = os.open(path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)

    listed = {one["session"]: one["open"] for one in ask("sessions", "list", "--user", "alice")[1]["data"]["sessions"]}

    assert listed == {"main": True, "fork": False}
    assert ask("sessions", "rm", "fork", "main", "--user", "alice", "--yes")[0] == 3
    assert ask("sessions", "rename", "main", "other", "--user", "alice")[0] == 3
    assert len(ask("sessions", "list", "--user", "alice")[1]["data"]["sessions"]) == 2
    os.close(handle)
    assert ask("sessions", "rm", "fork", "main", "--user", "alice", "--yes")[0] == 0


def test_an_export_carries_it_and_a_restore_brings_it_back(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After export, erasure and restore there are the same sessions, names, parents, tasks and open steps."""
    live_through(store, "alice")
    commit(store)
    before = exported(store, "alice", capsys)
    file = tmp_path / "alice.jsonl"
    file.write_text("\n".join(before) + "\n")
    other = tmp_path / "other"
    run(["init", str(other)])

    assert run(["memory", "import", str(file), "--restore", "--user", "alice", "--store", str(other)]) == 0

    told = {(data.get("op"), data.get("target")): data for data in map(json.loads, before)}
    assert told["session", "main"]["fields"]["name"] == "Gwendolyn of alice"
    assert told["session", "fork"]["fields"]["parent"] == "main"
    assert told["session", "fork"]["fields"]["working"]["task"] == "Build the periscope"
    assert told["checkpoint", "cut"]["fields"]["op"] in ("opened", "answered")
    assert exported(other, "alice", capsys) == before
    run(["sessions", "list", "--user", "alice", "--json", "--store", str(other)])
    found = json.loads(capsys.readouterr().out)["data"]["sessions"]
    assert {(one["session"], one["name"], one["parent"]) for one in found} == {
        ("main", "Gwendolyn of alice", None),
        ("fork", None, "main"),
    }


def test_sealing_hides_all_of_it(sealing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where text is sealed no name, task or step is to be read; the index and the audit log are said to be clear."""
    live_through(sealing, "alice")

    state = state_folder(sealing)
    held = [path.read_bytes() for name in ("sessions", "checkpoints") for path in (state / name).rglob("*.json*")]
    assert len(held) >= 5
    assert [word for word in CANARIES if any(word in data for data in held)] == []
    run(["sessions", "list", "--user", "alice", "--json", "--store", str(sealing)])
    assert "Gwendolyn of alice" in capsys.readouterr().out


def test_a_sweep_lets_go_of_old_steps(store: Path) -> None:
    """Steps that nobody went on with for as long as sessions are kept are gone."""
    live_through(store, "alice")
    folder = state_folder(store) / "checkpoints"
    old = folder / f"{session_digest('alice', 'cut')}.jsonl"
    os.utime(old, (1, 1))

    assert run(["memory", "sweep", "--store", str(store)]) == 0

    assert not old.exists()
