"""What the Assistants server refuses: requests that the vendor answered with 400 or 404."""

from __future__ import annotations

from typing import Any

import pytest
from raw import send

from memkit.runtime.testing import FakeServer

HEADERS = {"OpenAI-Beta": "assistants=v2", "Content-Type": "application/json"}
USER = {"role": "user", "content": "Hi"}


def ask(server: FakeServer, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, Any]]:
    """Send one request as it is and return status and parsed answer."""
    return send(server, path, body, method=method, headers=headers or HEADERS)


def made(server: FakeServer, path: str, **body: Any) -> str:
    """Make something and return its id."""
    status, answer = ask(server, "POST", path, body)
    assert status == 200, answer
    return str(answer["id"])


def tools(*functions: Any) -> dict[str, Any]:
    """Return the body of an assistant with ``functions``."""
    return {"model": "m", "tools": [{"type": "function", "function": function} for function in functions]}


ASSISTANTS: dict[str, tuple[Any, str]] = {
    "not JSON": (b"{oops", "could not parse"),
    "not an object": ([1], "expected an object, but got an array instead"),
    "no model": ({}, "Missing required parameter: 'model'"),
    "an unknown parameter": ({"model": "m", "file_ids": []}, "Unknown parameter: 'file_ids'"),
    "a name that is too long": ({"model": "m", "name": "a" * 257}, "up to 256"),
    "instructions that are a list": ({"model": "m", "instructions": []}, "Invalid 'instructions'"),
    "tools that are no list": ({"model": "m", "tools": {}}, "a list is expected"),
    "a tool that is text": ({"model": "m", "tools": ["look"]}, "tools[0]"),
    "a tool of another kind": ({"model": "m", "tools": [{"type": "retrieval"}]}, "'retrieval' is not one of"),
    "too many tools": (tools(*({"name": f"t{number}"} for number in range(129))), "more than 128"),
    "two tools of one name": (tools({"name": "a"}, {"name": "a"}), "must be unique"),
    "a tool name with a dot": (tools({"name": "a.b"}), "does not match pattern"),
    "parameters of no object": (tools({"name": "a", "parameters": {"type": "string"}}), "'type: \"object\"'"),
    "metadata that is a number": ({"model": "m", "metadata": {"a": 1}}, "metadata.a"),
    "too much metadata": ({"model": "m", "metadata": {str(number): "" for number in range(17)}}, "at most 16"),
}

MESSAGES: dict[str, tuple[Any, str]] = {
    "no role": ({"content": "Hi"}, "neither 'user' nor 'assistant'"),
    "the system's role": ({"role": "system", "content": "Hi"}, "neither 'user' nor 'assistant'"),
    "no content": ({"role": "user"}, "non-empty list of parts"),
    "empty content": ({"role": "user", "content": " "}, "must be non-empty"),
    "endless content": ({"role": "user", "content": "a" * 256_001}, "more than 256000"),
    "a part of another kind": ({"role": "user", "content": [{"type": "input_text"}]}, "'input_text' is not one of"),
    "a tool's result": ({**USER, "tool_call_id": "c"}, "Unknown parameter: 'tool_call_id'"),
}

RUNS: dict[str, tuple[Any, str]] = {
    "no assistant": ({"assistant_id": ""}, "Invalid 'assistant_id'"),
    "an unknown parameter": ({"messages": []}, "Unknown parameter: 'messages'"),
    "stream that is text": ({"stream": "yes"}, "expected a boolean"),
    "too few tokens": ({"max_prompt_tokens": 255}, "from 256"),
    "messages that are text": ({"additional_messages": "Hi"}, "a list is expected"),
    "a broken message": ({"additional_messages": [USER, {"role": "user"}]}, "additional_messages[1].content"),
    "a choice of no tool": ({"tool_choice": {"type": "function", "function": {"name": "x"}}}, "tool_choice"),
    "an unknown strategy": ({"truncation_strategy": {"type": "all"}}, "truncation_strategy.type"),
    "a strategy without a number": ({"truncation_strategy": {"type": "last_messages"}}, "last_messages"),
}

OUTPUTS: dict[str, tuple[Any, str]] = {
    "no list": ({}, "Invalid 'tool_outputs'"),
    "no id": ({"tool_outputs": [{"output": "x"}]}, "tool_outputs[0].tool_call_id"),
    "an output that is an object": ({"tool_outputs": [{"tool_call_id": "a", "output": {}}]}, "tool_outputs[0].output"),
    "an output twice": ({"tool_outputs": [{"tool_call_id": "a", "output": "x"}] * 2}, "answered twice"),
    "one output of two": ({"tool_outputs": [{"tool_call_id": "a", "output": "x"}]}, "Expected tool outputs for"),
    "an output of no call": (
        {"tool_outputs": [{"tool_call_id": name, "output": "x"} for name in "abc"]},
        "Expected tool outputs for call_ids ['a', 'b'], got ['a', 'b', 'c']",
    ),
    "an unknown parameter": ({"tool_outputs": [], "outputs": []}, "Unknown parameter: 'outputs'"),
}


def refused(answer: tuple[int, dict[str, Any]], status: int = 400) -> str:
    """Return the reason of a refusal in the shape of the protocol."""
    assert answer[0] == status, answer
    assert set(answer[1]["error"]) == {"message", "type", "param", "code"}
    assert answer[1]["error"]["type"] == "invalid_request_error"
    return str(answer[1]["error"]["message"])


@pytest.mark.parametrize("name", ASSISTANTS)
def test_a_broken_assistant_is_refused(name: str) -> None:
    """Nothing is made, and the reason names the parameter."""
    body, reason = ASSISTANTS[name]
    with FakeServer("assistants") as server:
        assert reason in refused(ask(server, "POST", "/assistants", body))
        assert ask(server, "GET", "/assistants")[1]["data"] == []


@pytest.mark.parametrize("name", MESSAGES)
def test_a_broken_message_is_refused(name: str) -> None:
    """The thread stays as it was, for a message of its own and for one that comes with the thread."""
    body, reason = MESSAGES[name]
    with FakeServer("assistants") as server:
        thread = made(server, "/threads")
        assert reason in refused(ask(server, "POST", f"/threads/{thread}/messages", body))
        assert ask(server, "GET", f"/threads/{thread}/messages")[1]["data"] == []
        assert "messages[0]" in refused(ask(server, "POST", "/threads", {"messages": [body]})) or "empty" in reason


@pytest.mark.parametrize("name", RUNS)
def test_a_broken_run_is_refused(name: str) -> None:
    """It uses up no answer of the script, leaves no message behind, and the thread is free."""
    body, reason = RUNS[name]
    with FakeServer("assistants", ["unused"]) as server:
        thread, assistant = made(server, "/threads"), made(server, "/assistants", model="m")
        path = f"/threads/{thread}/runs"
        assert reason in refused(ask(server, "POST", path, {"assistant_id": assistant, **body}))
        assert ask(server, "GET", f"/threads/{thread}/messages")[1]["data"] == []
        assert ask(server, "POST", path, {"assistant_id": assistant})[0] == 200


@pytest.mark.parametrize("name", OUTPUTS)
def test_broken_outputs_are_refused(name: str) -> None:
    """The run goes on waiting, and takes the right ones."""
    body, reason = OUTPUTS[name]
    with FakeServer("assistants", [{"tools": [{"tool": "x", "id": "a"}, {"tool": "y", "id": "b"}]}, "Done."]) as server:
        path = waiting_run(server)
        assert reason in refused(ask(server, "POST", f"{path}/submit_tool_outputs", body))
        right = {"tool_outputs": [{"tool_call_id": name, "output": ""} for name in "ba"]}
        assert ask(server, "POST", f"{path}/submit_tool_outputs", right)[1]["status"] == "queued"


def waiting_run(server: FakeServer) -> str:
    """Return the path of a run that waits for outputs."""
    thread, assistant = made(server, "/threads"), made(server, "/assistants", model="m")
    path = f"/threads/{thread}/runs/{made(server, f'/threads/{thread}/runs', assistant_id=assistant)}"
    while ask(server, "GET", path)[1]["status"] != "requires_action":
        pass
    return path


def test_the_header_of_the_protocol_is_required() -> None:
    """A client of another version is told which header to send."""
    with FakeServer("assistants") as server:
        for headers in ({"Accept": "*/*"}, {"OpenAI-Beta": "assistants=v1"}):
            assert "OpenAI-Beta: assistants=v2" in refused(ask(server, "POST", "/threads", {}, **headers))


def test_a_thread_with_an_active_run_takes_nothing_else() -> None:
    """Neither a message nor a second run, until the run has ended."""
    with FakeServer("assistants", [{"tool": "x"}, "Hello."]) as server:
        run = waiting_run(server)
        thread, name = run.split("/")[2], run.split("/")[4]
        messages, runs = f"/threads/{thread}/messages", f"/threads/{thread}/runs"
        assistant = ask(server, "GET", run)[1]["assistant_id"]

        said = refused(ask(server, "POST", messages, USER))
        assert said == f"Can't add messages to {thread} while a run {name} is active."
        assert "already has an active run" in refused(ask(server, "POST", runs, {"assistant_id": assistant}))
        assert ask(server, "POST", f"{run}/cancel")[1]["status"] == "cancelling"
        assert ask(server, "GET", run)[1]["status"] == "cancelled"
        assert ask(server, "POST", messages, USER)[0] == 200


def test_a_run_that_does_not_wait_takes_no_outputs_and_one_that_ended_cannot_be_cancelled() -> None:
    """The refusal names the state of the run."""
    with FakeServer("assistants", ["Hello."]) as server:
        thread, assistant = made(server, "/threads"), made(server, "/assistants", model="m")
        run = f"/threads/{thread}/runs/{made(server, f'/threads/{thread}/runs', assistant_id=assistant)}"
        outputs = {"tool_outputs": [{"tool_call_id": "a", "output": "x"}]}
        assert 'Runs in status "queued"' in refused(ask(server, "POST", f"{run}/submit_tool_outputs", outputs))
        while ask(server, "GET", run)[1]["status"] != "completed":
            pass
        assert 'Runs in status "completed"' in refused(ask(server, "POST", f"{run}/submit_tool_outputs", outputs))
        assert refused(ask(server, "POST", f"{run}/cancel")) == "Cannot cancel run with status 'completed'."


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/threads/thread_x"),
        ("POST", "/threads/thread_x/runs"),
        ("GET", "/assistants/asst_x"),
        ("GET", "/threads/{thread}/messages/msg_x"),
        ("GET", "/threads/{thread}/runs/run_x"),
        ("POST", "/threads/{thread}/runs/run_x/submit_tool_outputs"),
        ("GET", "/threads/{thread}/runs/run_x/steps"),
        ("POST", "/threads/{thread}/runs"),
        ("POST", "/threads/runs"),
    ],
)
def test_what_is_not_there_is_404(method: str, path: str) -> None:
    """The refusal names what was looked for; a run of no assistant makes no thread either."""
    with FakeServer("assistants", ["unused"]) as server:
        place = path.replace("{thread}", made(server, "/threads"))
        body = {"assistant_id": "asst_x"} if method == "POST" and not place.endswith("outputs") else {}
        found = refused(ask(server, method, place, body if method == "POST" else None), 404)

    assert found.startswith("No ") and "found with id" in found


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/threads"), ("GET", "/threads/runs"), ("PUT", "/assistants"), ("POST", "/chat/completions")],
)
def test_an_address_of_another_protocol_is_404(method: str, path: str) -> None:
    """The refusal repeats method and path."""
    with FakeServer("assistants") as server:
        assert refused(ask(server, method, path), 404) == f"Invalid URL ({method} /v1{path})."


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "order=newest", "after=msg_x", "before=msg_x"])
def test_a_list_that_cannot_be_given_is_refused(query: str) -> None:
    """The refusal names the parameter."""
    with FakeServer("assistants") as server:
        thread = made(server, "/threads")
        status, answer = ask(server, "GET", f"/threads/{thread}/messages?{query}")

    assert (status, answer["error"]["param"]) == (400, query.partition("=")[0])
