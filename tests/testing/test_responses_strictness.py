"""What the Responses server refuses, in the words of the vendor: requests that break the protocol."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from raw import send

from memkit.runtime.testing import Conversation, FakeServer

ENCRYPTED = "reasoning.encrypted_content"
CALL = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "found"}
USER = {"role": "user", "content": "Hi"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}


def create(server: FakeServer, *items: Any, **more: Any) -> dict[str, Any]:
    """Return the response to ``items``, which has to be one."""
    status, body = send(server, "/responses", {"model": "m", "input": list(items) or "Hi", **more})
    assert status == 200, body
    return body


def with_input(*items: Any, **more: Any) -> dict[str, Any]:
    """Return a request body with ``items``."""
    return {"model": "m", "input": list(items), **more}


def namespace(name: str, *tools: Any) -> dict[str, Any]:
    """Return a namespace of ``tools``."""
    return {"type": "namespace", "name": name, "tools": list(tools)}


def with_tools(*tools: Any, **more: Any) -> dict[str, Any]:
    """Return a request body with ``tools``."""
    return {"model": "m", "input": "Hi", "tools": list(tools), **more}


def function(**fields: Any) -> dict[str, Any]:
    """Return a tool definition."""
    return {"type": "function", "name": "look", **fields}


def schema(**fields: Any) -> dict[str, Any]:
    """Return the parameters of a tool."""
    return {"type": "object", "properties": {"a": {}}, **fields}


VIOLATIONS: dict[str, tuple[Any, str]] = {
    "not JSON": (b"{oops", "could not parse"),
    "not an object": ([1], "must be a JSON object"),
    "no model": ({"input": "Hi"}, "Missing required parameter: 'model'"),
    "nothing to answer": ({"model": "m"}, "One of 'input', 'previous_response_id' or 'conversation'"),
    "empty input": (with_input(), "the input is empty"),
    "number for input": ({"model": "m", "input": 1}, "expected a string or an array"),
    "item is text": (with_input("hi"), "input[0]"),
    "unknown parameter": (with_input(USER, modle="m"), "Unknown parameter: 'modle'. Did you mean 'model'?"),
    "messages of chat": ({"model": "m", "messages": [USER]}, "this parameter has moved to 'input'"),
    "format of chat": (with_input(USER, response_format={}), "moved to 'text.format'"),
    "bound of chat": (with_input(USER, max_tokens=100), "moved to 'max_output_tokens'"),
    "unknown kind": (with_input({"type": "thought"}), "Supported values are: 'message'"),
    "unknown role": (with_input({"role": "tool", "content": "x"}), "Invalid value: 'tool'. Supported values are"),
    "no content": (with_input({"role": "user"}), "Missing required parameter: 'input[0].content'"),
    "part of chat": (with_input({"role": "user", "content": [{"type": "text", "text": "x"}]}), "'input_text'"),
    "part of the user": (
        with_input({"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}),
        "Supported values are: 'output_text', 'refusal'",
    ),
    "part without text": (
        with_input({"role": "user", "content": [{"type": "input_text"}]}),
        "input[0].content[0].text",
    ),
    "id of another kind": (with_input(USER, {**CALL, "id": "msg_1"}, OUTPUT), "begins with 'fc'"),
    "made up message id": (with_input({"role": "assistant", "content": "x", "id": "message"}), "begins with 'msg'"),
    "unknown status": (with_input({**USER, "status": "done"}), "Supported values are: 'in_progress'"),
    "arguments as object": (
        with_input(USER, {**CALL, "arguments": {}}, OUTPUT),
        "expected a string, but got an object",
    ),
    "name that is none": (with_input(USER, {**CALL, "name": "rm -rf"}, OUTPUT), "does not match pattern"),
    "long call id": (with_input(USER, {**CALL, "call_id": "c" * 65}), "1 to 64 characters"),
    "call without id": (with_input(USER, {"type": "function_call", "name": "look", "arguments": "{}"}), "call_id"),
    "output without text": (with_input(USER, CALL, {"type": "function_call_output", "call_id": "c1"}), "output"),
    "call without output": (with_input(USER, CALL), "No tool output found for function call c1."),
    "call before a turn": (with_input(USER, CALL, USER), "No tool output found for function call c1."),
    "output without call": (with_input(USER, OUTPUT), "No tool call found for function call output with call_id c1."),
    "output before its call": (with_input(USER, OUTPUT, CALL), "No tool call found"),
    "output twice": (with_input(USER, CALL, OUTPUT, OUTPUT), "No tool call found"),
    "item twice": (with_input({**USER, "id": "msg_1"}, {**USER, "id": "msg_1"}), "Duplicate item found with id msg_1"),
    "altered reasoning": (
        with_input(USER, {**REASONING, "encrypted_content": "gAAA"}, CALL, OUTPUT),
        "could not be verified",
    ),
    "background": (with_input(USER, background=True), "answers at once"),
    "prompt": (with_input(USER, prompt={"id": "pmpt_1"}), "keeps no prompts"),
    "short answer": (with_input(USER, max_output_tokens=1), "expected a value >= 16"),
    "stream is text": (with_input(USER, stream="yes"), "expected a boolean, but got a string"),
    "options without stream": (with_input(USER, stream_options={}), "stream_options"),
    "unknown include": (with_input(USER, include=["reasoning"]), ENCRYPTED),
    "nothing to encrypt": (
        {"model": "gpt-4.1", "input": "Hi", "include": [ENCRYPTED]},
        "not supported with this model",
    ),
    "unknown field of an item": (with_input({**USER, "name": "memory"}), "Unknown parameter: 'input[0].name'."),
    "unknown effort": (with_input(USER, reasoning={"effort": "huge"}), "'minimal'"),
    "unknown reasoning": (with_input(USER, reasoning={"efort": "low"}), "Did you mean 'effort'?"),
    "two contexts": (with_input(USER, conversation="conv_1", previous_response_id="resp_1"), "Mutually exclusive"),
    "too hot": (with_input(USER, temperature=3), "between 0 and 2"),
    "metadata": (with_input(USER, metadata={"a": 1}), "metadata.a"),
    "tool of chat": (with_tools({"type": "function", "function": {"name": "look"}}), "'tools[0].name'"),
    "hosted tool": (with_tools({"type": "web_search"}), "runs no tool of type 'web_search'"),
    "two tools of a name": (with_tools(function(), function()), "occurs twice"),
    "two tools of a name in one namespace": (with_tools(namespace("a", function(), function())), "occurs twice"),
    "a namespace in a namespace": (
        with_tools(namespace("a", namespace("b", function()))),
        "no tool of type 'namespace'",
    ),
    "unknown field of a namespace": (with_tools({**namespace("a"), "tool": []}), "Did you mean 'tools'?"),
    "unknown field of a tool": (with_tools(function(paramters={})), "Did you mean 'parameters'?"),
    "parameters of no object": (with_tools(function(parameters={"type": "string"})), 'type: "object"'),
    "required but unknown": (with_tools(function(parameters=schema(required=["b"]))), "names that 'properties' holds"),
    "strict and open": (with_tools(function(parameters=schema(), strict=True)), "additionalProperties"),
    "strict and optional": (
        with_tools(function(parameters=schema(additionalProperties=False), strict=True)),
        "includes every key",
    ),
    "choice of nothing": ({"model": "m", "input": "Hi", "tool_choice": "required"}, "needs 'tools'"),
    "choice of another": (with_tools(function(), tool_choice={"type": "function", "name": "b"}), "'b' not found"),
    "unknown choice": (with_tools(function(), tool_choice="any"), "'required'"),
}


@pytest.mark.parametrize("violation", VIOLATIONS)
def test_a_violation_is_a_400_that_says_what_is_wrong(violation: str) -> None:
    """The script is not asked, and a client that retries is told not to."""
    body, words = VIOLATIONS[violation]
    with FakeServer("responses", ["never said"]) as server:
        status, answer = send(server, "/responses", body)
        served, _ = send(server, "/responses", with_input(USER))

    assert status == 400, answer
    assert words in answer["error"]["message"]
    assert answer["error"]["type"] == "invalid_request_error"
    assert served == 200


@pytest.mark.parametrize("name", ["temperature", "top_p", "top_logprobs"])
def test_models_that_reason_take_no_sampling_parameters(name: str) -> None:
    """A parameter that changes how tokens are drawn is refused, unless the model is asked not to reason."""
    with FakeServer("responses", ["a", "b"]) as server:
        status, answer = send(server, "/responses", {"model": "gpt-6-luna", "input": "Hi", name: 1})
        create(server, USER, model="gpt-6-luna", reasoning={"effort": "none"}, **{name: 1})
        create(server, USER, model="llama", **{name: 1})

    assert status == 400
    assert answer["error"]["message"] == f"Unsupported parameter: '{name}' is not supported with this model."
    assert answer["error"]["param"] == name


def test_what_a_stored_response_called_has_to_be_answered() -> None:
    """Calls that the server keeps wait for their output as those in the input do, each once."""
    with FakeServer("responses", [{"tool": "look"}, "Done.", "More."]) as server:
        first = create(server, USER)
        call = first["output"][0]
        _, unanswered = send(server, "/responses", with_input(USER, previous_response_id=first["id"]))
        answer = {**OUTPUT, "call_id": call["call_id"]}
        second = create(server, answer, previous_response_id=first["id"])
        _, again = send(server, "/responses", with_input(answer, previous_response_id=second["id"]))
        _, resent = send(server, "/responses", with_input(call, answer, previous_response_id=first["id"]))

    assert f"No tool output found for function call {call['call_id']}." in unanswered["error"]["message"]
    assert "No tool call found" in again["error"]["message"]
    assert "Duplicate item" in resent["error"]["message"]


def test_what_a_conversation_called_has_to_be_answered() -> None:
    """A conversation with an open call takes no other turn, and a refused turn is not added to it."""
    with FakeServer("responses", [{"tool": "look"}, "Done."]) as server:
        _, conversation = send(server, "/conversations", {})
        first = create(server, USER, conversation=conversation["id"])
        status, refused = send(server, "/responses", with_input(USER, conversation=conversation["id"]))
        answer = {**OUTPUT, "call_id": first["output"][0]["call_id"]}
        create(server, answer, conversation=conversation["id"])
        _, listed = send(server, f"/conversations/{conversation['id']}/items?limit=100")

    assert status == 400 and "No tool output found" in refused["error"]["message"]
    assert len(listed["data"]) == 4


def test_reasoning_that_nobody_keeps_is_not_found() -> None:
    """Without storage, reasoning is only what it carries encrypted; its id alone is worth nothing."""
    with FakeServer("responses", [{"tool": "look"}, "Done."]) as server:
        first = create(server, USER, store=False, include=[ENCRYPTED])
        reasoning, call = first["output"]
        answer = {**OUTPUT, "call_id": call["call_id"]}
        bare = {key: value for key, value in reasoning.items() if key != "encrypted_content"}
        status, refused = send(server, "/responses", with_input(USER, bare, call, answer, store=False))
        create(server, USER, reasoning, call, answer, store=False)

    assert status == 404
    assert "Items are not persisted when `store` is set to false" in refused["error"]["message"]


def test_reasoning_and_what_it_led_to_stay_together() -> None:
    """Neither comes without the other where the server knows that they belong together."""
    with FakeServer("responses", [{"tool": "look"}, "Done."]) as server:
        reasoning, call = create(server, USER, reasoning={"effort": "low"})["output"]
        answer = {**OUTPUT, "call_id": call["call_id"]}
        _, alone = send(server, "/responses", with_input(USER, reasoning, USER))
        _, without = send(server, "/responses", with_input(USER, call, answer))
        create(server, USER, reasoning, call, answer)

    assert "without its required following item" in alone["error"]["message"]
    assert f"without its required 'reasoning' item: '{reasoning['id']}'" in without["error"]["message"]


def test_a_reference_stands_for_an_item_that_is_kept() -> None:
    """An id alone is resolved where the server has the item, and refused where it has not."""
    with FakeServer("responses", ["Hello.", "Again."]) as server:
        first = create(server, USER)
        create(server, {"type": "item_reference", "id": first["output"][0]["id"]}, USER)
        status, refused = send(server, "/responses", with_input({"id": "msg_0"}, USER))

    asked = server.requests[1].conversation
    assert asked is not None and [message.text for message in asked.messages] == ["Hello.", "Hi"]
    assert status == 404 and "msg_0" in refused["error"]["message"]


def test_two_responses_in_one_conversation_exclude_each_other() -> None:
    """While one is being made, another one is refused and nothing is mixed."""
    entered, leave = threading.Event(), threading.Event()

    def script(conversation: Conversation) -> str:
        entered.set()
        assert leave.wait(10)
        return "Done."

    with FakeServer("responses", script) as server:
        _, conversation = send(server, "/conversations", {})
        body = with_input(USER, conversation=conversation["id"])
        first = threading.Thread(target=send, args=(server, "/responses", body))
        first.start()
        assert entered.wait(10)
        status, refused = send(server, "/responses", body)
        leave.set()
        first.join(10)
        _, listed = send(server, f"/conversations/{conversation['id']}/items")

    assert status == 400 and refused["error"]["code"] == "conversation_locked"
    assert len(listed["data"]) == 2


NOWHERE: dict[str, tuple[str, str, Any, int]] = {
    "path": ("/answers", "POST", {}, 404),
    "method": ("/responses", "GET", None, 405),
    "response": ("/responses/resp_0", "GET", None, 404),
    "conversation": ("/conversations/conv_0/items", "GET", None, 404),
    "item of a conversation": ("/conversations/{id}/items/msg_0", "GET", None, 404),
    "too many items": ("/conversations/{id}/items", "POST", {"items": [USER] * 21}, 400),
    "no items": ("/conversations/{id}/items", "POST", {}, 400),
    "unknown order": ("/conversations/{id}/items?order=random", "GET", None, 400),
    "limit that is none": ("/conversations/{id}/items?limit=1000", "GET", None, 400),
    "after nobody": ("/conversations/{id}/items?after=msg_0", "GET", None, 400),
    "unknown key": ("/conversations", "POST", {"name": "x"}, 400),
    "conversation of text": ("/conversations", "POST", "x", 400),
    "count of nothing": ("/responses/input_tokens", "POST", {"model": "m"}, 400),
    "count with storage": ("/responses/input_tokens", "POST", {"model": "m", "input": "x", "store": True}, 400),
}


@pytest.mark.parametrize("case", NOWHERE)
def test_what_is_not_there_is_refused(case: str) -> None:
    """Addresses, ids and values that the protocol does not have are an error object, never an empty answer."""
    path, method, body, expected = NOWHERE[case]
    with FakeServer("responses") as server:
        _, conversation = send(server, "/conversations", {})
        status, answer = send(server, path.format(id=conversation["id"]), body, method=method)

    assert status == expected and answer["error"]["message"]
