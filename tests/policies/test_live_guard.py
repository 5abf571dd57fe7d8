"""Policies of a running agent: a changed set holds from the next turn on, whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from memkit.cli.main import run
from memkit.policies.files import LiveGuard
from memkit.store.layout import SETTLED

POLICY = "name: {name}\ndescription: d\nrule: r\nenforcement: hard\neffect: deny\nmatch: {{tool: {tool}}}\n"


class Folder:
    """A folder of policies with a guard that follows it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told: list[str] = []
        self.taken: list[int] = []
        self.moment = 1_000_000_000

    def write(self, name: str, text: str | None = None) -> None:
        """Write a policy about the tool of its name, with a time of its own."""
        self.moment += SETTLED
        path = self.path / f"{name}.yaml"
        path.write_text(text if text is not None else POLICY.format(name=name, tool=name))
        os.utime(path, ns=(self.moment, self.moment))

    def guard(self) -> LiveGuard:
        """Return the guard."""
        return LiveGuard(self.path, tell=self.told.append, taken=lambda guard: self.taken.append(len(guard.policies)))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Make a folder with one policy."""
    made = Folder(tmp_path / "policies")
    made.path.mkdir()
    made.write("send")
    return made


def stopped(guard: LiveGuard) -> list[str]:
    """Return which of three tools a guard stops."""
    return [tool for tool in ("send", "mail", "read") if guard.decide(tool, {}, {}).decision == "deny"]


def test_a_changed_set_holds_from_the_next_turn_on(folder: Folder) -> None:
    """Within a turn nothing changes; then the whole new set holds, and is accounted for."""
    guard = folder.guard()
    guard.begin_turn()
    folder.write("mail")

    assert stopped(guard) == ["send"]
    guard.begin_turn()
    assert stopped(guard) == ["send", "mail"]
    assert (folder.taken, folder.told) == ([2], [])


def test_a_value_that_changes_its_kind_alone_is_taken_over(folder: Folder) -> None:
    """``true`` and ``1`` are equal in Python, and a condition on the one does not hold for the other."""
    folder.write("mail", POLICY.format(name="mail", tool="mail, args.flag: true"))
    guard = folder.guard()
    folder.write("mail", POLICY.format(name="mail", tool="mail, args.flag: 1"))

    guard.begin_turn()

    assert guard.decide("mail", {"flag": 1}, {}).decision == "deny"
    assert guard.decide("mail", {"flag": True}, {}).decision == "allow"


def test_files_that_say_the_same_are_no_other_set(folder: Folder) -> None:
    """A file that was written again, or was too young to trust its time, is read again and not accounted for."""
    guard = folder.guard()
    folder.write("send")

    guard.begin_turn()

    assert (stopped(guard), folder.taken) == (["send"], [])
    (folder.path / "send.yaml").touch()
    assert stopped(folder.guard()) == ["send"]


def test_a_set_that_does_not_load_leaves_the_last_good_one(folder: Folder) -> None:
    """One broken file keeps the other changes out too; the fault is told once with its place."""
    guard = folder.guard()
    folder.write("mail")
    folder.write("read", "name: read\nmatch: [\n")

    for _ in range(3):
        guard.begin_turn()

    assert (stopped(guard), folder.taken) == (["send"], [])
    assert len(folder.told) == 1 and "policies/read.yaml:3" in folder.told[0]
    folder.write("read")
    guard.begin_turn()
    assert (stopped(guard), folder.taken) == (["send", "mail", "read"], [3])


def test_without_a_good_set_everything_is_denied_until_one_loads(folder: Folder) -> None:
    """An agent that starts on broken policies does nothing, says why once, and goes on when they are mended."""
    folder.write("mail", "name: [")
    guard = folder.guard()
    guard.begin_turn()

    assert (stopped(guard), len(folder.told)) == (["send", "mail", "read"], 1)
    assert "denied until" in folder.told[0] and guard.fault
    folder.write("mail")
    guard.begin_turn()
    assert (stopped(guard), guard.fault, folder.taken) == (["send", "mail"], None, [2])


def test_a_set_that_was_read_and_does_not_compile_denies_every_call(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Policies are compiled for the first call; what another version of memkit kept of a file may not compile then."""
    kept = {"name": "send", "description": "d", "rule": "r", "enforcement": "hard", "match": {"tool": {"unheard": 1}}}
    monkeypatch.setattr("memkit.policies.files.policy_data", lambda folder: {"send": {**kept, "effect": "deny"}})
    guard = folder.guard()

    assert [advice.rule for advice in guard.advice()] == ["r"]
    verdict = guard.decide("read", {}, {})
    assert verdict.decision == "deny" and "could not be loaded" in verdict.policies[0].reason


def test_a_policy_that_is_being_saved_lifts_nothing(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its last line a hard policy is valid, and advice."""
    guard = folder.guard()
    path, whole = folder.path / "send.yaml", POLICY.format(name="send", tool="send")
    path.write_text(whole[: whole.index("match")])
    rest = iter([whole])
    monkeypatch.setattr("memkit.store.files.time.sleep", lambda _: [path.write_text(text) for text in rest])

    guard.begin_turn()

    assert stopped(guard) == ["send"]


def test_a_folder_that_is_gone_lifts_nothing(folder: Folder) -> None:
    """Moving the folder away is no way to lift its policies; deleting the files in it is."""
    guard = folder.guard()
    shutil.move(folder.path, folder.path.with_name("away"))
    guard.begin_turn()

    assert stopped(guard) == ["send"] and "is gone" in folder.told[0]
    folder.path.mkdir()
    guard.begin_turn()
    assert stopped(guard) == []


def test_two_policies_that_cannot_be_one_set_change_nothing(folder: Folder) -> None:
    """A name that is not the file's, as of a copied policy, keeps the new set out."""
    guard = folder.guard()
    folder.write("copy", POLICY.format(name="send", tool="mail"))
    guard.begin_turn()

    assert (stopped(guard), len(folder.told)) == (["send"], 1)


def test_a_chat_follows_the_files_between_its_turns(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second turn of a chat is judged by the policy written after the first, and the audit log says so."""
    monkeypatch.chdir(store)
    (store / "answers.yaml").write_text(
        "- {tool: outbox, args: {text: one}}\n- {text: done}\n- {tool: outbox, args: {text: two}}\n- {text: done}\n"
    )
    text = POLICY.format(name="no_outbox", tool="outbox")

    def lines() -> object:
        yield "first\n"
        (store / "policies/no_outbox.yaml").write_text(text)
        yield "second\n"

    class Spoken:
        """Standard input that writes a policy between two lines."""

        def __init__(self) -> None:
            self.lines = lines()

        def __iter__(self) -> object:
            return self.lines

        def readline(self, size: int = -1) -> str:
            return next(self.lines, "")  # type: ignore[call-overload]

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr("sys.stdin", Spoken())
    run(["chat", "--user", "ada", "--consent", "--provider", "scripted:answers.yaml", "--jsonl"])
    turns = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert [[entry["decision"] for entry in turn["data"]["policy"]] for turn in turns] == [[], ["deny"]]
    run(["audit", "--event", "policies", "--json"])
    events = json.loads(capsys.readouterr().out)["data"]["events"]
    assert [event["reason"].split(" of commit")[0] for event in events] == ["5 policies"]
