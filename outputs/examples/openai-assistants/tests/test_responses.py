"""Specific to the Responses wire: nothing stored, reasoning returned encrypted, items returned whole."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import openai
import pytest
from memkit_runtime.host.endpoints import Endpoint
from memkit_runtime.host.sessions import CannotServe
from memkit_runtime.host.wires import CUT_OFF
from memkit_runtime.testing import FakeServer
from memkit_runtime.testing.trial.material import FAILED
from memkit_runtime.testing.trial.talking import Talk

from agent.conversation import open_conversation
from agent.response_items import read_items, resendable, to_items
from agent.responses_wire import ENCRYPTED, ResponsesWire

SESSION = ("--session", "one", "--consent")
NOTE = {"tool": "note", "args": {"text": "milk"}}


def kinds(body: Any) -> list[str]:
    """Return the kinds of the items in a request."""
    return [item.get("type", item.get("role")) for item in body["input"]]


def test_the_server_is_told_to_store_nothing(talk: Talk) -> None:
    """Each request says so, and none of them continues something that a server would have to store."""
    talk("Write it down", [NOTE, "Done."])

    assert all(body["store"] is False and body["include"] == [ENCRYPTED] for body in talk.sent)
    assert not {"conversation", "previous_response_id"} & {key for body in talk.sent for key in body}


def test_the_items_of_a_run_go_back_whole(talk: Talk) -> None:
    """Text, calls and encrypted reasoning are sent back as the server wrote them, each call followed by its output."""
    talk("Write it down", [{"text": "I will.", "tools": [NOTE, NOTE]}, NOTE, "Done."])

    assert kinds(talk.sent[2]) == [
        "user",
        *("reasoning", "message", "function_call", "function_call", "function_call_output", "function_call_output"),
        *("reasoning", "function_call", "function_call_output"),
    ]
    reasoning, said, call, *_ = talk.sent[2]["input"][1:]
    assert reasoning["encrypted_content"] and reasoning["id"].startswith("rs_")
    assert said["id"].startswith("msg_") and said["phase"] == "commentary"
    assert call["id"].startswith("fc_") and json.loads(call["arguments"]) == NOTE["args"]
    assert talk.sent[2]["input"][: len(talk.sent[1]["input"])] == talk.sent[1]["input"]


def test_reasoning_ends_with_its_run(talk: Talk) -> None:
    """The next turn has words, calls and outputs; no file contains what only the server can read."""
    talk("Write it down", [{"text": "I will.", "tools": [NOTE]}, "Done."], *SESSION)

    assert not [path for path in talk.store.rglob("*") if path.is_file() and b"encrypted_content" in path.read_bytes()]
    talk("And now?", ["Still here."], "--session", "one")
    assert kinds(talk.sent[0]) == ["user", "assistant", "function_call", "function_call_output", "assistant", "user"]
    assert [item["phase"] for item in talk.sent[0]["input"] if "phase" in item] == ["commentary", "final_answer"]


def test_reasoning_is_in_no_file_while_its_run_lasts(talk: Talk) -> None:
    """A process that dies half-way leaves words, calls and outputs, which a later one can send."""
    talk("Write it down", [{"text": "I will.", "tools": [NOTE]}, FAILED, FAILED], *SESSION)

    assert not [path for path in talk.store.rglob("*") if path.is_file() and b"encrypted_content" in path.read_bytes()]
    talk("Go on", ["Here we are."], "--session", "one")
    assert kinds(talk.sent[0]) == ["user", "assistant", "function_call", "function_call_output", "user"]


def test_a_model_that_does_not_reason_is_asked_without(talk: Talk) -> None:
    """The server's refusal settles the question, once."""
    with FakeServer("responses", [NOTE, "Done."]) as server:
        rooms = talk.rooms(server.base_url, MODEL="gpt-4.1")
        with open_conversation(rooms) as conversation:
            assert conversation.step("Write it down").message == "Done."
        rooms.close()

    assert [request.status for request in server.requests] == [400, 200, 200]
    assert not any("include" in request.body for request in server.requests[1:])


# --- items


REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "note", "arguments": '{"text": "milk"}'}
SAID = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "I will."}]}
CALLS = [{"id": "call_1", "name": "note", "args": {"text": "milk"}}]
MESSAGE = {"role": "assistant", "content": "I will.", "tool_calls": CALLS}
WRITTEN: list[dict[str, Any]] = [REASONING, SAID, CALL]


def test_a_message_is_what_the_server_wrote() -> None:
    """As long as its text is unchanged."""
    assert to_items([MESSAGE], {"call_1": WRITTEN}) == WRITTEN


@pytest.mark.parametrize(
    ("written", "changed"),
    [
        (WRITTEN, {"content": "I …"}),
        (WRITTEN, {"tool_calls": [{**CALLS[0], "args": {"note": "shortened"}}]}),
        ([REASONING, SAID, {**CALL, "name": "rm -rf"}], {"tool_calls": [{**CALLS[0], "name": "rm -rf"}]}),
        ([REASONING, {**SAID, "id": "msg_\ud83d"}, CALL], {}),
        ([REASONING, SAID, {**CALL, "arguments": None}], {"tool_calls": [{**CALLS[0], "args": {}}]}),
        ([], {}),
    ],
)
def test_a_message_that_was_changed_or_cannot_be_sent_is_made_anew(written: list[Any], changed: dict[str, Any]) -> None:
    """A shortened message is sent in its current form, and an unacceptable one in a form that servers accept."""
    items = to_items([{**MESSAGE, **changed}], {"call_1": written})

    assert [item.get("type", item.get("role")) for item in items] == ["assistant", "function_call"]
    json.dumps(items, ensure_ascii=False).encode()
    assert "rm -rf" not in str(items)


def test_reasoning_that_is_only_an_id_is_not_sent_back() -> None:
    """A server that stores nothing would not find it."""
    bare = {"type": "reasoning", "id": "rs_1", "summary": []}

    assert resendable([bare, REASONING, CALL]) == [REASONING, CALL]


def test_a_refusal_is_what_the_model_said() -> None:
    """The user reads it like any answer."""
    refused = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]}

    assert read_items([refused]) == ("I cannot.", [], None)


# --- streams with a bad end


def finished(*events: Any) -> tuple[list[dict[str, Any]], str]:
    """Return what the wire makes of a stream of events."""
    with ResponsesWire(Endpoint("local", "http://127.0.0.1:9/v1", "local", 1.0)) as wire:
        return wire._finished(events)


def event(kind: str, **more: Any) -> Any:
    """Return one event."""
    return SimpleNamespace(type=kind, **more)


def item(**fields: Any) -> openai.BaseModel:
    """Return an item in the SDK's form."""
    return openai.BaseModel.construct(**fields)


def test_a_stream_that_just_ends_is_told() -> None:
    """An answer without its last event is incomplete, so none of its calls may run."""
    with pytest.raises(CannotServe, match="broke off"):
        finished(event("response.created"), event("response.output_item.done", item=item(type="message")))


def test_a_failure_inside_a_stream_is_one_line(talk: Talk) -> None:
    """Servers also report it in the stream, if they have begun to answer."""
    reply = talk("Hello!", [{"text": "half of", "stop": "failed", "message": "out of\norder"}])

    (finding,) = reply.envelopes[0]["diagnostics"]
    assert reply.code == 3 and "out of order" in finding["message"]


def test_an_error_in_the_place_of_an_event_is_one_line() -> None:
    """The protocol has an event for it that belongs to no response."""
    with pytest.raises(CannotServe, match="out of order"):
        finished(event("response.created"), event("error", message="out of\norder", code=None))


def test_an_answer_that_reached_its_limit_is_said_as_far_as_it_goes(talk: Talk) -> None:
    """It is all that the user will get, and says that there was more."""
    told = talk("Tell me", [{"text": "Once upon a time", "stop": "length"}]).message

    assert told == f"Once upon a time\n{CUT_OFF}"


def test_items_are_taken_from_the_stream_where_the_last_event_has_none() -> None:
    """In the order in which they were finished."""
    done = [event("response.output_item.done", item=item(number=place)) for place in (0, 1)]
    nothing: list[Any] = [[], None]

    for output in nothing:
        last = event("response.completed", response=SimpleNamespace(output=output))
        assert finished(*done, last)[0] == [{"number": 0}, {"number": 1}]


@pytest.mark.parametrize("content", ["words", None, [3, {"type": "output_text", "text": 5}], {}])
def test_parts_that_are_none_say_nothing_worse(content: Any) -> None:
    """A message of another shape causes no traceback."""
    text, calls, _ = read_items([{"type": "message", "content": content}, {"type": "dance"}])

    assert text in ("", "5") and calls == []


def test_an_answer_that_was_cut_short_by_its_length_counts_as_it_is() -> None:
    """The user reads what there is; a call with truncated arguments is invalid JSON and does not run."""
    cut = event("response.incomplete", response=SimpleNamespace(output=[item(**{**CALL, "arguments": '{"text": "mi'})]))

    _, calls, _ = read_items(finished(cut)[0])

    assert calls[0].args == '{"text": "mi'
