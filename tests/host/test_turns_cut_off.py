"""What a killed process leaves is the user's: kept as they agreed, told to them, and gone on with as they say."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import scripted_target

from memkit.runtime.host.rooms import open_rooms
from memkit.runtime.host.sessions import KeptSession
from memkit.runtime.host.settings import load_settings

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

    with closing(rooms), closing(KeptSession(rooms.agent(scripted_target.ScriptedModel(["Hello."])), rooms)):
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
