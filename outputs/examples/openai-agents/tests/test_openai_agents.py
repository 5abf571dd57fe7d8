"""What is the OpenAI Agents SDK's own: its session, its tool guardrail, its runner's bound, and its tracing."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from agents import set_trace_processors, set_tracing_disabled
from agents.tracing import TracingProcessor
from agents.tracing.setup import get_trace_provider
from memkit_runtime.host import sessions
from memkit_runtime.host.wires import STOPPED
from memkit_runtime.testing import FakeServer
from memkit_runtime.testing.trial.material import FAILED
from memkit_runtime.testing.trial.promises import only_error
from memkit_runtime.testing.trial.talking import Talk
from openai.types.responses import Response, ResponseFunctionToolCall

from agent.conversation import open_conversation
from agent.items import to_items, to_messages
from agent.runner_actor import RunnerActor
from agent.sessions import MaskedSession, path_of
from agent.tidy import tidy
from agent.tools import policy_gate, tools_of

SESSION = ("--session", "one", "--consent")
CALL = {"type": "function_call", "call_id": "call_1", "name": "note", "arguments": '{"text": "milk"}'}


def file_of(talk: Talk) -> Path:
    """Return where the session is kept."""
    return path_of(talk.state, "ada", "one")


def kept_items(talk: Talk) -> list[Any]:
    """Return the items of the session on disk."""
    session = MaskedSession("one", file_of(talk))
    items = asyncio.run(session.get_items())
    session.close()
    return items


# --- the session


def test_a_session_is_kept_on_disk_only_after_consent(talk: Talk) -> None:
    """Without consent no session is written; with it the file is for this account only."""
    talk("Hello!", ["Hello."], "--session", "one")
    assert not file_of(talk).exists()

    talk("Hello!", ["Hello."], *SESSION)

    assert stat.S_IMODE(file_of(talk).stat().st_mode) == 0o600


def test_withdrawing_consent_takes_the_session_off_the_disk(talk: Talk) -> None:
    """What was kept of the session is deleted with the consent."""
    talk("My cat is called Lovelace", ["A fine name."], *SESSION)
    assert kept_items(talk)

    talk("I withdraw my consent.", ["All right."], "--session", "one")

    assert not list(file_of(talk).parent.iterdir())


def test_each_user_has_a_file_of_their_own(talk: Talk) -> None:
    """So one user's can be erased, and another's of the same name goes on."""
    talk("My cat is called Lovelace", ["A fine name."], *SESSION)
    talk("My dog is called Rex", ["A fine name."], *SESSION, user="bob")

    assert b"Lovelace" in file_of(talk).read_bytes() and b"Rex" not in file_of(talk).read_bytes()
    file_of(talk).unlink()

    talk("And now?", ["Still here."], "--session", "one", user="bob")
    assert "Rex" in talk.words()[0]


def test_agreeing_puts_the_running_session_on_the_disk(talk: Talk) -> None:
    """What was said before the user agreed is part of the session that goes on, in this process and in the next."""
    with FakeServer(talk.wire.protocol, ["A fine name.", "Thank you.", "Lovelace."]) as server:
        rooms = talk.rooms(server.base_url)
        with open_conversation(rooms) as conversation:
            conversation.step("My cat is called Lovelace")
            assert not file_of(talk).exists()
            conversation.step("You may remember what I tell you.")
            conversation.step("What is my cat called?")
        rooms.close()

    assert [message["content"] for message in to_messages(kept_items(talk))][::2] == [
        "My cat is called Lovelace",
        "You may remember what I tell you.",
        "What is my cat called?",
    ]
    talk("And now?", ["Still here."], "--session", "one")
    assert "A fine name." in talk.words()[0]


def test_a_session_that_somebody_else_holds_is_told(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits in vain for its file gets one line, and no trace."""
    talk("Hello!", ["Hello."], *SESSION)
    monkeypatch.setattr(sessions, "PATIENCE", 0.1)
    with closing(sqlite3.connect(file_of(talk))) as holder:
        holder.executescript("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;")

        assert "locked" in only_error(talk("Hello again!", [], *SESSION))


def test_the_session_stays_as_small_as_the_main_context(talk: Talk) -> None:
    """What was paged out leaves the session as well, and a later process knows its summary."""
    for _ in range(8):
        talk("How was the weather? " * 10, ["It rained. " * 30], *SESSION, CONTEXT_MAX_TOKENS="900")

    assert len(kept_items(talk)) < 12
    talk("And now?", ["Still here."], "--session", "one")
    assert "Summary of earlier messages" in talk.system_prompts()[0]


def test_what_ran_before_a_failure_is_in_the_session(talk: Talk) -> None:
    """The SDK writes each step down, so the next process sees the call and its result, once."""
    talk("Write it down", [{"tool": "note", "args": {"text": "milk"}}, FAILED, FAILED], *SESSION)

    talk("Go on", ["Here we are."], "--session", "one")

    assert [result.count("noted") for result in talk.results()] == [1]
    assert talk.notes.count("milk") == 1


def test_a_run_that_was_killed_in_a_tool_call_can_go_on(talk: Talk) -> None:
    """Calls without a result get one that says so, in their place, and the call is not repeated."""
    talk("Hello!", ["Hello."], *SESSION)
    session = MaskedSession("one", file_of(talk))
    asyncio.run(session.add_items([{"role": "user", "content": "Write it down"}, CALL]))
    session.close()

    reply = talk("Go on", ["Here we are."], *SESSION)

    assert reply.message == "Here we are."
    assert talk.results() == [STOPPED]
    assert talk.notes == ""


def test_messages_come_back_from_items_as_they_were() -> None:
    """The text and the calls of one answer stay one message, with its results behind it."""
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
    """No tool is offered without the guardrail, and a body that is reached around it asks the policies itself."""
    rooms = talk.rooms("http://127.0.0.1:9/v1")
    tools = {tool.name: tool for tool in tools_of(cast(RunnerActor, SimpleNamespace(toolbox=rooms.toolbox)))}

    async def around_the_guardrail() -> str:
        return str(await tools["note"].on_invoke_tool(cast(Any, None), '{"text": "danger"}'))

    told = asyncio.run(around_the_guardrail())

    assert set(tools) == {spec.name for spec in rooms.toolbox.specs()}
    assert all(tool.tool_input_guardrails == [policy_gate] for tool in tools.values())
    rooms.close()
    assert "no_danger" in told and talk.notes == ""


def test_calls_of_one_answer_run_in_its_order(talk: Talk) -> None:
    """Parallel calls are each judged and answered, those that are denied and those that no tool offers too."""
    texts = ["milk", "danger", "bread", "eggs", "salt", "figs"]
    calls: list[dict[str, Any]] = [{"tool": "note", "args": {"text": text}} for text in texts]
    calls.insert(1, {"tool": "shell", "args": {"command": "ls"}})

    reply = talk("Write it down", [{"tools": calls}, "Done."])

    assert [text for text in re.findall(r"\w+", talk.notes) if text in texts] == [texts[0], *texts[2:]]
    results = talk.results()
    assert len(results) == len(calls)
    assert sum("no_danger" in result for result in results) == 1
    assert sum("no tool 'shell'" in result for result in results) == 1
    assert len(reply.data["tool_calls"]) == len(calls)


def test_arguments_that_were_cut_off_do_not_run(talk: Talk) -> None:
    """Half of a JSON object is no object."""
    talk("Write it down", [{"tool": "note", "arguments": '{"text": "half of it'}, "It was cut off."])

    assert talk.notes == ""
    assert "no JSON" in talk.results()[0]


def test_a_name_that_no_server_takes_back_does_not_end_the_session(talk: Talk) -> None:
    """The model is told that there is no such tool, and the conversation can be sent again."""
    talk("Clean up", [{"tool": "rm -rf", "args": {}}, "I cannot."], *SESSION)
    assert "no tool 'rm -rf'" in talk.results()[0]

    assert talk("And now?", ["Still here."], "--session", "one").message == "Still here."


@pytest.mark.parametrize(
    "item", [None, "text", ResponseFunctionToolCall.model_construct(type="function_call", name=None)]
)
def test_an_item_that_is_none_is_no_answer(item: Any) -> None:
    """The client passes on whatever a server sends, and the SDK would stumble over it later."""
    with pytest.raises(TypeError):
        tidy(Response.model_construct(output=[item]))


# --- the runner


def test_at_the_bound_the_model_is_offered_no_tool(talk: Talk) -> None:
    """The last request of a turn that used up its calls has to be answered in words."""
    note = {"tool": "note", "args": {"text": "again"}}

    reply = talk("Write it down", [*[note] * 8, "That was enough."])

    assert all(conversation.tools for conversation in talk.asked[:-1])
    assert not talk.asked[-1].tools
    assert reply.message.startswith("That was enough.")


def test_what_a_result_pages_out_is_in_the_summary_of_the_same_request(talk: Talk) -> None:
    """Nothing is for the length of one call neither in the prompt nor in its summary."""
    note = {"tool": "note", "args": {"text": "rain " * 80}}

    talk("How was the weather?", [note] * 5 + ["It rained."], CONTEXT_MAX_TOKENS="900")

    lengths = [len(conversation.messages) for conversation in talk.asked]
    paged = [place for place in range(1, len(lengths)) if lengths[place] <= lengths[place - 1]]
    assert paged
    assert all("Summary of earlier messages" in talk.system_prompts()[place] for place in paged)


def test_an_empty_answer_ends_the_turn(talk: Talk) -> None:
    """The user is told, and the model is not asked again."""
    reply = talk("Hello!", [""])

    assert "no answer" in reply.message
    assert len(talk.sent) == 1


# --- tracing


class Watcher(TracingProcessor):
    """Takes note of everything that would be uploaded."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    def on_trace_start(self, trace: Any) -> None:
        """Note a trace."""
        self.seen.append(trace)

    def on_trace_end(self, trace: Any) -> None:
        """Note a trace."""
        self.seen.append(trace)

    def on_span_start(self, span: Any) -> None:
        """Note a span."""
        self.seen.append(span)

    def on_span_end(self, span: Any) -> None:
        """Note a span."""
        self.seen.append(span)

    def shutdown(self) -> None:
        """Have nothing to end."""

    def force_flush(self) -> None:
        """Have nothing to send."""


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    """Return what stands in the place of the SDK's upload."""
    watching = Watcher()
    set_trace_processors([watching])
    yield watching
    set_trace_processors([])
    set_tracing_disabled(True)


@pytest.mark.parametrize("disabled_in_process", [True, False])
def test_nothing_is_traced(talk: Talk, watcher: Watcher, disabled_in_process: bool) -> None:
    """The SDK would upload every run to OpenAI; the process switches that off, and each run does so by itself."""
    set_tracing_disabled(disabled_in_process)

    talk("Write it down", [{"tool": "note", "args": {"text": "milk"}}, "Done."])

    assert watcher.seen == []


def test_the_watcher_would_see_a_trace(watcher: Watcher) -> None:
    """The test above can fail: a trace that is started reaches the watcher."""
    set_tracing_disabled(False)

    with get_trace_provider().create_trace("anything"):
        pass

    assert watcher.seen
