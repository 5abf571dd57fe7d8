"""The project stands alone: its own rooms, its own files, and no traffic but to the model."""

from __future__ import annotations

import importlib
import json
import socket
from pathlib import Path

import pytest

from agent.assembly import guard_of, open_rooms
from agent.settings import load_settings
from tests import wire
from tests.conftest import Talk
from tests.offline import PROJECT

ROOMS = ("memory", "guard", "htn", "evolve", "loop", "agent")
SAMPLING = {"temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty", "n", "seed", "logit_bias"}


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_is_the_projects_own(room: str) -> None:
    """A room is imported from this folder and from nowhere else."""
    module = importlib.import_module(room)

    assert PROJECT in [parent for parent in map(type(PROJECT), module.__path__) for parent in parent.parents]


def test_memkit_is_not_needed() -> None:
    """The tests run without memkit, installed or not."""
    with pytest.raises(ImportError):
        importlib.import_module("memkit")


def test_only_this_machine_can_be_reached() -> None:
    """The watch over the network that all tests run under does refuse."""
    with socket.socket() as outside, pytest.raises(ConnectionRefusedError):
        outside.connect(("192.0.2.1", 80))
    with pytest.raises(ConnectionRefusedError):
        socket.getaddrinfo("example.com", 80)


def test_what_was_compiled_from_the_store_loads() -> None:
    """The store's own policies, domains, settings and tools fit the rooms."""
    settings = load_settings({"MEMORY_DIR": "."})

    verdict = guard_of(settings.policies).decide("no such tool", {}, {})
    assert "policy_set" not in [finding.name for finding in verdict.policies]
    rooms = open_rooms(settings, "ada", "one")
    names = {spec.name for spec in rooms.toolbox.specs()}
    rooms.close()
    assert settings.tools <= names | {"propose_subtasks", "plan_task"}


def test_the_environment_wins_over_the_file_of_variables(tmp_path: Path) -> None:
    """``.env`` is read where the agent starts, with quotes, comments and the mark that some editors put in front."""
    lines = ("\ufeffMODEL=other", "# MODEL=third", 'export AGENT_USER="ada"')
    (tmp_path / ".env").write_text("\n".join(lines), encoding="utf-8")

    assert load_settings({"MEMORY_DIR": "."}).model == "other"
    settings = load_settings({"MEMORY_DIR": ".", "MODEL": "local"})
    assert (settings.model, settings.environment["AGENT_USER"]) == ("local", "ada")


def test_a_folder_in_the_place_of_the_file_of_variables_holds_none(tmp_path: Path) -> None:
    """Some people keep a virtual environment under that name."""
    (tmp_path / ".env").mkdir()

    assert load_settings({"MEMORY_DIR": ".", "MODEL": "local"}).model == "local"


def test_no_sampling_parameters_are_sent(talk: Talk) -> None:
    """Vendors reject them, so no request carries one."""
    talk("Hello!", ["Hello."])

    assert not SAMPLING & set(talk.sent[0])
    assert talk.sent[0].get("stream", False) is wire.STREAMS


def test_the_project_is_a_store_with_a_record_of_its_making() -> None:
    """memkit.yaml, archive/ and the generation manifest are committed files."""
    record = json.loads((PROJECT / ".memkit-gen.json").read_text(encoding="utf-8"))

    assert (PROJECT / "memkit.yaml").is_file() and (PROJECT / "archive").is_dir()
    assert {"target", "templates", "answers", "skills", "from_store"} <= set(record)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("MODEL=one", "one"),
        ("export MODEL = one", "one"),
        ("MODEL=one  # the small one", "one"),
        ('MODEL="one # two"  # quoted', "one # two"),
        ("MODEL='one'", "one"),
        ("MODEL=one#two", "one#two"),
        ("\ufeffMODEL=one", "one"),
    ],
)
def test_dotenv_is_read_as_people_write_it(line: str, value: str) -> None:
    """With quotes, with comments, and with the mark that some editors put first."""
    Path(".env").write_text(f"{line}\n", encoding="utf-8")

    assert load_settings({"MEMORY_DIR": "."}).model == value


def test_what_belongs_to_this_machine_is_for_its_user_only(talk: Talk) -> None:
    """Sessions, index and counts lie where nobody else on the machine can look."""
    talk("Hello!", ["Hello."], "--consent")

    assert (talk.store / ".memkit").stat().st_mode & 0o077 == 0
