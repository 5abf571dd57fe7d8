"""Exact values under a key: put, read, replaced, and what steered or closed them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.main import MainContext, MemoryTools
from memkit.runtime.memory.record.lines import Refused
from memkit.runtime.memory.record.record import Draft, Origin

PERSON = Origin(actor="person", user_id="ada")


def told(root: Path, capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    """Return the envelope of ``memkit ARGUMENTS``, which must exit with ``code``."""
    assert run([*arguments, "--json", "--store", str(root)]) == code
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_the_newest_value_is_read_without_a_search(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second put takes the place of the first; the value comes back byte for byte, and only to its user."""
    first = told(store, capsys, "memory", "put", "wifi", "old net", "--user", "ada")
    told(store, capsys, "memory", "put", "wifi", "  café\tnet ", "--user", "ada")

    read = told(store, capsys, "memory", "get-value", "wifi", "--user", "ada")
    old = told(store, capsys, "memory", "get", first["data"]["id"])

    assert (first["schema"], first["data"]["decision"], first["data"]["key"]) == (
        "memkit.memory.put/1", "admitted", "wifi",
    )  # fmt: skip
    assert (read["schema"], read["data"]["value"]) == ("memkit.memory.get-value/1", "  café\tnet ")
    assert old["data"]["status"] == "superseded"
    assert told(store, capsys, "memory", "get-value", "wifi", "--user", "bob", code=1)["ok"] is False


def test_what_nobody_put_is_exit_1_in_one_line(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An absent key is a negative answer, a bad key bad usage, and a forgotten value is gone."""
    assert run(["memory", "get-value", "wifi", "--user", "ada", "--store", str(store)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    for bad in ("", " wifi", "wi\nfi", "k" * 600):
        assert run(["memory", "put", bad, "x", "--user", "ada", "--store", str(store)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    kept = told(store, capsys, "memory", "put", "wifi", "x", "--user", "ada")["data"]["id"]
    told(store, capsys, "memory", "forget", kept)
    told(store, capsys, "memory", "get-value", "wifi", "--user", "ada", code=1)


@pytest.mark.parametrize(("key", "value"), [("token", "ghp_" + "a1B2" * 9), ("ghp_" + "a1B2" * 9, "value")])
def test_a_secret_is_refused_in_value_and_key(
    store: Path, capsys: pytest.CaptureFixture[str], key: str, value: str
) -> None:
    """The gate judges a value as it does any record, and its key too."""
    answer = told(store, capsys, "memory", "put", key, value, "--user", "ada", code=1)

    assert answer["data"]["decision"] == "refused"
    assert "ghp_" not in json.dumps(answer["data"]["reasons"])


def test_values_of_other_keys_are_other_values() -> None:
    """One text under two keys is two records, apart from prose that says the same; none contradicts another."""
    with ArchivalStore() as archive:
        ids = {archive.put(key, Draft("I live in Rome"), PERSON).id for key in ("home", "birthplace")}
        ids.add(archive.offer(Draft("I live in Rome"), PERSON).id)
        archive.put("away", Draft("I live in Paris"), PERSON)

        assert len(ids) == 3
        assert archive.put("home", Draft("I live in Rome"), PERSON).decision == "merged"
        assert archive.open_questions() == []
        assert not archive.consolidation()


class TestTool:
    """`memory_value`, as a model calls it."""

    def test_a_model_keeps_and_reads_a_value(self) -> None:
        """What is put in a clean turn is read back inside a fence with the id to cite."""
        with ArchivalStore() as archive:
            tools = MemoryTools(MainContext(), archive, user_id="ada", session_id="s")
            tools.begin_turn("My shoe size is 42", 1)

            kept = tools.call("memory_value", {"key": "shoe-size", "value": "42"})
            read = tools.call("memory_value", {"key": "shoe-size"})

            assert kept.startswith("admitted: [")
            assert "| 42" in read and "<memory-data" in read and archive.value("ada", "shoe-size").id in read  # type: ignore[union-attr]
            assert tools.call("memory_value", {"key": "hat-size"}) == "Nothing clean is stored under hat-size."

    def test_under_taint_a_value_waits_and_the_clean_one_stays(self) -> None:
        """A tainted put in the place of a clean value is held back; a tainted new value is read by nobody."""
        with ArchivalStore() as archive:
            archive.put("iban-owner", Draft("Ada"), PERSON)
            tools = MemoryTools(MainContext(), archive, user_id="ada", session_id="s")
            tools.begin_turn("Look at that page", 1, taint=["tool:web"])

            held = tools.call("memory_value", {"key": "iban-owner", "value": "Mallory"})
            tools.call("memory_value", {"key": "new", "value": "Mallory"})

            assert held.startswith("quarantined")
            assert archive.value("ada", "iban-owner").text == "Ada"  # type: ignore[union-attr]
            assert archive.value("ada", "new") is None
            archive.mark("approve", tools.events[-1]["id"], PERSON)
            assert archive.value("ada", "new").text == "Mallory"  # type: ignore[union-attr]

    def test_without_consent_nothing_is_kept(self) -> None:
        """An agent's put needs the user's consent, as any write of its does."""
        with ArchivalStore() as archive:
            tools = MemoryTools(MainContext(), archive, user_id="ada", consented=lambda: False)
            tools.begin_turn("Keep 42", 1)
            with pytest.raises(Refused, match="agreed"):
                tools.call("memory_value", {"key": "shoe-size", "value": "42"})


def test_a_value_is_shown_with_its_key(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``green-9`` alone says nothing: lists and search tell what it is kept under, and so does the record."""
    id = told(store, capsys, "memory", "put", "door.code", "green-9", "--user", "ada")["data"]["id"]
    for words in (["list"], ["search", "door"]):
        assert run(["memory", *words, "--user", "ada", "--store", str(store)]) == 0
        assert "door.code = green-9" in capsys.readouterr().out
    assert run(["memory", "get", id, "--store", str(store)]) == 0
    assert "key  door.code" in capsys.readouterr().out
