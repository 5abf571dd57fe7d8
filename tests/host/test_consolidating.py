"""What many sessions left behind is told once, without a model and without losing what it was made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from memkit.runtime.host.command import consolidate
from memkit.runtime.host.settings import load_settings
from memkit.runtime.memory.main import ArchivalStore, Draft, Origin, Record

if TYPE_CHECKING:
    from conftest import Host

EVENTS = ("Ada saw a heron", "The train was late", "Bob brought cake")


@pytest.fixture
def happened(host: Host) -> list[str]:
    """Let three small things happen in one session, long enough ago, and return their ids."""
    settings = json.loads((host.project.compiled / "settings.json").read_text(encoding="utf-8"))
    settings["consolidate"] = {"after": "0s"}
    (host.project.compiled / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    here = Origin(actor="person", user_id="ada", session_id="first")
    with ArchivalStore(host.store) as archive:
        decisions = [archive.offer(Draft(text=text, type="event", confidence=1.0), here) for text in EVENTS]
    return [str(decision.id) for decision in decisions]


def live(host: Host) -> list[Record]:
    """Return what stands in long-term memory."""
    with ArchivalStore(host.store) as archive:
        return list(archive.records(user_id="ada"))


def test_old_events_of_a_session_become_one_summary(
    host: Host, happened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The summary names what it is made of, which is superseded and not lost; a second run has nothing to do."""
    assert host.run("--consolidate", "--json") == 0

    envelope = json.loads(capsys.readouterr().out)
    (summary,) = live(host)
    assert envelope["schema"] == "memkit.memory.consolidate/1" and envelope["ok"] is True
    assert envelope["data"]["summarised"] == [{"id": summary.id, "parents": happened}]
    assert all(text in summary.text for text in EVENTS)
    with ArchivalStore(host.store) as archive:
        assert all(archive.get(record_id) for record_id in happened)
        assert archive.check() == []
    assert host.run("--consolidate") == 0
    assert "Nothing to consolidate" in capsys.readouterr().out


def test_only_the_named_users_memory_is_touched(host: Host, happened: list[str]) -> None:
    """Everybody else's stays as it was told."""
    assert host.run("--consolidate", "--user", "bob") == 0

    assert {record.id for record in live(host)} == set(happened)


def test_what_is_young_stays_as_it_was_told(host: Host, happened: list[str]) -> None:
    """The settings of the store say what is old enough."""
    settings = json.loads((host.project.compiled / "settings.json").read_text(encoding="utf-8"))
    (host.project.compiled / "settings.json").write_text(json.dumps({**settings, "consolidate": {}}), encoding="utf-8")

    assert host.run("--consolidate") == 0

    assert {record.id for record in live(host)} == set(happened)


@pytest.mark.parametrize("words", ["A quiet day with cake.", None])
def test_better_words_can_be_plugged_in(host: Host, happened: list[str], words: str | None) -> None:
    """``tell`` gets the records of one summary; where it has no words, their first sentences are taken."""
    asked: list[Sequence[Record]] = []

    def tell(records: Sequence[Record]) -> str | None:
        asked.append(records)
        return words

    consolidate(load_settings(host.project, {"MEMORY_DIR": str(host.store)}), "ada", tell)

    (summary,) = live(host)
    assert [record.id for record in asked[0]] == happened
    assert (words or EVENTS[0]) in summary.text
    assert (EVENTS[1] in summary.text) is (words is None)


def test_the_summary_is_found_in_place_of_what_it_tells(host: Host, happened: list[str]) -> None:
    """A search that found an event finds the summary, and cites it."""
    host.run("--consolidate")
    (summary,) = live(host)

    with ArchivalStore(host.store) as archive:
        hits = archive.search("heron", user_id="ada").hits

    assert [hit.id for hit in hits] == [summary.id]


def test_what_nobody_drew_from_a_session_is_drawn(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    """Sessions that ended without it, as by a kill, keep their turns; what was said in them is kept now, and once."""
    compiled = host.project.compiled / "settings.json"
    settings = json.loads(compiled.read_text(encoding="utf-8"))
    compiled.write_text(json.dumps({**settings, "write": {"extract": "off"}}), encoding="utf-8")
    host("I live in Ghent.", "--consent", "--session", "s")
    host("My dog is called Rex. What is a nurse?", "--session", "t")
    compiled.write_text(json.dumps(settings), encoding="utf-8")
    assert live(host) == []

    capsys.readouterr()
    assert host.run("--consolidate", "--json") == 0
    data = json.loads(capsys.readouterr().out)["data"]

    assert {(record.text, record.session_id) for record in live(host)} == {
        ("I live in Ghent", "s"), ("My dog is called Rex", "t"),
    }  # fmt: skip
    assert set(data["drawn"]) == set(data["added"]) == {record.id for record in live(host)}
    assert host.run("--consolidate") == 0
    assert "Nothing to consolidate" in capsys.readouterr().out
