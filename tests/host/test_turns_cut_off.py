"""What a killed process leaves is the user's: kept as they agreed, told to them, and gone on with as they say."""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import scripted_target

from memkit.runtime.host.rooms import Rooms, open_rooms
from memkit.runtime.host.sessions import TurnStopped
from memkit.runtime.host.settings import load_settings
from memkit.runtime.loop.core import Intent, Reply, Turn
from memkit.runtime.loop.journal_file import JournalFile
from memkit.runtime.memory.tiers.sessions import SessionFile

if TYPE_CHECKING:
    from conftest import Host

SESSION = ("--session", "one")
CUT_OFF = [{"note": "bread"}, {"note": "fatal milk"}, "Done."]
GO_ON = ["I do not know about the milk."]


def test_what_a_killed_process_leaves_holds_no_secret(host: Host) -> None:
    """The journal is masked as every other file is."""
    key = "sk-proj-" + "a1B2c3D4e5" * 4

    code = host.elsewhere(f"Note {key}", *SESSION, "--consent", script=[{"note": f"fatal {key}"}])

    assert code == -signal.SIGKILL

    journals = list(host.store.rglob("checkpoints/*.jsonl"))
    assert journals and not [path for path in journals if key in path.read_text(encoding="utf-8")]


def test_without_consent_a_killed_process_leaves_nothing(host: Host) -> None:
    """The turn is not kept, and so is not known later."""
    host.elsewhere("Write it down", *SESSION, script=CUT_OFF)

    assert not list(host.store.rglob("checkpoints/*"))
    assert "resumed" not in host("Did you?", *SESSION, script=GO_ON).data


def test_a_call_that_was_cut_off_is_not_made_again(host: Host) -> None:
    """The turn is played again from its journal: the call before has its result, and of this one nobody knows."""
    host.elsewhere("Write it down", *SESSION, "--consent", script=CUT_OFF)

    reply = host("Did you?", *SESSION, script=GO_ON)

    assert host.notes.count("bread") == host.notes.count("milk") == 1
    assert "noted" in scripted_target.asked[0] and "Outcome unknown" in scripted_target.asked[0]
    assert reply.data["resumed"]["text"] == "Write it down"


@pytest.mark.parametrize("is_old", [False, True])
def test_a_person_decides_about_a_call_that_was_cut_off(host: Host, type_in: Callable[..., None], is_old: bool) -> None:
    """Until they do the turn stays as it is; a turn that goes on is finished, and one that is too old is told."""
    host.elsewhere("Write it down", *SESSION, "--consent", script=CUT_OFF)
    if is_old:
        compiled = host.project.compiled / "settings.json"
        compiled.write_text(json.dumps(json.loads(compiled.read_text()) | {"checkpoint": {"ttl": "0s"}}))
    type_in()
    assert host("Did you?", *SESSION, script=GO_ON).codes == ["turn-left"]
    type_in("what?", "d")

    reply = host("Did you?", *SESSION, script=GO_ON)

    assert "the user has looked" in scripted_target.asked[0] and host.notes.count("milk") == 1
    assert (reply.data["resumed"]["set_aside"], len(scripted_target.asked)) == (is_old, 1 if is_old else 2)
    assert "resumed" not in host("And now?", *SESSION, script=GO_ON).data


def test_a_session_is_open_in_one_process(host: Host) -> None:
    """Two that write into one history would not know of each other; the second is told who has it."""
    host("Hello!", *SESSION, "--consent")
    rooms = open_rooms(load_settings(host.project, {"MEMORY_DIR": str(host.store)}), "ada", "one")

    with closing(rooms), closing(rooms.session(scripted_target.ScriptedModel(["Hello."]))):
        assert host.elsewhere("Hello!", *SESSION) == 3

    assert host.elsewhere("Hello!", *SESSION) == 0


def test_an_interrupt_is_told_by_the_exit_code_and_loses_nothing(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn is over and kept, and a script that runs the agent stops as well."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as at_the_keyboard:
        at_the_keyboard.setattr(scripted_target.ScriptedModel, "complete", interrupted)
        reply = host("Write it down", *SESSION, "--consent")
    assert (reply.code, reply.envelopes[0]["data"]["ended"]) == (130, "interrupted")

    host("Go on", *SESSION, script=["Here we are."])

    assert "Write it down" in scripted_target.asked[0]


def test_a_disk_that_takes_no_session_file_is_told_and_the_next_turn_keeps_both(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is given all the same; nothing of it is lost once there is room."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as no_room:
        no_room.setattr(SessionFile, "save", full)
        reply = host("Write it down", *SESSION, "--consent", script=["Done."])
    assert (reply.code, reply.envelopes[0]["data"]["message"], reply.codes) == (1, "Done.", ["not-kept"])

    later = host("Did you?", *SESSION, script=["Yes."])

    assert later.data["resumed"]["message"] == "Done." and later.codes == []
    assert "Write it down" in scripted_target.asked[0]


def test_a_turn_that_the_disk_stops_goes_on_in_the_same_conversation(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was said is kept, and is done once when the next message comes; nothing new is begun before."""
    rooms = open_rooms(load_settings(host.project, {"MEMORY_DIR": str(host.store)}), "ada", "one")
    rooms.consent.record(True)
    model = scripted_target.ScriptedModel([{"note": "bread"}, "Done.", "Here we are."])
    with closing(rooms), closing(rooms.session(model)) as session:
        with monkeypatch.context() as no_room:
            no_room.setattr(JournalFile, "_write", _full_after(3))
            with pytest.raises(TurnStopped, match="continues with your next message"):
                session.step("Write it down")
        reply = session.step("And now?")

    assert reply.data["resumed"]["message"] == "Done." and reply.message == "Here we are."
    assert host.notes.count("bread") == 1


def test_an_sdk_goes_on_only_in_a_conversation_opened_anew(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an SDK holds of a turn that the disk stopped cannot be taken back; the next process knows what was done."""

    class Noting:
        def act(self, turn: Turn, intent: Intent) -> Reply:
            turn.agent.toolbox.call("note", {"text": "bread"})
            return Reply("Done.", 1)

        def keep(self, message: str) -> None: ...

    def opened() -> Rooms:
        return open_rooms(load_settings(host.project, {"MEMORY_DIR": str(host.store)}), "ada", "one")

    rooms = opened()
    rooms.consent.record(True)
    with closing(rooms), closing(rooms.session(Noting())) as session:
        with monkeypatch.context() as no_room:
            no_room.setattr(JournalFile, "_write", _full_after(3))
            with pytest.raises(TurnStopped):
                session.step("Write it down")
        with pytest.raises(TurnStopped, match="Reopen the conversation"):
            session.step("And now?")
    with closing(opened()) as rooms, closing(rooms.session(Noting())) as session:
        resumed = session.finish()

    assert resumed is not None and resumed.reply is None and resumed.turn.text == "Write it down"


def _full_after(lines: int) -> Callable[[JournalFile, bytes], None]:
    """Return what writes so many times into a journal, and then finds the disk full."""
    write, left = JournalFile._write, iter(range(lines))

    def limited(journal: JournalFile, data: bytes) -> None:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(journal, data)

    return limited
