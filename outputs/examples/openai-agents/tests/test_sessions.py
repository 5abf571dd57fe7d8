"""Sessions go on in a new process, and what the model sees stays bounded."""

from __future__ import annotations

import pytest

from tests.conftest import Talk, spoken

BUDGET = 700
SYSTEM_ALLOWANCE = 1500
"""Tokens that persona, rules and policies take besides the main context."""


@pytest.mark.process
def test_a_session_goes_on_in_a_new_process(talk: Talk) -> None:
    """The words of the first process stand in the prompt of the second."""
    talk.elsewhere("My cat is called Lovelace", ["A fine name."], "--consent", "--session", "one")

    reply = talk.elsewhere("What did I just say?", ["You told me about Lovelace."], "--session", "one")

    assert "My cat is called Lovelace" in talk.words()[0]
    assert "A fine name." in talk.words()[0]
    assert reply.data["session"] == "one"


def test_a_run_without_a_session_gets_a_new_one_that_is_empty(talk: Talk) -> None:
    """Each run names its session; a fresh one is made where none is given, and knows nothing of those before."""
    first = talk("My cat is called Lovelace", ["A fine name."], "--consent").data["session"]
    second = talk("Hello!", ["Hello."]).data["session"]

    assert first and second and first != second
    assert "Lovelace" not in str(talk.asked)


def test_another_users_session_of_the_same_name_is_another_one(talk: Talk) -> None:
    """A name is a user's own."""
    talk("My cat is called Lovelace", ["A fine name."], "--consent", "--session", "one")

    talk("Hello!", ["Hello."], "--session", "one", user="bob")

    assert "Lovelace" not in str(talk.asked)


def test_the_main_context_stays_bounded(talk: Talk) -> None:
    """However long the session, a request does not grow; tool calls leave together with their results."""
    long_note = {"tool": "note", "args": {"text": "rain " * 40}}
    for day in range(4):
        script = [long_note, f"It rained on day {day}. " * 50]
        reply = talk("How was the weather? " * 30, script, "--session", "one", "--consent",
                     CONTEXT_MAX_TOKENS=str(BUDGET))  # fmt: skip
        usage = reply.data["context_usage"]
        assert usage["used"] <= usage["budget"] == BUDGET
        assert len(str(talk.asked[-1].messages)) < 4 * (BUDGET + SYSTEM_ALLOWANCE)

    assert "It rained on day 0. It rained" not in talk.words()[-1]
    assert "Summary of earlier messages" in talk.system_prompts()[-1]


def test_words_longer_than_the_main_context_are_shortened(talk: Talk) -> None:
    """The request holds them once, within the budget, and not as they were said."""
    talk("rain " * 20_000, ["It rains."], CONTEXT_MAX_TOKENS=str(BUDGET))

    words = spoken(talk.asked[0], "user")
    assert 0 < len(words) < 8 * BUDGET


def test_secrets_are_masked_in_whatever_a_session_keeps(talk: Talk) -> None:
    """A key that the user pastes reaches the model and no file."""
    key = "sk-proj-" + "a1B2c3D4e5" * 4

    talk(f"My key is {key}, what is it for?", ["Keep it secret."], "--session", "one", "--consent")

    assert key in talk.words()[0]
    assert not [path for path in talk.store.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
    talk("And now?", ["Still here."], "--session", "one")
    assert "what is it for?" in talk.words()[0]
