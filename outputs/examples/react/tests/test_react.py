"""Specific to this target: the client for streamed Chat Completions, shown as they arrive."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from memkit_runtime.host.terminal import Showing
from memkit_runtime.loop.core import Completion, Host
from memkit_runtime.testing.trial.talking import Talk

from agent.chat_model import ChatModel, gathered
from agent.conversation import open_conversation


def chunk(
    content: str | None = None, *calls: tuple[int, str | None, str | None, str], stop: str | None = "stop"
) -> Any:
    """Return one chunk; a call is its index, id, name and a part of its arguments."""
    deltas = [
        SimpleNamespace(index=index, id=call_id, function=SimpleNamespace(name=name, arguments=arguments))
        for index, call_id, name, arguments in calls
    ]
    delta = SimpleNamespace(content=content, refusal=None, tool_calls=deltas or None)
    return SimpleNamespace(choices=[SimpleNamespace(delta=delta, finish_reason=stop)], usage=None)


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
    """The halves arrive in two chunks, as JSON allows; listeners never receive one of them alone."""
    heard: list[str] = []

    assert gathered([chunk("fine"), chunk(" \ud83d"), chunk("\ude42")], heard.append) == Completion("fine \U0001f642")
    assert "".join(heard) == "fine \U0001f642"


@pytest.mark.parametrize(
    ("stop", "words"),
    [("length", "cut off at the model's limit"), ("content_filter", "filter"), (None, "ended before")],
)
def test_an_answer_that_is_not_complete_says_so(stop: str | None, words: str) -> None:
    """Half of it is not shown as if it were all."""
    heard: list[str] = []

    completion = gathered([chunk("Take the", stop=stop)], heard.append)

    assert completion is not None and completion.text == "".join(heard)
    assert completion.text.startswith("Take the\n(") and words in completion.text


def test_an_answer_is_shown_while_it_comes(talk: Talk) -> None:
    """Piece by piece, and at the end only what was not shown yet."""
    printed = io.StringIO()
    showing = Showing(printed)
    with talk.model(["It is a fine day by the sea."]) as server:
        rooms = talk.rooms(server.base_url, host=Host(listen=showing))
        with open_conversation(rooms) as conversation:
            reply = conversation.step("How is it?")
        rooms.close()

    assert printed.getvalue() == reply.message
    showing.settle(f"{reply.message}\n(stored: 1)")
    assert printed.getvalue() == f"{reply.message}\n(stored: 1)\n"
    assert reply.data["usage"]["requests"] == 1


def test_an_interrupt_is_told_by_the_exit_code_and_loses_nothing(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn is over and stored, and a script that runs the agent stops as well."""

    def interrupted(*_: object) -> Completion:
        raise KeyboardInterrupt

    with monkeypatch.context() as at_the_keyboard:
        at_the_keyboard.setattr(ChatModel, "complete", interrupted)
        reply = talk("Write it down", [], "--session", "one", "--consent")
    assert (reply.code, reply.envelopes[0]["data"]["ended"]) == (130, "interrupted")

    talk("Go on", ["Here we are."], "--session", "one")

    assert "Write it down" in talk.words()[0]


def test_nothing_is_written_down_without_consent(talk: Talk) -> None:
    """Neither before a step nor after it."""
    talk(
        "My cat is called Lovelace",
        [{"tool": "note", "args": {"text": "Lovelace"}}, "A fine name."],
        "--session",
        "one",
    )

    assert not list(talk.store.rglob("context/*"))
