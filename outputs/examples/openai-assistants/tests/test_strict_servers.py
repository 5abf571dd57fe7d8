"""What a model makes up is not sent back to a server that would refuse it, now and in every later turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.call_numbers import CallNumbers
from agent.sendable import sendable_text
from tests.conftest import Talk
from tests.material import notes

SESSION = ("--session", "one", "--consent")


@pytest.mark.parametrize("name", ["rm -rf", "", "löschen", "x" * 65])
def test_a_name_that_no_server_takes_back_does_not_end_the_session(talk: Talk, name: str) -> None:
    """The model is told that there is no such tool, and the conversation can be sent again."""
    reply = talk("Clean up", [{"tool": name, "args": {}}, "I cannot."], *SESSION)

    assert f"no tool {name!r}" in talk.results()[0]
    assert [call["name"] for call in reply.data["tool_calls"]] == [name]
    assert talk("And now?", ["Still here."], "--session", "one").message == "Still here."


def test_a_made_up_name_with_broken_arguments_does_not_end_the_session(talk: Talk) -> None:
    """Two mistakes in one call are answered as one."""
    talk("Clean up", [{"tool": "rm -rf", "arguments": "{"}, "I cannot."], *SESSION)

    assert "no tool 'rm -rf'" in talk.results()[0]
    assert talk("And now?", ["Still here."], "--session", "one").message == "Still here."


def test_calls_of_the_same_id_are_told_apart(talk: Talk, compiled: Path) -> None:
    """A server that counts its calls anew in every answer, or not at all, has each of them run and answered once."""
    note = {"tool": "note", "id": "call_0"}
    twins = [{**note, "args": {"text": text}} for text in ("milk", "bread")]

    talk("Write it down", [{"tools": twins}, {**note, "args": {"text": "eggs"}}, "Done."], *SESSION)

    assert [notes(compiled).count(word) for word in ("milk", "bread", "eggs")] == [1, 1, 1]
    assert len(talk.results()) == 3
    talk("And this", [{**note, "args": {"text": "tea"}}, "Done."], "--session", "one")
    assert notes(compiled).count("tea") == 1
    assert talk("And now?", ["Still here."], "--session", "one").message == "Still here."


@pytest.mark.parametrize("arguments", ['{"text": "half of a pair \\ud83d"}', '{"\\\\udfff": 1}'])
def test_arguments_that_no_file_and_no_server_can_hold_do_not_end_the_session(talk: Talk, arguments: str) -> None:
    """Half of a surrogate pair is JSON, and no text."""
    talk("Write it down", [{"tool": "note", "arguments": arguments}, "Done."], *SESSION)

    assert len(talk.results()) == 1
    assert talk("And now?", ["Still here."], "--session", "one").message == "Still here."


def test_parts_of_several_calls_are_kept_apart() -> None:
    """By the index as the protocol says, and by the id where a server gives every call the same index, or none."""
    numbers = CallNumbers()

    assert [numbers.number_of(index, None) for index in (0, 1, 0)] == [0, 1, 0]
    numbers = CallNumbers()
    assert [numbers.number_of(0, call_id) for call_id in ("a", None, "b", "", "b")] == [0, 0, 1, 1, 1]
    numbers = CallNumbers()
    assert [numbers.number_of(None, call_id) for call_id in ("a", None, "b")] == [0, 0, 1]


def test_a_character_that_was_cut_in_two_is_put_together() -> None:
    """Half of a surrogate pair can be sent nowhere and printed nowhere."""
    assert sendable_text("fine \ud83d" + "\ude42") == "fine \U0001f642"
    sendable_text("\ude42 alone \ud83d").encode()
