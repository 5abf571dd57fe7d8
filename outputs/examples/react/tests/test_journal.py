"""What a killed process leaves is the user's: kept as they agreed, told to them, and gone on with as they say."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.assembly import open_rooms
from agent.session import KeptSession
from agent.settings import load_settings
from tests.conftest import Talk
from tests.material import notes
from tests.test_cut_off import GO_ON, SESSION, killed


def make_old(compiled: Path) -> None:
    """Let every turn that was cut off be too old to go on by itself."""
    settings = json.loads((compiled / "settings.json").read_text(encoding="utf-8"))
    (compiled / "settings.json").write_text(json.dumps(settings | {"checkpoint": {"ttl": "0s"}}), encoding="utf-8")


def test_what_a_killed_process_leaves_holds_no_secret(talk: Talk) -> None:
    """The journal is masked as every other file is."""
    key = "sk-proj-" + "a1B2c3D4e5" * 4
    call = {"tool": "note", "args": {"text": f"fatal {key}"}}

    assert talk.elsewhere(f"Note {key}", [call], *SESSION, "--consent").code == -signal.SIGKILL

    journals = list(talk.store.rglob("checkpoints/*.jsonl"))
    assert journals and not [path for path in journals if key in path.read_text(encoding="utf-8")]


def test_without_consent_a_killed_process_leaves_nothing(talk: Talk) -> None:
    """The turn is not kept, and so is not known later."""
    killed(talk)

    assert not list(talk.store.rglob("checkpoints/*"))
    assert "resumed" not in talk("Did you?", GO_ON, *SESSION).data


@pytest.mark.parametrize("is_old", [False, True])
def test_a_person_decides_about_a_call_that_was_cut_off(
    talk: Talk, type_in: Callable[..., None], compiled: Path, is_old: bool
) -> None:
    """Until they do the turn stays as it is; a turn that goes on is finished, and one that is too old is told."""
    killed(talk, "--consent")
    if is_old:
        make_old(compiled)
    type_in()
    assert talk("Did you?", GO_ON, *SESSION).codes == ["turn-left"]
    type_in("what?", "d")

    reply = talk("Did you?", GO_ON, *SESSION)

    assert "the user has looked" in talk.words()[0] and notes(compiled).count("milk") == 1
    assert (reply.data["resumed"]["set_aside"], len(talk.asked)) == (is_old, 1 if is_old else 2)
    assert "resumed" not in talk("And now?", GO_ON, *SESSION).data


def test_a_session_is_open_in_one_process(talk: Talk) -> None:
    """Two that write into one history would not know of each other; the second is told who has it."""
    talk("Hello!", ["Hello."], *SESSION, "--consent")
    rooms = open_rooms(load_settings(talk.variables("http://127.0.0.1:9/v1")), "ada", "one")
    session = KeptSession(rooms.agent(), rooms)

    reply = talk.elsewhere("Hello!", ["Hello."], *SESSION)

    session.close()
    rooms.close()
    assert (reply.code, reply.codes) == (3, ["session-in-use"])
