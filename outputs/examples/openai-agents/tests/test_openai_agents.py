"""Specific to the OpenAI Agents SDK: its session, its tool guardrail, and its tracing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from agents import set_trace_processors, set_tracing_disabled
from agents.tracing import TracingProcessor
from agents.tracing.setup import get_trace_provider
from memkit_runtime.host.wires import CUT_OFF, STOPPED
from memkit_runtime.testing.trial import promises
from memkit_runtime.testing.trial.talking import Talk
from openai.types.responses import Response, ResponseFunctionToolCall

from agent.items import to_items, to_messages
from agent.runner_actor import RunnerActor
from agent.sessions import MaskedSession, path_of
from agent.tidy import tidy
from agent.tools import policy_gate, tools_of

SESSION = ("--session", "one", "--consent")
CALL = {"type": "function_call", "call_id": "call_1", "name": "note", "arguments": '{"text": "milk"}'}


def file_of(talk: Talk) -> Path:
    """Return the session's file."""
    return path_of(talk.state, "ada", "one")


def kept_items(talk: Talk) -> list[Any]:
    """Return the items of the session on disk."""
    session = MaskedSession("one", file_of(talk))
    items = asyncio.run(session.get_items())
    session.close()
    return items


# --- the session


class TestSessionFiles(promises.SessionFiles):
    """The file is the SDK's own session."""

    def file(self, talk: Talk) -> Path:
        """Return the file."""
        return file_of(talk)

    def kept(self, talk: Talk) -> list[str]:
        """Return the texts of its messages."""
        return [message["content"] for message in to_messages(kept_items(talk))]


def test_a_run_that_was_killed_in_a_tool_call_can_go_on(talk: Talk) -> None:
    """Calls without a result get a placeholder in their place, and the call is not repeated."""
    talk("Hello!", ["Hello."], *SESSION)
    session = MaskedSession("one", file_of(talk))
    asyncio.run(session.add_items([{"role": "user", "content": "Write it down"}, CALL]))
    session.close()

    reply = talk("Go on", ["Here we are."], *SESSION)

    assert reply.message == "Here we are."
    assert talk.results() == [STOPPED]
    assert talk.notes == ""


def test_messages_come_back_from_items_as_they_were() -> None:
    """The text and the calls of one answer stay one message, followed by its results."""
    calls = [{"id": f"call_{number}", "name": "note", "args": {"text": "milk"}} for number in (1, 2)]
    results = [{"role": "tool", "tool_call_id": call["id"], "name": "note", "content": "noted"} for call in calls]
    messages: list[Any] = [
        {"role": "user", "content": "Write it down"},
        {"role": "assistant", "content": "I will.", "tool_calls": calls},
        *results,
        {"role": "assistant", "content": "Done."},
    ]

    assert to_messages(to_items(messages)) == messages


# --- the tool guardrail


def test_every_tool_is_behind_the_policies(talk: Talk) -> None:
    """No tool is offered without the guardrail, and a body reached by bypassing it asks the policies itself."""
    rooms = talk.rooms("http://127.0.0.1:9/v1")
    tools = {tool.name: tool for tool in tools_of(cast(RunnerActor, SimpleNamespace(toolbox=rooms.toolbox)))}

    async def around_the_guardrail() -> str:
        return str(await tools["note"].on_invoke_tool(cast(Any, None), '{"text": "danger"}'))

    told = asyncio.run(around_the_guardrail())

    assert set(tools) == {spec.name for spec in rooms.toolbox.specs()}
    assert all(tool.tool_input_guardrails == [policy_gate] for tool in tools.values())
    rooms.close()
    assert "no_danger" in told and talk.notes == ""


def test_a_name_that_no_server_takes_back_does_not_end_the_session(talk: Talk) -> None:
    """The model is told that there is no such tool, and the conversation can be sent again."""
    talk("Clean up", [{"tool": "rm -rf", "args": {}}, "I cannot."], *SESSION)
    assert "no tool 'rm -rf'" in talk.results()[0]

    assert talk("And now?", ["Still here."], "--session", "one").message == "Still here."


def test_an_answer_that_is_cut_off_says_so(talk: Talk) -> None:
    """Half an answer does not pass for a whole one, now or when the session continues."""
    assert talk("Where to?", [{"text": "Take the", "stop": "length"}], *SESSION).message == f"Take the\n{CUT_OFF}"
    assert talk("And then?", ["Turn left."], *SESSION).message == "Turn left."


@pytest.mark.parametrize(
    "item", [None, "text", ResponseFunctionToolCall.model_construct(type="function_call", name=None)]
)
def test_an_item_that_is_none_is_no_answer(item: Any) -> None:
    """The client passes on whatever a server sends, and the SDK would fail on it later."""
    with pytest.raises(TypeError):
        tidy(Response.model_construct(output=[item]))


# --- tracing


class Watcher(TracingProcessor):
    """Records everything that would be uploaded."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    def on_trace_start(self, trace: Any) -> None:
        """Record a trace."""
        self.seen.append(trace)

    def on_trace_end(self, trace: Any) -> None:
        """Record a trace."""
        self.seen.append(trace)

    def on_span_start(self, span: Any) -> None:
        """Record a span."""
        self.seen.append(span)

    def on_span_end(self, span: Any) -> None:
        """Record a span."""
        self.seen.append(span)

    def shutdown(self) -> None:
        """Do nothing."""

    def force_flush(self) -> None:
        """Do nothing."""


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    """Return the replacement of the SDK's upload."""
    watching = Watcher()
    set_trace_processors([watching])
    yield watching
    set_trace_processors([])
    set_tracing_disabled(True)


@pytest.mark.parametrize("disabled_in_process", [True, False])
def test_nothing_is_traced(talk: Talk, watcher: Watcher, disabled_in_process: bool) -> None:
    """The SDK would upload every run to OpenAI; the process disables that, and each run does so itself."""
    set_tracing_disabled(disabled_in_process)

    talk("Write it down", [{"tool": "note", "args": {"text": "milk"}}, "Done."])

    assert watcher.seen == []


def test_the_watcher_would_see_a_trace(watcher: Watcher) -> None:
    """The test above can fail: a started trace reaches the watcher."""
    set_tracing_disabled(False)

    with get_trace_provider().create_trace("anything"):
        pass

    assert watcher.seen
