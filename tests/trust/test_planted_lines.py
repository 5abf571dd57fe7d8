"""Lines planted in a clone's archive by whoever can push to the store: in no name, and with no trick, do they act."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from foreign_store import Ask, commit, git

from memkit.cli.main import run
from memkit.runtime.memory.log.log import linked
from memkit.runtime.memory.record.lines import encode_data
from memkit.workspace import open_workspace


class Clone(NamedTuple):
    """A clone of a store that somebody else began, and the command line there."""

    path: Path
    ask: Ask

    def __call__(self, *words: str) -> Any:
        """Return what a command answers."""
        return self.ask(*words, "--user", "ada", "--store", str(self.path))["data"]

    def live(self) -> dict[str, list[str]]:
        """Return the live records, each with the kinds of its taint."""
        results = self("memory", "search", "Ada", "-k", "50")["results"]
        return {one["text"]: [origin.partition(":")[0] for origin in one["taint"]] for one in results}

    def shard(self, name: str) -> Path:
        """Return the shard of a writer."""
        (month,) = {path.parent for path in self.path.glob("archive/*/*.jsonl")}
        return month / f"{name}.jsonl"

    def plant(self, *lines: dict[str, object], writer: str = "0-evil") -> None:
        """Add lines without links to a shard."""
        with self.shard(writer).open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)

    def plant_linked(self, *lines: dict[str, object], writer: str, by: str = "") -> None:
        """Add a chain of lines that fit their links to a shard."""
        parent = b""
        with self.shard(writer).open("a") as file:
            for line in lines:
                placed, link = linked(line, parent, key=None, by=by)
                parent = link.own
                file.write(encode_data(placed) + "\n")

    def read_anew(self) -> None:
        """Read all shards again, in the order of a new index."""
        self.ask("index", "rebuild", "--store", str(self.path))

    @property
    def writer(self) -> str:
        """Return the name under which it writes."""
        (path,) = self.path.glob(".memkit/state/*/writer")
        (shard,) = self.shard("x").parent.glob(f"{path.read_text().strip()}*.jsonl")
        return shard.stem


@pytest.fixture
def clone(store: Path, ask: Ask, tmp_path: Path) -> Clone:
    """Give a clone with a record of the store's, which nobody here trusted."""
    ask("memory", "add", "Ada rows", "--user", "ada", "--store", str(store))
    commit(store, "Remember")
    git(tmp_path, "clone", "-q", str(store), str(tmp_path / "clone"))
    return Clone(tmp_path / "clone", ask)


def record(id: str, text: str, **more: object) -> dict[str, object]:
    """Return the line of a record that claims to be a person's word."""
    said = {"type": "fact", "actor": "person", "trust": "verified", "created_at": "2026-11-01T09:00:00Z"}
    return {"id": id, "text": text, "user_id": "ada", **said, **more}


def event(id: str, op: str, target: str, **fields: object) -> dict[str, object]:
    """Return the line of an event that claims to be a person's."""
    said = {"user_id": "ada", "at": "2030-01-01T00:00:00Z", "actor": "person"}
    return {"id": id, "op": op, "target": target, **said, "fields": fields}


def test_lines_under_a_name_like_ours_are_not_ours(clone: Clone) -> None:
    """Anybody can write lines without links in a shard that is named as if this clone had another branch."""
    id = clone("memory", "add", "Ada drinks tea")["id"]

    clone.plant(record("0a", "Ada drinks rum"), event("0b", "reject", id), writer=f"{clone.writer}-x")

    assert clone.live() == {"Ada rows": ["writer"], "Ada drinks tea": [], "Ada drinks rum": ["writer"]}


def test_a_copy_of_a_line_of_theirs_under_a_name_like_ours_is_not_ours(clone: Clone) -> None:
    """That it claims to be linked anew, as by an erasure elsewhere, counts only for what was ours before."""
    clone("memory", "add", "Ada drinks tea")
    theirs = (record("0a", "Ada drinks rum"), event("0b", "approve", "0a"))
    clone.plant_linked(*theirs, writer="0-evil")
    assert clone.live()["Ada drinks rum"] == ["writer"]

    clone.plant_linked(*theirs, writer=f"{clone.writer}-x", by="erase")

    for _ in range(2):
        assert clone.live() == {"Ada rows": ["writer"], "Ada drinks tea": []}
        clone.read_anew()
    assert {one["code"] for one in clone.ask("fsck", "--store", str(clone.path), code=1)["diagnostics"]} >= {"tampered"}


def test_an_erasure_makes_nothing_ours_that_was_withheld(clone: Clone, tmp_path: Path) -> None:
    """What stood behind a line that goes is linked anew; it is recognised afterwards only if it was before."""
    clone("memory", "add", "Ada drinks tea")
    bobs = clone.ask("memory", "add", "Bob drinks tea", "--user", "bob", "--store", str(clone.path))["data"]["id"]
    planted = (event("0b", "confirm", bobs), record("0a", "Ada drinks rum"))
    clone.plant_linked(*planted, writer=f"{clone.writer}-x")
    commit(clone.path, "Pull")

    erasing = ("memory", "erase", "--user", "bob", "--yes", "--out", str(tmp_path / "certificate.json"))
    clone.ask(*erasing, "--store", str(clone.path), code=1)

    assert clone.live() == {"Ada rows": ["writer"], "Ada drinks tea": []}


def test_no_lines_without_links_become_ours_by_migrating(clone: Clone) -> None:
    """Those that have a name like ours are linked as soon as the store is trusted."""
    clone("memory", "add", "Ada drinks tea")
    clone.plant(record("0a", "Ada drinks rum"), writer=f"{clone.writer}-x")

    clone.ask("migrate", "--store", str(clone.path), code=3)

    assert clone.live()["Ada drinks rum"] == ["writer"]
    clone.ask("trust", "--yes", "--store", str(clone.path))
    clone.ask("migrate", "--store", str(clone.path))
    assert clone.live()["Ada drinks rum"] == []


def test_lines_under_a_name_like_ours_alone_are_told_and_may_be_trusted(store: Path, ask: Ask, tmp_path: Path) -> None:
    """Also where nobody else wrote anything, a chat says that others did, and there is something to trust."""
    git(tmp_path, "clone", "-q", str(store), str(tmp_path / "clone"))
    clone = Clone(tmp_path / "clone", ask)
    clone("memory", "add", "Ada drinks tea")
    clone.plant(record("0a", "Ada drinks rum"), writer=f"{clone.writer}-x")

    said = clone.ask("chat", "-p", "Hello", "--user", "ada", "--store", str(clone.path))
    assert "strangers" in {one["code"] for one in said["diagnostics"]}
    ask("trust", "--show", "--store", str(clone.path), code=1)

    ask("trust", "--yes", "--store", str(clone.path))
    assert clone.live() == {"Ada drinks tea": [], "Ada drinks rum": []}


def test_nobody_takes_the_ids_of_our_lines(clone: Clone) -> None:
    """Neither a record's nor that of what was done to it, also when all is read anew and theirs would come first."""
    tea, rum = (clone("memory", "add", f"Ada drinks {what}")["id"] for what in ("tea", "rum"))
    clone("memory", "reject", rum)
    clone("core", "set", "human", "Her name is Ada.")
    clone.ask("consent", "withdraw", "--user", "ada", "--store", str(clone.path))
    ours = [json.loads(line) for line in clone.shard(clone.writer).read_text().splitlines()]

    clone.plant(record(tea, "Ada drinks gin"), *(event(one["id"], "confirm", tea) for one in ours if "op" in one))

    for _ in range(2):
        assert clone.live() == {"Ada rows": ["writer"], "Ada drinks tea": []}
        assert clone("core", "show")["sections"]["human"] == "Her name is Ada."
        with open_workspace(clone.path) as workspace:
            assert workspace.archive.consent("ada") is False
        clone.read_anew()
    assert {one["code"] for one in clone.ask("fsck", "--store", str(clone.path), code=1)["diagnostics"]} >= {"tampered"}


def test_a_withheld_line_of_a_stranger_withholds_nothing_of_ours(clone: Clone, store: Path) -> None:
    """It would have waited as it was written."""
    id = clone("memory", "add", "Ada drinks tea")["id"]
    (theirs,) = (path for path in clone.shard("x").parent.iterdir() if path.stem != clone.writer)

    clone.plant(event("0a", "reject", id), writer=theirs.stem)

    assert clone.live() == {"Ada rows": ["writer"], "Ada drinks tea": []}


def test_an_edit_of_core_memory_is_approved_and_then_ours(clone: Clone) -> None:
    """It claims to be verified, which is nobody's word here until a person gives it; then nothing replaces it."""
    clone.plant(event("0a", "core", "core/human", text="Her name is Ada.", trust="verified"))
    with open_workspace(clone.path) as workspace:
        assert workspace.archive.core_taint("ada") == ("writer:0-evil",)

    clone("memory", "approve", "0a")

    with open_workspace(clone.path) as workspace:
        assert workspace.archive.core_taint("ada") == ()
    clone.plant(event("0b", "core", "core/human", text="Her name is Eve.", trust="verified"))
    assert clone("core", "show")["sections"]["human"] == "Her name is Ada."
    assert [one["id"] for one in clone("memory", "list", "--open")["waiting"]] == ["0b"]


def test_a_trusted_store_asks_what_it_did_not_ask_before(clone: Clone, store: Path) -> None:
    """Two corrections of one record are no question while one of them waits, and one as soon as both count."""
    id = clone("memory", "add", "Ada lives in Porto")["id"]
    commit(clone.path, "Remember")
    git(store, "pull", "-q", "--no-edit", str(clone.path), "HEAD")
    there = Clone(store, clone.ask)
    there("memory", "supersede", id, "Ada lives in Rome")
    clone("memory", "supersede", id, "Ada lives in Faro")
    for one in (store, clone.path):
        commit(one, "Correct")
    git(clone.path, "pull", "-q", "--no-rebase", "--no-edit", "origin", "HEAD")
    assert clone("memory", "list", "--open")["open"] == []

    clone.ask("trust", "--yes", "--store", str(clone.path))

    assert [one["kind"] for one in clone("memory", "list", "--open")["open"]] == ["two_successors"]


@pytest.mark.parametrize("command", ["review", "diff"])
def test_a_comparison_says_what_has_no_effect_here_and_what_to_do(clone: Clone, command: str) -> None:
    """What waits needs a second look; what nobody is asked about is told; approved, it is a change like others."""
    id = clone("memory", "add", "Ada drinks tea")["id"]
    clone.ask("consent", "withdraw", "--user", "ada", "--store", str(clone.path))
    commit(clone.path, "Remember")
    clone.plant(
        record("0a", "Ada drinks rum", supersedes=id), event("0b", "reject", id), event("0c", "contradict", id),
        event("0d", "consent", "ada", granted=True), record("0e", "Ada sails"),
    )  # fmt: skip

    def review() -> tuple[dict[str, Any], dict[str, Any]]:
        body = clone.ask(command, "HEAD", "--store", str(clone.path))
        (ada,) = (one for one in body["data"]["subjects"] if one["name"] == "ada")
        return body, {one["id"]: one for one in ada["changes"]}

    body, told = review()
    assert {id: (one.get("held", False), one["attention"]) for id, one in told.items()} == {
        "0a": (True, True), "0b": (True, True), "0c": (True, False), "0d": (True, True), "0e": (False, False),
    }  # fmt: skip
    assert [told[id]["message"].rpartition("; ")[2] for id in ("0a", "0b", "0c", "0d")] == [
        *["without effect until a person approves it"] * 2, *["without effect here"] * 2,
    ]  # fmt: skip
    assert "confidence" not in told["0c"]["message"]
    (note,) = (one["message"] for one in body["diagnostics"] if one["code"] == "strangers")
    assert all(f"'memkit {way}" in note for way in ("memory list --open'", "memory approve ID'", "trust'"))

    clone("memory", "approve", "0b")
    assert "held" not in review()[1]["0b"]


def test_undo_takes_back_nothing_of_a_stranger_who_names_our_session(clone: Clone) -> None:
    """Neither a record said to be of its latest turn, nor a mark; the last turn here is the one that is undone."""
    tea = clone("memory", "add", "I drink tea")["id"]

    def say(words: str) -> Any:
        talk = ("chat", "-p", words, "--user", "ada", "--session", "talk", "--consent")
        return clone.ask(*talk, "--store", str(clone.path))["data"]

    say("I drink tea")
    (session,) = {one["session_id"] for one in said(clone, "evidence")}
    clone.plant(
        record("0a", "Ada drinks rum", session_id=session, turn_id=99, actor="user"),
        {**event("0b", "evidence", tea, confidence=1.0), "session_id": session},
    )

    assert say("/undo")["message"].startswith(f"Undone: your confirmation of [{tea}]")

    assert "Ada drinks rum" in clone.live()
    assert [one["target"] for one in said(clone, "revoke")] == [one["id"] for one in said(clone, "evidence")]


def said(clone: Clone, op: str) -> list[dict[str, Any]]:
    """Return this clone's own events of a kind."""
    lines = map(json.loads, clone.shard(clone.writer).read_text().splitlines())
    return [line for line in lines if line.get("op") == op]


def test_a_target_written_otherwise_is_the_same_thing(clone: Clone) -> None:
    """What of ours a line is about is no matter of spelling: a section without its prefix, a consent by any name."""
    clone("core", "set", "human", "Her name is Ada.")
    clone.ask("consent", "withdraw", "--user", "ada", "--store", str(clone.path))

    clone.plant(
        event("0a", "core", "human", text="Her name is Eve.", trust="verified"),
        event("0b", "consent", "ada", granted=True), event("0c", "consent", "core/human", granted=True),
    )  # fmt: skip

    assert clone("core", "show")["sections"]["human"] == "Her name is Ada."
    assert [one["id"] for one in clone("memory", "list", "--open")["waiting"]] == ["0a"]
    with open_workspace(clone.path) as workspace:
        assert workspace.archive.consent("ada") is False


def test_what_a_line_in_our_shard_holds_back_is_said_with_the_way_out(
    clone: Clone, capsys: pytest.CaptureFixture[str]
) -> None:
    """Approving the record is no way; what the line says is shown before anybody makes it their own word."""
    tea = clone("memory", "add", "Ada drinks tea")["id"]
    commit(clone.path, "Remember")
    clone.plant(event("0a", "reject", tea), writer=clone.writer)
    before = clone.shard(clone.writer).read_text()

    (waiting,) = clone("memory", "list", "--open")["waiting"]
    refused = clone.ask("memory", "approve", tea, "--store", str(clone.path), code=1)
    assert run(["fsck", "--store", str(clone.path)]) == 1
    checked = capsys.readouterr().out
    assert run(["fsck", "--accept", "--store", str(clone.path)]) == 2  # nobody can be asked
    asked = capsys.readouterr().err

    assert (waiting["id"], [one["code"] for one in waiting["waits"]]) == (tea, ["tampered"])
    assert all("memkit fsck" in said for said in (waiting["waits"][0]["message"], str(refused["diagnostics"])))
    assert clone.shard(clone.writer).read_text() == before
    assert "memkit fsck --fix" in checked and "memkit fsck --accept" in checked
    assert "It says: reject of “Ada drinks tea”" in asked
    clone.ask("fsck", "--fix", "--store", str(clone.path))
    assert clone.live() == {"Ada rows": ["writer"], "Ada drinks tea": []}


def test_nobody_vouches_for_what_they_cannot_read(clone: Clone) -> None:
    """What is sealed with a key that is elsewhere waits, is said to, and is approved only where it can be read."""
    tea = clone("memory", "add", "Ada drinks tea")["id"]
    clone("core", "set", "human", "Her name is Ada.")
    sealed = record("0a", "", supersedes=tea), event("0b", "update", tea), event("0c", "core", "core/human")
    for line in sealed:
        del line["fields" if "op" in line else "text"]
    clone.plant(*({**line, "sealed": "bm90aGluZw"} for line in sealed))

    waiting = clone("memory", "list", "--open")["waiting"]
    assert [(one["id"], [why["code"] for why in one["waits"]]) for one in waiting] == [
        (id, ["tainted"]) for id in ("0a", "0b", "0c")
    ]
    for one in waiting:
        refused = clone.ask("memory", "approve", one["id"], "--store", str(clone.path), code=1)
        assert "memkit key import" in refused["diagnostics"][0]["message"]
    assert clone("core", "show")["sections"]["human"] == "Her name is Ada."
    for one in waiting:
        clone("memory", "reject", one["id"])
    assert clone.live() == {"Ada rows": ["writer"], "Ada drinks tea": []}
    assert "waiting" not in clone("memory", "list", "--open")


def test_a_person_who_chooses_a_model_vouches_for_nobody(clone: Clone) -> None:
    """The choice is trusted as one's own; what strangers wrote and did waits for ``memkit trust`` all the same."""
    tea = clone("memory", "add", "Ada drinks tea")["id"]
    clone.plant(event("0a", "reject", tea))
    for provider in ("anthropic", "openai"):
        clone.ask("config", "set", "provider", provider, "--store", str(clone.path))

        assert clone.live() == {"Ada rows": ["writer"], "Ada drinks tea": []}
        with open_workspace(clone.path) as workspace:
            assert workspace.trust.holds()
    clone.ask("trust", "--show", "--store", str(clone.path), code=1)

    clone.ask("trust", "--yes", "--store", str(clone.path))
    assert clone.live() == {"Ada rows": []}
    clone.ask("config", "set", "provider", "anthropic", "--store", str(clone.path))
    assert clone.live() == {"Ada rows": []}


def test_memory_of_strangers_moves_to_no_server(clone: Clone) -> None:
    """There it would count: whoever writes to a server was let in."""
    clone("memory", "add", "Ada drinks tea")

    moving = ("backend", "move", "--to", "postgresql://u@127.0.0.1:1/x", "--yes", "--store", str(clone.path))
    refused = clone.ask(*moving, code=3)

    assert "'memkit trust'" in refused["diagnostics"][0]["message"]


HOSTILE: list[dict[str, object]] = [
    {"number": "x"}, {"number": 10**30}, {"number": None}, {"number": 1.5}, {"pieces": "x"}, {"pieces": 2, "piece": []},
    {"value": {"a": 1}}, {"record": ["x"]}, {"of": 7}, {"until": "soon"}, {"kept_at": "soon"}, {"more": "\ud800"},
]  # fmt: skip


@pytest.mark.parametrize("fields", HOSTILE, ids=str)
def test_no_line_keeps_a_store_from_being_read(clone: Clone, fields: dict[str, object]) -> None:
    """What cannot be read of a document is set aside and said, and everything else is served."""
    place = {"kind": "item", "space": "ada", "name": "key", "number": 1, "value": '"v"'}

    clone.plant(event("0a", "document", "document/item", **place | fields))

    assert clone.live() == {"Ada rows": ["writer"]}
    clone.ask("fsck", "--store", str(clone.path), code=1)
