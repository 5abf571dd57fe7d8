"""The Messages server against the real ``anthropic`` package."""

from __future__ import annotations

import http.client
import json
from typing import Any

import anthropic
import pytest

from memkit.runtime.testing import Conversation, FakeServer

TOOL: Any = {
    "name": "archival_memory_search",
    "description": "Search what was stored.",
    "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}
USER = {"role": "user", "content": "What do I drink?"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "archival_memory_search", "input": {"query": "drink"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "id=01ABC text=espresso"}


def client(server: FakeServer, **options: Any) -> anthropic.Anthropic:
    """Return a real client of ``server``."""
    return anthropic.Anthropic(base_url=server.base_url, **{"api_key": "any", "max_retries": 0, **options})


def ask(server: FakeServer, *messages: Any, **options: Any) -> Any:
    """Ask for a message through the real client."""
    with client(server) as model:
        return model.messages.create(model="m", max_tokens=100, messages=list(messages or (USER,)), **options)


def streamed(server: FakeServer, *messages: Any, **options: Any) -> tuple[list[Any], Any]:
    """Ask for a streamed message through the real client and return its events and what they add up to."""
    with (
        client(server) as model,
        model.messages.stream(model="m", max_tokens=100, messages=list(messages or (USER,)), **options) as stream,
    ):
        return list(stream), stream.get_final_message()


def test_a_scripted_text_is_the_answer() -> None:
    """The real client reads a scripted text, with usage and a stop reason."""
    with FakeServer("anthropic", ["Hello ünï"]) as server:
        reply = ask(server)

    assert [block.text for block in reply.content] == ["Hello ünï"]
    assert (reply.stop_reason, reply.role, reply.model) == ("end_turn", "assistant", "m")
    assert reply.usage.input_tokens > 0 and reply.usage.output_tokens > 0


def test_a_streamed_text_comes_in_two_parts() -> None:
    """The events add up to the same message as an answer at once."""
    with FakeServer("anthropic", ["Hello ünï"]) as server:
        events, message = streamed(server)

    assert [event.text for event in events if event.type == "text"] == ["Hello", " ünï"]
    assert message.content[0].text == "Hello ünï" and message.stop_reason == "end_turn"
    assert message.usage.output_tokens > 1


@pytest.mark.parametrize("send", [ask, lambda *parts, **more: streamed(*parts, **more)[1]])
def test_text_and_parallel_calls_reach_the_client(send: Any) -> None:
    """Text stands before the calls, each call has an id of its own, and the stop reason says that tools are wanted."""
    calls = [{"tool": "archival_memory_search", "args": {"query": word}} for word in ("tea", "kaffee ☕")]
    with FakeServer("anthropic", [{"text": "Let me look.", "tools": calls}]) as server:
        message = send(server, tools=[TOOL])

    text, first, second = message.content
    assert text.text == "Let me look."
    assert [first.input, second.input] == [{"query": "tea"}, {"query": "kaffee ☕"}]
    assert first.id != second.id and message.stop_reason == "tool_use"


def test_a_call_is_answered_and_the_conversation_goes_on() -> None:
    """What the client sends back of an answer is accepted, and the script finds the result."""
    script = [{"tool": "archival_memory_search", "args": {"query": "drink"}}, "Espresso [${tool_result:id=(\\w+)}]."]
    with FakeServer("anthropic", script) as server:
        asked = ask(server, tools=[TOOL])
        result = {"type": "tool_result", "tool_use_id": asked.content[0].id, "content": "id=01ABC text=espresso"}
        reply = ask(
            server, USER, {"role": "assistant", "content": asked.content}, {"role": "user", "content": [result]}
        )

    assert reply.content[0].text == "Espresso [01ABC]."


def test_a_call_without_arguments_is_streamed_as_none() -> None:
    """No argument text at all is an empty object to the client, as with the vendor."""
    with FakeServer("anthropic", [{"tool": "archival_memory_search"}]) as server:
        events, message = streamed(server, tools=[TOOL])

    assert message.content[0].input == {}
    assert "".join(event.partial_json for event in events if event.type == "input_json") == ""


def test_scripts_see_the_same_conversation_as_with_other_protocols() -> None:
    """System prompts come first, wherever they stood; calls and results are messages as everywhere."""
    seen: list[Conversation] = []

    def script(conversation: Conversation) -> str:
        seen.append(conversation)
        return "Espresso."

    history = [
        USER,
        {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, CALL]},
        {"role": "user", "content": [RESULT, {"type": "text", "text": "Well?"}]},
        {"role": "system", "content": "A hook says hello."},
    ]
    with FakeServer("anthropic", script) as server:
        status, _ = post(
            server, {"model": "m", "max_tokens": 9, "system": "Be brief.", "messages": history, "tools": [TOOL]}
        )

    assert status == 200
    system, words, call, result, last = seen[0].messages
    assert (system.role, system.text) == ("system", "Be brief.\nA hook says hello.")
    assert (words.role, words.text) == ("user", "What do I drink?")
    assert (call.text, call.calls[0].tool, call.calls[0].args) == ("Let me look.", TOOL["name"], {"query": "drink"})
    assert (result.role, result.text, result.call_id) == ("tool", RESULT["content"], "toolu_1")
    assert (last.role, last.text) == ("user", "Well?")
    assert seen[0].tools == (TOOL["name"],) and server.requests[0].conversation == seen[0]


def post(server: FakeServer, body: Any, path: str = "/v1/messages?beta=true", **headers: str) -> tuple[int, Any]:
    """Post ``body`` as the Claude command line does."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=900)
    connection.request("POST", path, json.dumps(body), {"anthropic-version": "2023-06-01", "x-api-key": "k", **headers})
    response = connection.getresponse()
    answer = json.load(response)
    connection.close()
    return response.status, answer


def test_a_tool_of_an_mcp_server_may_be_named_without_its_prefix() -> None:
    """The same script drives a client whose tools come from an MCP server."""
    offered = [{**TOOL, "name": name} for name in ("mcp__memory__search", "mcp__memory__store", "mcp__other__store")]
    with FakeServer("anthropic", [{"tool": "search"}, {"tool": "store"}, {"tool": "shell"}]) as server:
        named = [ask(server, tools=offered).content[0].name for _ in range(3)]

    assert named == ["mcp__memory__search", "store", "shell"]


def test_tokens_are_counted_without_asking_the_model() -> None:
    """The count grows with what is asked, and no answer of the script is used up."""
    with FakeServer("anthropic", ["one"]) as server, client(server) as model:
        few, many = (
            model.messages.count_tokens(model="m", messages=[{"role": "user", "content": text}]).input_tokens
            for text in ("Hello", "Hello " * 400)
        )
        assert model.messages.create(model="m", max_tokens=9, messages=[USER]).content[0].text == "one"

    assert many > few > 0
    assert server.requests[0].conversation is None


def test_models_are_listed() -> None:
    """The client lists models and looks one up."""
    with FakeServer("anthropic") as server, client(server) as model:
        assert [entry.id for entry in model.models.list()] == ["fake-model"]
        assert model.models.retrieve("other").id == "other"


def test_the_command_line_is_greeted() -> None:
    """``HEAD /api/hello`` has no body and leaves the connection usable."""
    with FakeServer("anthropic") as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=900)
        for _ in range(2):
            connection.request("HEAD", "/api/hello")
            response = connection.getresponse()
            assert (response.status, response.read()) == (200, b"")
        connection.close()


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, anthropic.BadRequestError),
        (401, anthropic.AuthenticationError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
        (529, anthropic.InternalServerError),
    ],
)
def test_a_scripted_error_is_the_clients_error(status: int, error: type[anthropic.APIStatusError]) -> None:
    """Each status arrives as the exception that the client has for it, with the vendor's kind and the message."""
    kinds = {
        400: "invalid_request_error",
        401: "authentication_error",
        429: "rate_limit_error",
        529: "overloaded_error",
    }
    script = [{"status": status, "message": "Not today."}]
    with FakeServer("anthropic", script) as server, pytest.raises(error) as caught:
        ask(server)

    body: Any = caught.value.body
    assert body["error"] == {"type": kinds.get(status, "api_error"), "message": "Not today."}
    assert body["type"] == "error" and body["request_id"].startswith("req_")


def test_a_scripted_error_can_be_retried_and_takes_one_answer() -> None:
    """A scripted status is one answer: the retry gets the next one."""
    script = [{"status": 529, "headers": {"retry-after-ms": 1}}, "done"]
    with FakeServer("anthropic", script) as server, client(server, max_retries=1) as model:
        assert model.messages.create(model="m", max_tokens=9, messages=[USER]).content[0].text == "done"

    assert [request.status for request in server.requests] == [529, 200]


def test_an_answer_at_the_token_limit_says_so() -> None:
    """What was said stands there, whole or half, and the stop reason is the limit."""
    with FakeServer("anthropic", [{"text": "Half of", "stop": "length"}] * 2) as server:
        reply = ask(server)
        _, message = streamed(server)

    assert [(one.content[0].text, one.stop_reason) for one in (reply, message)] == [("Half of", "max_tokens")] * 2


def test_an_answer_that_fails_is_an_error_in_the_stream() -> None:
    """A stream that has begun carries the error as an event; without a stream it is the response."""
    with FakeServer("anthropic", [{"text": "Half of", "stop": "failed", "message": "Too busy."}] * 2) as server:
        for send in (ask, streamed):
            with pytest.raises(anthropic.APIStatusError) as caught:
                send(server)
            body: Any = caught.value.body
            assert body["error"] == {"type": "overloaded_error", "message": "Too busy."}


def test_a_wrong_key_is_refused() -> None:
    """The key counts in either header."""
    with FakeServer("anthropic", ["one", "two"], api_key="right") as server:
        with pytest.raises(anthropic.AuthenticationError):
            ask(server)
        with client(server, api_key="right") as model:
            assert model.messages.create(model="m", max_tokens=9, messages=[USER]).content[0].text == "one"
        with client(server, api_key=None, auth_token="right") as model:
            assert model.messages.create(model="m", max_tokens=9, messages=[USER]).content[0].text == "two"


def test_a_cut_stream_ends_without_its_end() -> None:
    """A client that reads a stream notices that it broke off."""
    with FakeServer("anthropic", [{"text": "Hello", "cut": True}]) as server, pytest.raises(Exception) as caught:
        streamed(server)

    assert "incomplete" in str(caught.value)


def test_broken_arguments_are_sent_as_written() -> None:
    """A script can send arguments that are no JSON: in a stream as they are, otherwise as a text."""
    script = [{"tool": "look", "arguments": "{oops"}] * 2
    with FakeServer("anthropic", script) as server:
        whole = ask(server).content[0].input
        answer = raw_stream(server)

    assert whole == "{oops"
    parts = [
        event["delta"]["partial_json"] for event in answer if event.get("delta", {}).get("type") == "input_json_delta"
    ]
    assert "".join(parts) == "{oops"


def raw_stream(server: FakeServer) -> list[Any]:
    """Return the data of every event of a streamed answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=900)
    body = json.dumps({"model": "m", "max_tokens": 9, "stream": True, "messages": [USER]})
    connection.request("POST", "/v1/messages", body, {"anthropic-version": "2023-06-01"})
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def test_the_events_of_a_stream_are_the_vendors_in_the_vendors_order() -> None:
    """Each block is opened, filled and closed under its index before the next, between the message's start and stop."""
    with FakeServer("anthropic", [{"text": "Hi", "tool": "look", "args": {"at": 1}}]) as server:
        events = raw_stream(server)

    assert [event["type"] for event in events if event["type"] != "ping"] == [
        "message_start",
        *("content_block_start", "content_block_delta", "content_block_delta", "content_block_stop"),
        *("content_block_start", *["content_block_delta"] * 3, "content_block_stop"),
        "message_delta",
        "message_stop",
    ]
    assert [event["index"] for event in events if "index" in event] == [0] * 4 + [1] * 5
    assert events[0]["message"]["content"] == [] and events[-2]["delta"]["stop_reason"] == "tool_use"
