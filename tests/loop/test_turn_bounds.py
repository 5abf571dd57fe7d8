"""Whatever a model or a tool does, a turn ends within its bounds, says why, and leaves a session that goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from memkit.runtime.loop.core import DeclaredTool
from memkit.runtime.loop.interface import Completion, Message, ToolCall, ToolSpec
from tests.loop.made_agents import agent_of

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def call(name: str, args: Any, times: int = 1) -> Completion:
    """Return an answer that calls a tool."""
    return Completion(tool_calls=(ToolCall("x", name, args),) * times)


def test_a_slow_model_is_not_waited_for(memory: Any) -> None:
    """The turn ends at its time; what the model says later is no part of it."""
    released = threading.Event()
    answers: list[Callable[[], str]] = [lambda: "Late." if released.wait() else "", lambda: "In time."]
    agent = agent_of(model=lambda messages: answers.pop(0)(), memory=memory, max_seconds=0.2)

    reply = agent.step("Go on then")
    released.set()
    agent.config = replace(agent.config, max_seconds=3600.0)
    after = agent.step("And now?")

    assert reply.data["ended"] == "late" and "0.2 seconds" in reply.message
    assert after.message == "In time."
    assert "Late." not in str(memory.main.messages)


def test_a_stream_that_drags_on_leaves_what_came_in_time(memory: Any) -> None:
    """The words until then are the reply; those after it are told to nobody."""
    heard: list[str] = []
    released, ended = threading.Event(), threading.Event()

    class Drips:
        def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
            raise AssertionError("it can stream")

        def stream(self, messages: Any, tools: Any, say: Callable[[str], None]) -> Completion:
            try:
                for number in range(20):
                    if number == 2:
                        released.wait()
                    say(f"{number} ")
                return Completion("all")
            finally:
                ended.set()

    def listen(event: Any) -> None:
        if event.kind == "text":
            heard.append(event.data["delta"])

    agent = agent_of(model=Drips(), memory=memory, max_seconds=2.0, listen=listen)
    reply = agent.step("Go on then")
    released.set()
    ended.wait()

    assert reply.message.startswith("0 1\n") and reply.data["ended"] == "late"
    assert heard == ["0 ", "1 "]


@pytest.mark.parametrize("run", [["sleep", "3600"], lambda text: threading.Event().wait(30)])
def test_a_slow_tool_is_given_the_time_that_is_left(memory: Any, run: Any) -> None:
    """A program is stopped, a function is left to itself; either way the model's session says what is known."""
    tool = DeclaredTool("wait", "Wait.", TEXT, run=run)
    agent = agent_of(model=lambda messages: call("wait", {"text": "a"}), memory=memory, declared=[tool])
    agent.config = replace(agent.config, max_seconds=2.0)

    reply = agent.step("Go on then")

    assert reply.data["ended"] == "late"
    assert reply.tool_calls[0]["error"] and "did not finish" in reply.tool_calls[0]["result"]


def test_an_endless_loop_of_calls_ends_by_time_too(memory: Any) -> None:
    """Where many calls are allowed, the clock ends the turn; calls that were not run say so."""
    agent = agent_of(
        model=lambda messages: call("archival_memory_search", {"query": "a"}, 3),
        memory=memory,
        max_tool_calls=10**6,
        max_seconds=0.2,
    )

    reply = agent.step("Go on then")

    assert reply.data["ended"] == "late"
    results = [message for message in memory.main.messages if message["role"] == "tool"]
    asked = [c["id"] for message in memory.main.messages for c in message.get("tool_calls", ())]
    assert [result["tool_call_id"] for result in results] == asked


NONSENSE = [
    call("no_such_tool", {"a": 1}),
    call("archival_memory_search", "{broken"),
    call("archival_memory_search", "[1, 2]"),
    call("note", {"wrong": []}),
    call("note", {"text": None}),
    call("note", {"text": "x" * 2_000_000}),
    call("", {}),
    call("note\x00\n", {"text": "\ud800"}),
    Completion("\x00\x1b[2J\ud800 odd"),
    Completion("word " * 400_000),
    Completion("", (ToolCall("", "note", {}),) * 500),
]


@pytest.mark.parametrize("answer", NONSENSE, ids=range(len(NONSENSE)))
def test_nonsense_ends_in_an_answer_and_a_whole_session(memory: Any, answer: Completion) -> None:
    """Unknown tools, broken arguments, huge and odd text: the turn ends, and the next one is like any other."""
    answers = [answer, Completion("Sorry.")]
    note = DeclaredTool("note", "Note.", TEXT, run=lambda text: "noted")
    agent = agent_of(
        model=lambda messages: answers.pop(0) if answers else Completion("Fine."), memory=memory, declared=[note]
    )

    reply = agent.step("Do the thing")
    after = agent.step("And now?")

    assert reply.message and len(reply.tool_calls) <= 8
    assert all(entry["error"] or "x" * 100 in str(entry["args"]) for entry in reply.tool_calls)
    assert after.message
    assert memory.main.used() <= memory.main.max_tokens or len(memory.main.messages) <= 5
    calls = [c["id"] for message in memory.main.messages for c in message.get("tool_calls", ())]
    assert calls == [m["tool_call_id"] for m in memory.main.messages if m["role"] == "tool"]


@pytest.mark.parametrize("text", ["", " \n", "\x00", "\ud800", "word " * 200_000, "?" * 50_000])
def test_a_users_odd_words_are_answered(memory: Any, text: str) -> None:
    """No text of a user breaks a turn."""
    assert agent_of(model=lambda messages: "Yes.", memory=memory).step(text).message == "Yes."
