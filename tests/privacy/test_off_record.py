"""A conversation that is to leave no trace leaves none: not in the store, the home, or anywhere a program writes."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memkit.agent import Setting
from memkit.cli.main import run
from memkit.runtime.memory.log.clone import cache_folder, state_folder
from memkit.use_cases.open_chat import open_chat
from memkit.workspace import Workspace

SAID = (
    "Hello!",
    "Yes, you may remember what I tell you.",
    "My parrot is called Kubilay.",
    "Where do I live?",
    "Actually, I moved to Zanzibar.",
    "Don't remember that I live in Lisbon.",
    "Please don't store anything.",
    "Run rm -rf /srv/xylophone",
    "deliver book shop",
    "I have to water the quincunx by Friday.",
    "What did I say about the parrot?",
    "/memory",
    "/core",
    "/context",
    "/search parrot",
    "/why",
    "/undo",
    "/memory on",
    "/export",
)
WORDS = (b"Kubilay", b"Zanzibar", b"xylophone", b"quincunx")
"""Which nobody said before."""

Talk = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def places(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Path]]:
    """Return every folder that a program of this user writes to, each in a place of its own."""
    named = {"store": store, "home": Path(os.environ["HOME"])}
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR"):
        named[name] = tmp_path / name.lower()
        named[name].mkdir()
        monkeypatch.setenv(name, str(named[name]))
    tempfile.tempdir = None
    monkeypatch.setenv("MEMKIT_STORE", str(store))
    monkeypatch.setenv("MEMKIT_USER", "ada")
    yield named
    tempfile.tempdir = None


@pytest.fixture
def talk(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Talk:
    """Return what says several things in one process and gives the envelopes."""

    def talked(*options: str, said: tuple[str, ...]) -> list[dict[str, Any]]:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in said)))
        capsys.readouterr()
        run(["chat", *options, "--jsonl"])
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return talked


def taken(places: dict[str, Path]) -> dict[Path, bytes]:
    """Return every byte of every file, except for what the store rebuilds when it is deleted."""
    files = {
        path
        for folder in places.values()
        for path in folder.rglob("*")
        if path.is_file() or (path.is_symlink() and not path.is_dir())
    }
    cache = cache_folder(places["store"])
    return {path: path.read_bytes() for path in files if not path.is_relative_to(cache)}


def words_in(folder: Path) -> set[bytes]:
    """Return which of the words stand in a file below ``folder``."""
    content = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return {word for word in WORDS if any(word in data for data in content)}


def remembered(talk: Talk) -> None:
    """Let Ada agree, be known, and have a session."""
    talk("--consent", "--session", "before", said=("I live in Lisbon.", "My goal is to learn Turkish."))


@pytest.mark.parametrize("option", ["--incognito", "--no-memory"])
def test_a_conversation_off_the_record_changes_no_byte(talk: Talk, places: dict[str, Path], option: str) -> None:
    """A rich conversation leaves every file as it was; only the disposable index may differ, and has no word of it."""
    remembered(talk)
    before = taken(places)

    answers = talk(option, said=SAID)

    assert len(answers) == len(SAID)
    assert taken(places) == before
    assert words_in(places["store"]) == set()


def test_incognito_reads_what_is_known(talk: Talk, places: dict[str, Path]) -> None:
    """It answers from memory with the record's id, and going on with a session shows it what was said there."""
    remembered(talk)

    asked, said = talk("--incognito", "-c", said=("Where do I live?", "What did I say about my goal?"))

    assert "Lisbon" in asked["data"]["message"] and asked["data"]["citations"]
    assert asked["data"]["session"] == "before"
    assert "Turkish" in said["data"]["message"]
    assert [one["code"] for one in asked["diagnostics"]] == ["off_record"]


def test_without_memory_nothing_is_known(talk: Talk, places: dict[str, Path]) -> None:
    """``--no-memory`` reads nothing that lasts either."""
    remembered(talk)

    (asked,) = talk("--no-memory", said=("Where do I live?",))

    assert "Lisbon" not in asked["data"]["message"]


def test_what_cannot_be_stored_says_why(talk: Talk, places: dict[str, Path]) -> None:
    """The refusal has a code of its own: consent was given, and memory is off all the same."""
    remembered(talk)

    (told,) = talk("--incognito", said=("My parrot is called Kubilay.",))

    refused = [one for one in told["data"]["memory_operations"] if one.get("decision") == "refused"]
    assert refused[0]["reasons"][0]["code"] == "off_record"
    assert "off_record" in told["data"]["message"]


def test_memory_switched_off_and_on_keeps_what_was_said_outside(talk: Talk, places: dict[str, Path]) -> None:
    """From ``/memory off`` to ``/memory on`` nothing is kept, now or by a later turn; before and after is as ever."""
    remembered(talk)

    answers = talk(
        "--session", "split",
        said=(
            "My sister is called Mildred.",
            "/memory off",
            "My parrot is called Kubilay.",
            "I live in Zanzibar.",
            "/memory on",
            "My brother is called Bartholomew.",
            "What is my parrot called?",
        ),
    )  # fmt: skip

    assert all(answer["ok"] for answer in answers)
    assert words_in(places["store"]) == set()
    assert "Kubilay" not in answers[-1]["data"]["message"]
    store = [path.read_bytes() for path in (places["store"] / "archive").rglob("*.jsonl")]
    assert any(b"Mildred" in data and b"Bartholomew" in data for data in store)
    kept = next((state_folder(places["store"]) / "sessions").glob("*/*.jsonl"), None)
    assert kept is not None
    again = talk("--session", "split", said=("What is my sister called?",))[0]["data"]
    assert "Mildred" in again["message"]


def test_switching_off_changes_no_byte_until_it_is_on_again(talk: Talk, places: dict[str, Path]) -> None:
    """What was said before stays as it was kept; the rest of the conversation leaves nothing."""
    remembered(talk)
    talk("--session", "split", said=("My sister is called Mildred.",))
    before = taken(places)

    talk("--session", "split", said=("/memory off", *(line for line in SAID if line != "/memory on")))

    after = taken(places)
    changed = {path for path in before.keys() | after if before.get(path) != after.get(path)}
    # Steps of the last turn, which was over, are no longer needed and may go.
    assert {path.parent.name for path in changed} <= {"checkpoints"}
    assert words_in(places["store"]) == set()


def test_until_somebody_agrees_no_word_is_anywhere(talk: Talk, places: dict[str, Path]) -> None:
    """Without consent the account says that something was done, and every word of it is gone with the process."""
    said = tuple(line for line in SAID if "may remember" not in line and line != "/memory on")

    talk(said=said)
    talk("--user", "bob", said=(*said[:3], "Please don't store anything.", *said[3:]))

    assert {place: words_in(folder) for place, folder in places.items() if words_in(folder)} == {}


@pytest.mark.parametrize("how", ["unset", "empty"])
def test_of_nobody_nothing_is_kept(
    talk: Talk, places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Where no user is named or configured, nobody can agree, whatever is said."""
    if how == "unset":
        monkeypatch.delenv("MEMKIT_USER")
    else:
        monkeypatch.setenv("MEMKIT_USER", "")

    said = tuple(line for line in SAID if line != "/memory on")

    talk(said=said)
    switched = talk(said=("/memory off", *said, "/memory on", "Hello!"))
    before = taken(places)
    hidden = talk("--incognito", said=said)

    assert all(answer["ok"] for answer in (switched[0], *switched[-2:], hidden[0]))
    assert taken(places) == before
    assert {place: words_in(folder) for place, folder in places.items() if words_in(folder)} == {}


def test_what_was_said_before_agreeing_is_not_kept_afterwards(talk: Talk, places: dict[str, Path]) -> None:
    """Who declines, talks, and agrees later has agreed to what comes from then on; the conversation itself goes on."""
    answers = talk(
        "--session", "late",
        said=(
            "Please don't store anything.",
            "My parrot is called Kubilay.",
            "Yes, you may remember.",
            "My sister is called Mildred.",
            "Hello again!",
        ),
    )  # fmt: skip

    tiers = answers[-1]["data"]["context_usage"]["tiers"]
    assert tiers["messages"] > answers[-2]["data"]["context_usage"]["tiers"]["messages"]
    assert b"Mildred" in b"".join(path.read_bytes() for path in places["store"].rglob("*.json*"))
    assert words_in(places["store"]) == set()


def test_an_agent_that_was_begun_off_the_record_stays_so(places: dict[str, Path]) -> None:
    """``/memory on`` cannot turn an incognito conversation into one that is kept."""
    with Workspace(places["store"]) as workspace:
        agent = open_chat(workspace, Setting("ada", incognito=True))

        assert agent.is_off_record and not agent.may_remember()
        with pytest.raises(Exception, match="without a trace"):
            agent.switch_memory(on=True)
