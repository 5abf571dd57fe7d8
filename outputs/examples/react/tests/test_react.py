"""What is this target's own: the client that reads a stream of Chat Completions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from agent.chat_model import gathered
from loop.interface import Completion


def chunk(content: str | None = None, *calls: tuple[int, str | None, str | None, str]) -> Any:
    """Return one chunk; a call is its index, id, name and a part of its arguments."""
    deltas = [
        SimpleNamespace(index=index, id=call_id, function=SimpleNamespace(name=name, arguments=arguments))
        for index, call_id, name, arguments in calls
    ]
    delta = SimpleNamespace(content=content, refusal=None, tool_calls=deltas or None)
    return SimpleNamespace(choices=[SimpleNamespace(delta=delta)], usage=None)


def test_calls_that_share_an_index_stay_two_calls() -> None:
    """Their ids tell them apart, and each has its own arguments."""
    stream = [
        chunk(None, (0, "a", "note", '{"text": ')),
        chunk(None, (0, None, None, '"milk"}')),
        chunk(None, (0, "b", "note", '{"text": "bread"}')),
    ]

    completion = gathered(stream)

    assert completion is not None
    assert [call.args for call in completion.tool_calls] == [{"text": "milk"}, {"text": "bread"}]


def test_a_character_that_was_cut_in_two_is_put_together() -> None:
    """The halves arrive in two chunks, as JSON allows."""
    assert gathered([chunk("fine \ud83d"), chunk("\ude42")]) == Completion("fine \U0001f642")
