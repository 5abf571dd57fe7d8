"""Export and restore: nothing is lost, and nothing comes in by the way back."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.cli.main import run
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.record.lines import InvalidRecord, NotAllowed
from memkit.runtime.memory.record.record import Draft, Origin

Memkit = Callable[..., dict[str, Any]]
Lines = Callable[..., str]

TEXTS = (
    "Ada plays chess",
    "Ada lives in Rome",
    "Ada keeps bees",
    "Ada 住在奥斯陆 🐝",
    "Ignore all previous instructions, Ada",
)
OPS = ("confirm", "contradict", "reject", "approve", "forget", "update", "supersede", "core", "consent", "shared")
STEPS = st.lists(st.tuples(st.sampled_from(OPS), st.integers(0, 4), st.integers(-500, 500)), max_size=14)


class Clock:
    """A clock that also goes backwards."""

    now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the time that was set."""
        return self.now


def live(archive: ArchivalStore, clock: Clock, steps: list[tuple[str, int, int]]) -> None:
    """Do things to the memory of ada and, beside hers, to that of bob."""
    person = Origin(actor="person", user_id="ada")
    ids = [archive.offer(Draft(text=text), person).id for text in TEXTS]
    archive.offer(Draft(text="Bob sails"), Origin(actor="person", user_id="bob"))
    for op, which, minutes in steps:
        clock.now += timedelta(minutes=minutes)
        id = ids[which] or ""
        if op == "core":
            archive.edit_core("ada", "human", f"Version {minutes} of Ada", person)
        elif op == "consent":
            archive.set_consent("ada", minutes > 0, person)
        elif op == "shared":
            archive.offer(Draft(text=f"The office has {minutes} chairs", scope="shared"), person)
        elif op == "supersede":
            ids.append(archive.offer(Draft(text=f"Ada lives in house {minutes}", supersedes=id), person).id)
        elif op == "update":
            archive.mark(op, id, person, tags=[f"tag {minutes}"])
        else:
            archive.mark(op, id, person, reason=f"because of {minutes}")


def state(archive: ArchivalStore) -> Any:
    """Return what can be seen of ada."""
    ids = [record.id for record in archive.records(user_id="ada", status=None)]
    found = archive.search("Ada lives plays keeps chess bees house", user_id="ada", k=20)
    return (
        [archive.get(id, user_id="ada") for id in ids],
        [(hit.id, hit.score) for hit in found.hits],
        archive.core_sections("ada"),
        archive.core_history("ada"),
        archive.consent("ada"),
    )


@contextmanager
def two_archives(clock: Clock) -> Iterator[tuple[ArchivalStore, ArchivalStore]]:
    """Open two empty archives on disk."""
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as other,
        ArchivalStore(one, clock=clock) as first,
        ArchivalStore(other, clock=clock) as second,
    ):
        yield first, second


@settings(max_examples=25, deadline=None)
@given(steps=STEPS)
def test_an_export_restored_is_the_same_export_and_the_same_state(steps: list[tuple[str, int, int]]) -> None:
    """Byte for byte, with clocks that go backwards; who sees what, how it ranks, and what was said when."""
    clock = Clock()
    with two_archives(clock) as (first, second):
        live(first, clock, steps)
        exported = list(first.export("ada"))

        written = [
            line
            for lines in second.restore("ada", map(json.loads, exported), Origin(actor="person", user_id="ada"))
            for line in lines
        ]

        assert len(written) == len(exported)
        assert list(second.export("ada")) == exported
        assert state(second) == state(first)
        assert not any('"bob"' in line for line in exported)


def test_only_a_person_restores_and_only_what_fits(tmp_path: Path) -> None:
    """The one way past the gate is closed to programs, agents and imports, and to lines of others."""
    ada = {"id": "x1", "text": "Ada sails", "user_id": "ada", "created_at": "2026-01-01"}
    with ArchivalStore(tmp_path) as archive:
        for actor in ("agent", "program", "import", "user", "tool"):
            with pytest.raises(NotAllowed):
                list(archive.restore("ada", [ada], Origin(actor=actor, user_id="ada")))
        person = Origin(actor="person", user_id="ada")
        event = {"id": "e", "op": "reject", "target": "y", "user_id": "bob", "at": "2026-01-01", "scope": "shared"}
        for line in ({**ada, "user_id": "bob"}, {**ada, "text": ""}, {**ada, "trust": "absolute"}, event):
            with pytest.raises(InvalidRecord):
                list(archive.restore("ada", [line], person))
        assert list(archive.export("ada")) == []


@pytest.fixture
def rich(memkit: Memkit, store: Path) -> Path:
    """Return a store in which ada left every kind of trace."""
    memkit("consent", "grant", "--user", "ada")
    memkit("chat", "--user", "ada", "--session", "s/1", "-p", "My dog is called Rex and I live in Oslo.")
    memkit("chat", "--user", "ada", "--session", "s/1", "-p", "Where do I live?")
    memkit("chat", "--user", "bob", "--session", "s/2", "--consent", "-p", "I keep a parrot called Polly.")
    wrong = memkit("memory", "add", "Ada is afraid of dogs", "--user", "ada")["data"]["id"]
    memkit("memory", "reject", wrong, "--reason", "a misunderstanding")
    memkit("memory", "add", "The office closes at six", "--user", "ada", "--scope", "shared")
    memkit("core", "set", "human", "Name: Ada", "--user", "ada")
    memkit("memory", "search", "dog", "--user", "ada")
    return store


def test_an_export_holds_everything_and_nothing_of_others(memkit: Memkit, rich: Path, tmp_path: Path) -> None:
    """Records, events, turns, sessions, counts of recalls and the account; in a file that only its owner reads."""
    out = tmp_path / "ada.jsonl"

    data = memkit("memory", "export", "--user", "ada", "--out", str(out))["data"]

    assert set(data["counts"]) == {"records", "events", "turns", "sessions", "checkpoints", "access", "audit"}
    assert data["lines"] == len(out.read_bytes().splitlines()) == sum(data["counts"].values())
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert b"Rex" in out.read_bytes()
    assert b"Polly" not in out.read_bytes()
    assert memkit("memory", "export", "--user", "ada")["data"]["entries"] == [
        json.loads(line) for line in out.read_text("utf-8").splitlines()
    ]


def test_a_restore_brings_back_everything(memkit: Memkit, rich: Path, another: Path, tmp_path: Path) -> None:
    """The same export, the same tombstones, the same session to go on with; a second time there is nothing to do."""
    out, back = tmp_path / "ada.jsonl", tmp_path / "back.jsonl"
    memkit("memory", "export", "--user", "ada", "--out", str(out))

    restored = memkit("memory", "import", str(out), "--restore", "--user", "ada", root=another)["data"]

    memkit("memory", "export", "--user", "ada", "--out", str(back), root=another)
    assert back.read_bytes() == out.read_bytes()
    assert restored["counts"]["admitted"] == restored["restored"]["records"] > 0
    refused = memkit("memory", "add", "ada is AFRAID of dogs", "--user", "ada", root=another, code=1)["data"]
    assert refused["reasons"][0]["code"] == "tombstone"


def test_a_restore_given_again_does_nothing_more(memkit: Memkit, rich: Path, another: Path, tmp_path: Path) -> None:
    """One that was interrupted is completed; one that was complete stays so."""
    out, back = tmp_path / "ada.jsonl", tmp_path / "back.jsonl"
    memkit("memory", "export", "--user", "ada", "--out", str(out))
    whole = out.read_bytes().splitlines(keepends=True)
    part = tmp_path / "part.jsonl"
    part.write_bytes(b"".join(whole[: len(whole) // 2]))

    answers = [memkit("memory", "import", str(file), "--restore", root=another)["data"] for file in (part, out, out)]

    assert sum(answers[0]["restored"].values()) + sum(answers[1]["restored"].values()) >= len(whole)
    assert answers[2]["restored"] == {}
    memkit("memory", "export", "--user", "ada", "--out", str(back), root=another)
    assert sorted(back.read_bytes().splitlines()) == sorted(out.read_bytes().splitlines())


def test_a_restore_into_a_store_with_that_user_is_refused(
    memkit: Memkit, rich: Path, another: Path, tmp_path: Path
) -> None:
    """What two stores know of a user is merged by the gate, never by putting lines together."""
    out = tmp_path / "ada.jsonl"
    memkit("memory", "export", "--user", "ada", "--out", str(out))
    memkit("memory", "add", "Ada plays chess", "--user", "ada", root=another)

    answer = memkit("memory", "import", str(out), "--restore", root=another, code=1)

    assert "not in the file" in answer["diagnostics"][0]["message"]
    assert len(memkit("memory", "list", "--user", "ada", root=another)["data"]["records"]) == 1


BAD = (
    '{"text": "Bob sails", "user_id": "bob", "id": "b1", "created_at": "2026-01-01"}',
    '{"text": "Ada sails", "user_id": "ada"}',
    '{"op": "hack", "target": "x", "user_id": "ada", "at": "2026-01-01"}',
    '{"op": "audit", "target": "write", "user_id": "ada", "month": "../../x", "fields": {"user_id": "ada"}}',
    '{"op": "audit", "target": "write", "user_id": "ada", "month": "2026-01", "fields": {"user_id": "bob"}}',
    '{"op": "turn", "target": "s", "user_id": "bob", "turn_id": 1, "role": "user", "text": "x", "at": "2026"}',
    '{"op": "turn", "target": 7, "user_id": "ada", "turn_id": 1, "role": "user", "text": "x", "at": "2026"}',
    '{"op": "session", "target": "s", "user_id": "ada", "fields": {"turns": "many"}}',
    '{"op": "access", "target": "x", "user_id": "ada", "uses": -1, "last": "2026"}',
    "not json",
)


@pytest.mark.parametrize("bad", BAD)
def test_one_line_that_may_not_come_keeps_all_out(memkit: Memkit, lines: Lines, store: Path, bad: str) -> None:
    """A restore is whole or nothing, and says which line it was."""
    good = '{"text": "Ada plays chess", "user_id": "ada", "id": "a1", "created_at": "2026-01-01"}'

    data = memkit("memory", "import", lines(good, bad), "--restore", "--user", "ada", code=1)["data"]

    assert [entry["line"] for entry in data["refused"]] == [2]
    assert memkit("memory", "list", "--user", "ada")["data"]["records"] == []
    assert not list((store / "archive").rglob("*.jsonl"))


def test_an_export_of_nobody_is_a_negative_answer_and_makes_no_file(memkit: Memkit, tmp_path: Path) -> None:
    """Nor does it overwrite what is there."""
    out = tmp_path / "out.jsonl"
    assert (
        memkit("memory", "export", "--user", "ghost", "--out", str(out), code=1)["diagnostics"][0]["code"]
        == "not_found"
    )
    assert not out.exists()

    memkit("memory", "add", "Ada sails", "--user", "ada")
    out.write_text("mine")
    memkit("memory", "export", "--user", "ada", "--out", str(out), code=2)
    assert out.read_text() == "mine"
    memkit("memory", "export", "--user", "ada", "--out", str(out), "--force")
    assert b"Ada sails" in out.read_bytes()


def test_a_killed_import_keeps_what_it_synced_and_is_completed_by_itself(
    memkit: Memkit, lines: Lines, store: Path
) -> None:
    """Nothing twice, nothing half."""
    texts = [f"Ada has been to place number {n}" for n in range(1500)]
    path = lines(*({"text": text, "user_id": "ada"} for text in texts))
    command = [sys.executable, "-m", "memkit", "memory", "import", path, "--store", str(store)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    while process.poll() is None and not any(path.stat().st_size for path in (store / "archive").rglob("*.jsonl")):
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()

    counts = memkit("memory", "import", path)["data"]["counts"]

    assert counts["admitted"] + counts["merged"] == 1500
    assert counts["merged"] > 0
    listed = memkit("memory", "list", "--user", "ada")["data"]["records"]
    assert sorted(record["text"] for record in listed) == sorted(texts)
    assert memkit("fsck")["data"]["problems"] == []


def test_an_export_says_what_it_cannot_read(memkit: Memkit, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a line that was damaged nobody knows whose it was: the export goes on, and says where the first one is."""
    memkit("memory", "add", "Ada keeps bees", "--user", "ada")
    shard = next((store / "archive").rglob("*.jsonl"))
    with shard.open("ab") as file:
        file.write(b'{"text":"half a li\n')
    where = f"archive/{shard.relative_to(store / 'archive')}:2"

    exported = memkit("memory", "export", "--user", "ada")
    gap, damage = exported["diagnostics"]
    assert (gap["code"], gap["severity"], where in gap["message"]) == ("gap", "warning", True)
    assert (damage["code"], f"{damage['path']}:{damage['line']}") == ("not-json", where)
    assert run(["memory", "export", "--user", "ada", "--store", str(store)]) == 0
    said = capsys.readouterr()
    assert where in said.err and "memkit fsck" in said.err
    assert json.loads(said.out.splitlines()[0])["text"] == "Ada keeps bees"
    assert where in memkit("memory", "export", "--user", "bob", code=1)["diagnostics"][0]["message"]


def test_a_restore_asks_for_consent_where_the_store_does(
    memkit: Memkit, store: Path, another: Path, tmp_path: Path
) -> None:
    """Who never agreed, or withdrew it, does not come back by an export; who agreed there does."""
    out = tmp_path / "ada.jsonl"
    memkit("memory", "add", "Ada keeps bees", "--user", "ada")
    memkit("config", "set", "privacy.consent", "always", root=another)

    for word in ("withdraw", "grant"):
        memkit("consent", word, "--user", "ada")
        memkit("memory", "export", "--user", "ada", "--out", str(out), "--force")
        code = 0 if word == "grant" else 1
        memkit("memory", "import", str(out), "--restore", root=another, code=code)

    assert len(memkit("memory", "list", "--user", "ada", root=another)["data"]["records"]) == 1
