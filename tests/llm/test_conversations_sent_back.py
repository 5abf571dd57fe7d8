"""Whatever a model made up and whatever a page-out took away, the vendors take the conversation back."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.cli.main import run
from memkit.llm import anthropic_model, openai_model
from memkit.llm.providers import open_model
from memkit.llm.wire import BEGINNING, NO_RESULT, UNNAMED, system_text, turns_of
from memkit.runtime.loop.interface import Message
from memkit.runtime.testing import Conversation, FakeServer
from memkit.runtime.testing.anthropic.request import read_conversation as read_anthropic
from memkit.runtime.testing.chat import read_conversation as read_chat

PROTOCOLS = {"anthropic": "anthropic", "openai": "chat"}

text = st.text(st.characters(), max_size=20) | st.sampled_from(["", " \n", "\ud83d", "\x1b[31m\x00", "ok "])
value = st.recursive(text | st.none() | st.booleans() | st.floats() | st.integers(), st.lists, max_leaves=4)
call_ids = st.sampled_from(["call-1-1", "call-1-2", "same", "a b", "", "x" * 99]) | text
names = st.sampled_from(["note", "rm -rf /", "", "n" * 200, "päivä"]) | text
call = st.fixed_dictionaries({"id": call_ids, "name": names, "args": st.dictionaries(text, value, max_size=2)})
message = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "system", "assistant"]), "content": text | st.none()}),
    st.fixed_dictionaries({"role": st.just("assistant"), "content": text, "tool_calls": st.lists(call, max_size=3)}),
    st.fixed_dictionaries({"role": st.just("tool"), "content": text, "tool_call_id": call_ids, "name": names}),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(message, max_size=8))
def test_every_conversation_is_made_one_that_the_vendors_take(given_messages: list[Any]) -> None:
    """The strict readers of both protocols accept it, and it can be written as JSON in UTF-8."""
    messages: list[Message] = [*given_messages, {"role": "user", "content": "Go on."}]
    turns = turns_of(messages)
    chat = {"model": "m", "messages": [one for turn in turns for one in openai_model._wire_turn(turn)]}
    claude = {"model": "m", "max_tokens": 9, "messages": [anthropic_model._wire_turn(turn) for turn in turns]}

    for request in (chat, claude):
        json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
    system_text(messages).encode()

    assert read_chat(chat).last.text.endswith("Go on.")
    assert read_anthropic(claude, "2026-10-21").last.text.endswith("Go on.")


def test_a_sound_conversation_is_sent_as_it_is() -> None:
    """Names, ids, arguments and results stay; words behind words of the same side are one message."""
    messages: list[Message] = [
        {"role": "user", "content": "Note milk."},
        {"role": "user", "name": "memory", "content": "<data/>"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "note", "args": {"text": "milk"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "noted"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks."},
    ]

    turns = turns_of(messages)

    assert [(turn.role, turn.text) for turn in turns] == [
        ("user", "Note milk.\n\n<data/>"), ("assistant", ""), ("user", ""), ("assistant", "Done."), ("user", "Thanks.")
    ]  # fmt: skip
    assert turns[1].calls == [{"id": "c1", "name": "note", "args": {"text": "milk"}}]
    assert turns[2].results == [("c1", "noted")]


def test_what_is_missing_or_made_up_is_put_right() -> None:
    """A call without a result says so, a result without a call stays readable, a name that is none has a stand-in."""
    messages: list[Message] = [
        {"role": "tool", "tool_call_id": "gone", "content": "the weather is fine"},
        {"role": "assistant", "content": "Hm.", "tool_calls": [{"id": "c 1", "name": "rm -rf /", "args": {}}]},
        {"role": "user", "content": "And?"},
    ]

    first, second, third = turns_of(messages)

    assert first.text == "the weather is fine"
    assert (second.calls[0]["name"], second.calls[0]["id"]) == (UNNAMED, "c1")
    assert (third.results, third.text) == ([("c1", NO_RESULT)], "And?")
    assert turns_of(messages[1:])[0].text == BEGINNING


NONSENSE: list[Any] = [
    {"tool": "rm -rf /", "args": {}},
    {"text": "Both: \x1b[31mred", "tool": "note it", "args": {"x": 1}},
    {"tool": "archival_memory_search", "arguments": '{"query": '},
    {"tools": [{"tool": "plan_task", "args": {"task": "a"}, "id": "same"}] * 2},
    {"text": ""},
    {"tools": [{"tool": f"tool_{number}", "args": {}} for number in range(300)]},
]


@pytest.mark.parametrize("provider", PROTOCOLS)
def test_a_session_survives_every_nonsense(
    provider: str, model_server: Any, store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each, the next turn is asked with a conversation that the strict server takes, and is answered."""
    waiting = iter(NONSENSE)

    def nonsense(conversation: Conversation) -> Any:
        return next(waiting, "Done.") if conversation.last.role == "user" else "Sorry."

    server: FakeServer = model_server(PROTOCOLS[provider], nonsense)
    monkeypatch.setattr("sys.stdin", io.StringIO("Go on, please.\n" * (len(NONSENSE) + 1)))

    code = run(["chat", "--store", str(store), "--provider", provider, "--user", "ada", "--consent", "--jsonl"])

    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (code, server.refused) == (0, [])
    assert len(said) == len(NONSENSE) + 1
    assert all(one["data"]["message"] for one in said)


def test_a_model_takes_no_half_characters_in_tools_either(model_server: Any) -> None:
    """The words of a tool's description come from whoever declared it."""
    from memkit.runtime.loop.interface import ToolSpec

    server: FakeServer = model_server("chat", ["Fine."])

    open_model("openai", "m\ud83d").complete(
        [{"role": "user", "content": "a\ud83d"}], [ToolSpec("note", "Half a face: \ud83d.")]
    )

    assert server.refused == []
