"""Forty turns as a real model writes them end in the right memory, on the reference agent and on every target alike.

That the targets end there as well is what ``test_equivalence.py`` asks of each part of the transcript.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memkit.equivalence.interface import Account
from memkit.equivalence.run import reference_accounts
from memkit.equivalence.transcript import FORTY_TURNS, PARTS
from tests.written.forty_turns import page_of

ROOT = Path(__file__).resolve().parents[2]
USER = "vera"
MADE_UP = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
"""An id that no record has."""
PAGE = "https://gate.example/today"


@pytest.fixture(scope="module")
def account() -> Account:
    """Play the turns on the reference agent."""
    return reference_accounts((FORTY_TURNS,))[FORTY_TURNS.name]


def records(account: Account, **wanted: Any) -> set[str]:
    """Return the texts of the records whose fields are these."""
    return {
        record["text"] for record in account.memory["records"] if all(record.get(key) == wanted[key] for key in wanted)
    }


def test_forty_turns_are_played_on_every_target() -> None:
    """They are a part of the transcript."""
    assert FORTY_TURNS in PARTS and len(FORTY_TURNS.turns) == 40


def test_core_memory_is_the_users(account: Account) -> None:
    """A page that says otherwise twice changed nothing, and the late wish took the place of the earlier one."""
    assert account.memory["core"] == {USER: {"human": "Name: Vera", "preferences": "Style: full sentences"}}


def test_records_are_what_was_said(account: Account) -> None:
    """One fact each, corrections in the place of what they correct, nothing passing, secret or taken back."""
    clean = records(account, status="live", taint=None) - records(account, type="outcome")

    assert clean == {
        "The user lives in Lisbon", "Vera works as a nurse at São José", "Vera's cat Pixel eats only tuna",
        "Allergies: penicillin, cashews", "Vera eats no dairy any more", "Trinkt morgens immer Tee",
        "The user might switch to night shifts",
    }  # fmt: skip
    assert records(account, status="superseded") == {
        "The user works as a nurse at Santa Maria", "Vera's cat Pixel eats only salmon",
    }  # fmt: skip
    assert records(account, status="rejected") == {"Vera has a sister, Nora, who lives in Porto"}


def test_what_a_page_steered_is_marked(account: Account) -> None:
    """The one record that it left is tainted by the tool and by its address, which the answer names as source."""
    (page,) = (one for one in account.memory["records"] if one.get("taint") and one["type"] != "outcome")

    assert page["taint"] == ["tool:read_page", PAGE] and page["trust"] == "candidate"
    assert [one["source_url"] for seen in account.turns for one in seen["sources"] if one["source_url"]] == [PAGE]
    assert len(account.memory["outbox"]) == 1


def test_a_slip_leaves_nothing(account: Account) -> None:
    """No citation of an id that the model made up, no second record of what it wrote twice, nothing of failed calls."""
    assert f"[{MADE_UP}]" in str(FORTY_TURNS.turns[4].script)
    assert account.turns[4]["citations"] == ["«Vera's cat Pixel eats only salmon»"]
    assert sum(one["text"] == "Vera's cat Pixel eats only salmon" for one in account.memory["records"]) == 1
    assert [call["error"] for call in account.turns[25]["tool_calls"]] == [True, False, False]


def test_outcomes_are_judged_once(account: Account) -> None:
    """A task with a mended step, two verdicts of the user, and a tool that failed."""
    outcomes = [record for record in account.memory["records"] if record["type"] == "outcome"]

    assert sorted((one["outcome"], *one["tags"], bool(one.get("taint"))) for one in outcomes) == [
        ("flaky failed", "failed", True),
        ("flat chosen and van booked", "succeeded", False),
        ("the user said that it did not work", "failed", False),
        ("the user said that it worked", "succeeded", False),
    ]
    assert {one["importance"] for one in outcomes} == {0.7}
    (tea,) = (one for one in account.memory["records"] if one["text"] == "Trinkt morgens immer Tee")
    assert tea["confidence"] == 0.9


def test_the_page_shows_the_run(account: Account) -> None:
    """``python -m tests.written.forty_turns`` writes it."""
    assert (ROOT / "docs" / "forty-turns.md").read_text(encoding="utf-8") == page_of(account)
