"""The Chat Completions server against the real client packages."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import openai
import pytest
from chat_material import CALL, RESULT, TOOL, USER

import memkit.runtime.testing
from memkit.runtime.testing import Conversation, FakeServer


def client(server: FakeServer, **options: Any) -> openai.OpenAI:
    """Return a real client of ``server``."""
    return openai.OpenAI(base_url=server.base_url, **{"api_key": "any", "max_retries": 0, **options})


def ask(server: FakeServer, *messages: Any, **options: Any) -> Any:
    """Ask for a completion through the real client."""
    with client(server) as model:
        return model.chat.completions.create(model="m", messages=list(messages or (USER,)), **options)


def test_a_scripted_text_is_the_answer() -> None:
    """The real client reads a scripted text, with usage and a finish reason."""
    with FakeServer("chat", [{"text": "Hello ünï"}]) as server:
        reply = ask(server)

    assert reply.choices[0].message.content == "Hello ünï"
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens > 0


def test_a_scripted_call_reaches_the_client_with_its_arguments() -> None:
    """A tool call carries its name, its arguments as JSON and an id."""
    with FakeServer(script=[{"tool": "archival_memory_search", "args": {"query": "drink"}}]) as server:
        message = ask(server, tools=[TOOL]).choices[0].message

    call = message.tool_calls[0]
    assert (call.function.name, json.loads(call.function.arguments)) == ("archival_memory_search", {"query": "drink"})
    assert call.id and message.content is None


def test_several_calls_have_ids_of_their_own() -> None:
    """Calls of one answer, and of one answer asked for twice, never share an id."""
    step = {"text": "Looking.", "tools": [{"tool": "a"}, {"tool": "b", "args": {"x": 1}}]}
    with FakeServer(script=[step, step]) as server:
        replies = [ask(server).choices[0].message for _ in range(2)]

    ids = [call.id for reply in replies for call in reply.tool_calls]
    assert len(set(ids)) == 4
    assert replies[0].content == "Looking."


def test_streamed_text_comes_in_parts_and_ends_with_usage() -> None:
    """Text is split over deltas, and the usage chunk has no choices."""
    with FakeServer(script=["Hello there"]) as server, client(server) as model:
        chunks = list(
            model.chat.completions.create(
                model="m", messages=[USER], stream=True, stream_options={"include_usage": True}
            )
        )

    parts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert len(parts) >= 2 and "".join(parts) == "Hello there"
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens > 0
    assert all(chunk.usage is None for chunk in chunks[:-1])
    assert chunks[-2].choices[0].finish_reason == "stop"


def test_without_the_option_no_usage_is_streamed() -> None:
    """A client that did not ask for usage gets no chunk without choices."""
    with FakeServer(script=["Hi"]) as server, client(server) as model:
        chunks = list(model.chat.completions.create(model="m", messages=[USER], stream=True))

    assert all(chunk.choices and chunk.usage is None for chunk in chunks)


def test_streamed_calls_give_id_and_name_first_and_arguments_in_parts() -> None:
    """The first delta of a call names it; its arguments follow in two or more parts under the same index."""
    step = {"tools": [{"tool": "first", "args": {"query": "a"}}, {"tool": "second", "args": {"query": "b"}}]}
    with FakeServer(script=[step]) as server, client(server) as model:
        chunks = list(model.chat.completions.create(model="m", messages=[USER], stream=True))

    for index, (name, query) in enumerate([("first", "a"), ("second", "b")]):
        deltas = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or () if call.index == index]
        assert deltas[0].id and deltas[0].function.name == name and not deltas[0].function.arguments
        parts = [delta.function.arguments for delta in deltas[1:]]
        assert len(parts) >= 2 and json.loads("".join(parts)) == {"query": query}
        assert not any(delta.id for delta in deltas[1:])
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


def test_the_stream_helper_of_the_client_puts_a_call_together() -> None:
    """The client's own accumulator accepts the chunks."""
    with (
        FakeServer(script=[{"tool": "look", "args": {"query": "a"}}]) as server,
        client(server) as model,
        model.chat.completions.stream(model="m", messages=[USER]) as stream,
    ):
        final = stream.get_final_completion()

    calls = final.choices[0].message.tool_calls
    assert calls and json.loads(calls[0].function.arguments) == {"query": "a"}


def test_langchain_runs_a_tool_round_trip_streamed_and_not() -> None:
    """ChatOpenAI with a bound tool calls it, gets its result back in and cites the id in it."""
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
    from langchain_openai import ChatOpenAI

    rules = [
        {"role": "tool", "when": r"id=(?P<id>\w+)", "reply": {"text": "You drink espresso [${id}]."}},
        {"role": "user", "when": "drink", "reply": {"tool": "archival_memory_search", "args": {"query": "${user}"}}},
    ]
    with FakeServer(script=rules) as server:
        for streaming in (False, True):
            model = ChatOpenAI(model="m", base_url=server.base_url, api_key="any", streaming=streaming)
            bound = model.bind_tools([TOOL])
            history: list[BaseMessage] = [HumanMessage("What do I drink?")]
            asked = bound.invoke(history)
            assert isinstance(asked, AIMessage)
            call = asked.tool_calls[0]
            history += [asked, ToolMessage("id=01ABC text=espresso", tool_call_id=call["id"])]
            assert call["args"] == {"query": "What do I drink?"}
            assert bound.invoke(history).content == "You drink espresso [01ABC]."

    assert [request.body.get("stream", False) for request in server.requests] == [False, False, True, True]


def test_models_are_listed() -> None:
    """The client lists models and looks one up."""
    with FakeServer() as server, client(server) as model:
        assert [entry.id for entry in model.models.list()] == ["fake-model"]
        assert model.models.retrieve("other").id == "other"


def test_an_exhausted_script_says_so_at_once() -> None:
    """The answer after the last one is a 500 that names the cause, and a client that retries does not retry it."""
    with FakeServer(script=["one"]) as server:
        ask(server)
        with client(server, max_retries=5) as model, pytest.raises(openai.InternalServerError) as caught:
            model.chat.completions.create(model="m", messages=[USER])

    assert "exhausted: all of its 1 answers" in str(caught.value)
    assert "What do I drink?" in str(caught.value)
    assert len(server.requests) == 2 and server.requests[1].status == 500


def test_a_scripted_error_can_be_retried_and_takes_one_answer() -> None:
    """A scripted status is one answer: the retry gets the next one."""
    script = [{"status": 429, "headers": {"retry-after-ms": 1}}, "done"]
    with FakeServer(script=script) as server, client(server, max_retries=1) as model:
        reply = model.chat.completions.create(model="m", messages=[USER])

    assert reply.choices[0].message.content == "done"
    assert [request.status for request in server.requests] == [429, 200]


def test_a_pause_delays_the_next_answer() -> None:
    """A delay that stands alone is waited before the next answer, which it does not use up."""
    with FakeServer(script=[{"delay": 0.2}, "late"]) as server:
        started = time.monotonic()
        reply = ask(server)

    assert reply.choices[0].message.content == "late"
    assert time.monotonic() - started >= 0.2


def ask_in_vain(server: FakeServer) -> None:
    """Ask a server that may go away meanwhile."""
    with contextlib.suppress(openai.APIError):
        ask(server)


def test_stopping_ends_a_pause() -> None:
    """A server that is left does not wait for an answer that it would give later."""
    with FakeServer(script=[{"delay": 3600}, "late"]) as server:
        thread = threading.Thread(target=ask_in_vain, args=(server,))
        thread.start()
        time.sleep(0.2)
    thread.join()  # a test whose server waits ends with the time that a test has

    assert not thread.is_alive()


def test_a_cut_answer_is_a_connection_error() -> None:
    """The client notices an answer that ends half-way, streamed or not."""
    with FakeServer(script=[{"text": "Hello", "cut": True}, {"text": "Hello", "cut": True}]) as server:
        with pytest.raises(openai.APIConnectionError):
            ask(server)
        with client(server) as model, pytest.raises(openai.APIConnectionError):
            list(model.chat.completions.create(model="m", messages=[USER], stream=True))


def test_broken_arguments_are_sent_as_written() -> None:
    """A script can send arguments that are not JSON, and the history that holds them is accepted back."""
    with FakeServer(script=[{"tool": "look", "arguments": "{oops"}, "never mind"]) as server:
        message = ask(server).choices[0].message
        call = message.tool_calls[0]
        result = {"role": "tool", "tool_call_id": call.id, "content": "arguments are not JSON"}
        reply = ask(server, USER, message.model_dump(exclude_none=True), result)

    assert call.function.arguments == "{oops"
    assert reply.choices[0].message.content == "never mind"


def test_a_function_can_answer() -> None:
    """A function sees the conversation and returns any form of answer."""

    def script(conversation: Conversation) -> Any:
        if conversation.last.role == "tool":
            return f"Found {conversation.last.text}"
        return {"tool": conversation.tools[0], "args": {"query": conversation.last_text("user")}}

    with FakeServer(script=script) as server:
        first = ask(server, tools=[TOOL]).choices[0].message
        last = ask(server, USER, {"role": "assistant", "tool_calls": [CALL]}, RESULT, tools=[TOOL])

    assert first.tool_calls[0].function.name == "archival_memory_search"
    assert last.choices[0].message.content == "Found id=01ABC text=espresso"


def test_a_list_can_cite_the_last_tool_result() -> None:
    """An answer in order finds the id in the newest tool result; quantifiers may be used in the pattern."""
    with FakeServer(script=["Espresso [${tool_result:id=([0-9A-Z]{5})}], not $${this}"]) as server:
        reply = ask(server, USER, {"role": "assistant", "tool_calls": [CALL]}, RESULT)

    assert reply.choices[0].message.content == "Espresso [01ABC], not ${this}"


def test_requests_are_logged_with_body_and_status() -> None:
    """The log holds what was asked, before the client has the answer."""
    with FakeServer(script=["one"]) as server:
        ask(server)
        logged = list(server.requests)

    assert [(entry.method, entry.path, entry.status, entry.error) for entry in logged] == [
        ("POST", "/v1/chat/completions", 200, None)
    ]
    assert logged[0].body["messages"] == [USER]
    assert logged[0].headers["authorization"] == "Bearer any"


def test_a_connection_serves_many_requests() -> None:
    """One connection carries several requests, refused ones among them."""
    with FakeServer(script=["one", "two"]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=900)
        statuses, local = [], set()
        for body in ({"model": "m", "messages": [USER]}, {}, {"model": "m", "messages": [USER]}):
            connection.request("POST", "/v1/chat/completions", json.dumps(body))
            response = connection.getresponse()
            response.read()
            statuses.append(response.status)
            local.add(connection.sock.getsockname())
        connection.close()

    assert statuses == [200, 400, 200] and len(local) == 1


def test_parallel_clients_get_each_answer_once() -> None:
    """Answers in order are given once each, however many clients ask."""
    with FakeServer(script=[str(number) for number in range(16)]) as server:
        replies: list[str] = []
        threads = [
            threading.Thread(target=lambda: replies.append(ask(server).choices[0].message.content)) for _ in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert sorted(replies, key=int) == [str(number) for number in range(16)]


def test_a_wrong_key_is_refused() -> None:
    """A server with a key answers 401 to another one."""
    with FakeServer(script=["one"], api_key="right") as server:
        with pytest.raises(openai.AuthenticationError):
            ask(server)
        with client(server, api_key="right") as model:
            reply = model.chat.completions.create(model="m", messages=[USER])

    assert reply.choices[0].message.content == "one"


def test_the_folder_works_when_copied_under_another_name(tmp_path: Path) -> None:
    """The files import only the standard library and each other, so a copy serves as well."""
    shutil.copytree(Path(memkit.runtime.testing.__file__).parent, tmp_path / "fake_llm")
    code = (
        "import sys, fake_llm\n"
        "with fake_llm.FakeServer(script=['x']) as server: assert server.base_url.endswith('/v1')\n"
        "strange = {name.split('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)\n"
        "assert strange <= {'fake_llm', '__main__'}, strange\n"
    )
    prelude = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    subprocess.run([sys.executable, "-I", "-S", "-c", prelude + code], check=True)
