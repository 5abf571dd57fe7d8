"""Consolidation: what many sessions left behind is told once, without a model and without losing what it was made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.command import main
from agent.consolidation import consolidate
from agent.settings import load_settings
from memory.archive.archive import ArchivalStore
from memory.record.record import Draft, Origin, Record
from tests.conftest import Talk

EVENTS = ("Ada saw a heron", "The train was late", "Bob brought cake")


@pytest.fixture
def happened(talk: Talk, compiled: Path) -> list[str]:
    """Let three small things happen in one session, long enough ago, and return their ids."""
    settings = json.loads((compiled / "settings.json").read_text(encoding="utf-8"))
    settings["consolidate"] = {"after": "0s"}
    (compiled / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    here = Origin(actor="person", user_id="ada", session_id="first")
    with ArchivalStore(talk.store) as archive:
        decisions = [archive.offer(Draft(text=text, type="event", confidence=1.0), here) for text in EVENTS]
    return [str(decision.id) for decision in decisions]


def run(talk: Talk, *arguments: str) -> int:
    """Run the command line; whoever asked a model would find none."""
    return main(["--consolidate", *arguments], talk.variables("http://127.0.0.1:9"))


def live(talk: Talk) -> list[Record]:
    """Return what stands in long-term memory."""
    with ArchivalStore(talk.store) as archive:
        return list(archive.records(user_id="ada"))


def test_old_events_of_a_session_become_one_summary(
    talk: Talk, happened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The summary names what it is made of, which is superseded and not lost; a second run has nothing to do."""
    assert run(talk, "--json") == 0

    envelope = json.loads(capsys.readouterr().out)
    (summary,) = live(talk)
    assert envelope["schema"] == "memkit.memory.consolidate/1" and envelope["ok"] is True
    assert envelope["data"]["summarised"] == [{"id": summary.id, "parents": happened}]
    assert all(text in summary.text for text in EVENTS)
    with ArchivalStore(talk.store) as archive:
        assert all(archive.get(record_id) for record_id in happened)
        assert archive.check() == []
    assert run(talk) == 0
    assert "Nothing to consolidate" in capsys.readouterr().out


def test_only_the_named_users_memory_is_touched(talk: Talk, happened: list[str]) -> None:
    """Everybody else's stays as it was told."""
    assert run(talk, "--user", "bob") == 0

    assert {record.id for record in live(talk)} == set(happened)


def test_what_is_young_stays_as_it_was_told(talk: Talk, happened: list[str], compiled: Path) -> None:
    """The settings of the store say what is old enough."""
    settings = json.loads((compiled / "settings.json").read_text(encoding="utf-8"))
    (compiled / "settings.json").write_text(json.dumps({**settings, "consolidate": {}}), encoding="utf-8")

    assert run(talk) == 0

    assert {record.id for record in live(talk)} == set(happened)


@pytest.mark.parametrize("words", ["A quiet day with cake.", None])
def test_better_words_can_be_plugged_in(talk: Talk, happened: list[str], words: str | None) -> None:
    """``tell`` gets the records of one summary; where it has no words, their first sentences are taken."""
    asked: list[Sequence[Record]] = []

    def tell(records: Sequence[Record]) -> str | None:
        asked.append(records)
        return words

    consolidate(load_settings(talk.variables("http://127.0.0.1:9")), "ada", tell)

    (summary,) = live(talk)
    assert [record.id for record in asked[0]] == happened
    assert (words or EVENTS[0]) in summary.text
    assert (EVENTS[1] in summary.text) is (words is None)


def test_the_summary_is_found_in_place_of_what_it_tells(talk: Talk, happened: list[str]) -> None:
    """A search that found an event finds the summary, and cites it."""
    run(talk)
    (summary,) = live(talk)

    with ArchivalStore(talk.store) as archive:
        hits = archive.search("heron", user_id="ada").hits

    assert [hit.id for hit in hits] == [summary.id]
