"""The Responses server against the real client package."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from memkit.runtime.testing import FakeServer, Message

TOOL = {
    "type": "function",
    "name": "archival_memory_search",
    "description": "Search what was stored.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    "strict": False,
}
SEARCH = {"tool": "archival_memory_search", "args": {"query": "drink"}}
ENCRYPTED = "reasoning.encrypted_content"


def client(server: FakeServer, **options: Any) -> openai.OpenAI:
    """Return a real client of ``server``."""
    return openai.OpenAI(base_url=server.base_url, **{"api_key": "any", "max_retries": 0, **options})


def ask(server: FakeServer, given: Any = "What do I drink?", **options: Any) -> Any:
    """Ask for a response through the real client."""
    with client(server) as model:
        return model.responses.create(**{"model": "m", "input": given, **options})


def stream(server: FakeServer, **options: Any) -> list[Any]:
    """Ask for a response in a stream and return its events."""
    with client(server) as model, model.responses.create(model="m", input="Hi", stream=True, **options) as events:
        return list(events)


def output(call: Any, text: str = "id=01ABC text=espresso") -> dict[str, str]:
    """Return the output of a call."""
    return {"type": "function_call_output", "call_id": call.call_id, "output": text}


def resent(reply: Any) -> list[Any]:
    """Return the output of ``reply`` as a client that keeps no state sends it back."""
    return [item.model_dump(exclude_none=True) for item in reply.output]


def test_a_scripted_text_is_the_answer() -> None:
    """The real client reads a scripted text, with usage and a status."""
    with FakeServer("responses", ["Hello ünï"]) as server:
        reply = ask(server, instructions="Be kind.")

    assert reply.output_text == "Hello ünï" and reply.status == "completed"
    assert reply.instructions == "Be kind." and reply.error is None
    assert reply.usage.total_tokens == reply.usage.input_tokens + reply.usage.output_tokens > 0
    asked = server.requests[0].conversation
    assert asked is not None
    assert asked.messages == (Message("system", "Be kind."), Message("user", "What do I drink?"))


def test_a_scripted_call_reaches_the_client_with_its_arguments() -> None:
    """A call carries its name, its arguments as JSON and an id of its own; no empty message stands before it."""
    with FakeServer("responses", [{"tools": [SEARCH, SEARCH]}]) as server:
        first, second = ask(server, tools=[TOOL]).output

    assert (first.type, first.name, json.loads(first.arguments)) == ("function_call", SEARCH["tool"], SEARCH["args"])
    assert first.call_id != second.call_id and first.id != second.id


@pytest.mark.parametrize("store", [True, False])
def test_a_round_trip_whose_items_the_client_keeps(store: bool) -> None:
    """Text, calls and reasoning are sent back whole, with an output for every call, and the model goes on."""
    script = [{"text": "Looking.", "tools": [SEARCH, SEARCH]}, "Espresso [${tool_result:id=([0-9A-Z]{5})}]."]
    with FakeServer("responses", script) as server:
        options: dict[str, Any] = {"store": store, "include": [ENCRYPTED], "tools": [TOOL]}
        first = ask(server, **options)
        calls = [item for item in first.output if item.type == "function_call"]
        given = [{"role": "user", "content": "What do I drink?"}, *resent(first), *map(output, calls)]
        last = ask(server, given, **options)

    assert [item.type for item in first.output] == ["reasoning", "message", "function_call", "function_call"]
    assert first.output[0].encrypted_content
    assert last.output_text == "Espresso [01ABC]."
    asked = server.requests[1].conversation
    assert asked is not None
    assert [(message.role, len(message.calls)) for message in asked.messages] == [
        ("user", 0),
        ("assistant", 2),
        ("tool", 0),
        ("tool", 0),
    ]


def test_a_round_trip_that_the_server_stores() -> None:
    """A response continues another one by its id; instructions are those of each request."""
    with FakeServer("responses", [SEARCH, "Espresso.", "Yes."]) as server:
        first = ask(server, instructions="Old.", tools=[TOOL])
        second = ask(server, [output(first.output[0])], previous_response_id=first.id, instructions="New.")
        third = ask(server, "Sure?", previous_response_id=second.id)

    assert third.output_text == "Yes." and third.previous_response_id == second.id
    asked = server.requests[2].conversation
    assert asked is not None
    assert [message.role for message in asked.messages] == ["user", "assistant", "tool", "assistant", "user"]
    second_asked = server.requests[1].conversation
    assert second_asked is not None and second_asked.messages[0].text == "New."


def test_stored_responses_are_found_listed_and_deleted() -> None:
    """What is stored can be had again with its input; what was deleted, or never stored, cannot."""
    with FakeServer("responses", ["One.", "Two.", "Three."]) as server, client(server) as model:
        first = ask(server)
        second = ask(server, "And then?", previous_response_id=first.id)
        unstored = ask(server, store=False)
        assert model.responses.retrieve(second.id).output_text == "Two."
        listed = list(model.responses.input_items.list(second.id, order="asc"))
        model.responses.delete(second.id)
        for response_id in (second.id, unstored.id):
            with pytest.raises(openai.NotFoundError):
                model.responses.retrieve(response_id)
            with pytest.raises(openai.BadRequestError, match="Previous response with id"):
                ask(server, previous_response_id=response_id)

    assert [item.content[0].text for item in listed if item.type == "message"] == [
        "What do I drink?",
        "One.",
        "And then?",
    ]


def test_a_conversation_takes_in_every_response() -> None:
    """Items that were put in, and those of each response in it, are what the model sees and what is listed."""
    with FakeServer("responses", [SEARCH, "Espresso."]) as server, client(server) as model:
        conversation = model.conversations.create(
            metadata={"user": "ada"}, items=[{"role": "developer", "content": "Be brief."}]
        )
        first = ask(server, conversation=conversation.id, tools=[TOOL])
        ask(server, [output(first.output[0])], conversation={"id": conversation.id})
        items = list(model.conversations.items.list(conversation.id, limit=2, order="asc"))
        newest = model.conversations.items.list(conversation.id, limit=1)
        found = model.conversations.items.retrieve(items[1].id or "", conversation_id=conversation.id)

    assert first.conversation is not None and first.conversation.id == conversation.id
    assert [item.type for item in items] == [
        "message",
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]
    assert newest.has_more and newest.data[0].id == items[-1].id
    assert found.type == "message" and found.role == "user"
    *_, asked = (request.conversation for request in server.requests if request.conversation is not None)
    assert [message.role for message in asked.messages] == ["system", "user", "assistant", "tool"]


def test_a_conversation_is_changed_and_deleted() -> None:
    """Items are added and removed, metadata is replaced, and what was deleted cannot be continued."""
    with FakeServer("responses", []) as server, client(server) as model:
        conversation = model.conversations.create()
        added = model.conversations.items.create(conversation.id, items=[{"role": "user", "content": "Hello"}])
        model.conversations.items.delete(added.data[0].id or "", conversation_id=conversation.id)
        model.conversations.update(conversation.id, metadata={"user": "bob"})
        assert model.conversations.items.list(conversation.id).data == []
        assert model.conversations.retrieve(conversation.id).metadata == {"user": "bob"}
        assert model.conversations.delete(conversation.id).deleted
        with pytest.raises(openai.NotFoundError, match="Conversation with id"):
            ask(server, conversation=conversation.id)


def test_streamed_text_comes_in_parts_between_numbered_events() -> None:
    """The events of a text come in the order of the vendor, numbered from zero, the whole response at the end."""
    with FakeServer("responses", ["Hello there"]) as server:
        events = stream(server)

    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type.removeprefix("response.") for event in events] == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "Hello there"
    assert events[0].response.status == "in_progress" and events[0].response.output == []
    assert events[-1].response.output_text == events[-3].part.text == "Hello there"


def test_streamed_calls_come_in_parts_after_the_reasoning() -> None:
    """Each item has its place; a call is named first, and its arguments follow in two or more parts."""
    with FakeServer("responses", [{"tools": [SEARCH, SEARCH]}]) as server:
        events = stream(server, tools=[TOOL], reasoning={"effort": "low"})

    added = [event.item for event in events if event.type == "response.output_item.added"]
    assert [item.type for item in added] == ["reasoning", "function_call", "function_call"]
    assert added[1].arguments == "" and added[1].name == SEARCH["tool"]
    parts = [e.delta for e in events if e.type == "response.function_call_arguments.delta" and e.output_index == 2]
    assert len(parts) >= 2 and json.loads("".join(parts)) == SEARCH["args"]


def test_the_stream_helper_of_the_client_puts_a_response_together() -> None:
    """The client's own accumulator accepts the events."""
    with (
        FakeServer("responses", [{"text": "Looking.", "tools": [SEARCH]}]) as server,
        client(server) as model,
        model.responses.stream(model="m", input="Hi", tools=[TOOL]) as events,  # type: ignore[list-item]
    ):
        final = events.get_final_response()

    assert final.output_text == "Looking." and final.output[1].type == "function_call"


def test_tokens_are_counted() -> None:
    """A count grows with what would be sent, stored state included, and asks nothing of the model."""
    with FakeServer("responses", ["Hello."]) as server, client(server) as model:
        first = ask(server, "word " * 100)
        fresh = model.responses.input_tokens.count(model="m", input="word " * 100).input_tokens
        longer = model.responses.input_tokens.count(model="m", input="Hi", previous_response_id=first.id).input_tokens

    assert longer >= fresh > 100
    assert [request.conversation is not None for request in server.requests] == [True, False, False]


def test_models_are_listed() -> None:
    """The client lists models and looks one up."""
    with FakeServer("responses") as server, client(server) as model:
        assert [entry.id for entry in model.models.list()] == ["fake-model"]
        assert model.models.retrieve("other").id == "other"


def test_a_failed_response_leaves_no_trace() -> None:
    """A scripted error is the client's to see, and neither it nor its input is added to the conversation."""
    with (
        FakeServer("responses", [{"status": 500, "message": "out of order"}, "Hi."]) as server,
        client(server) as model,
    ):
        conversation = model.conversations.create()
        with pytest.raises(openai.InternalServerError, match="out of order"):
            ask(server, conversation=conversation.id)
        assert model.conversations.items.list(conversation.id).data == []
        assert ask(server, conversation=conversation.id).output_text == "Hi."


def test_a_cut_answer_is_an_error_streamed_or_not() -> None:
    """The client notices an answer that ends half-way."""
    with FakeServer("responses", [{"text": "Hello", "cut": True}] * 2) as server:
        with pytest.raises(openai.APIConnectionError):
            ask(server)
        with pytest.raises(openai.APIConnectionError):
            stream(server)


def test_broken_arguments_are_sent_as_written_and_accepted_back() -> None:
    """What a model got wrong is for the client to handle; the history that holds it can be sent."""
    with FakeServer("responses", [{"tool": "look", "arguments": "{oops"}, "Never mind."]) as server:
        first = ask(server)
        last = ask(server, [output(first.output[0], "no JSON")], previous_response_id=first.id)

    assert first.output[0].arguments == "{oops" and last.output_text == "Never mind."


def test_a_tool_of_a_namespace_is_called_with_it() -> None:
    """A tool that stands alone goes before one of the same name; a search that stays offline is never called."""
    inside = {"type": "namespace", "name": "mcp__memory", "description": "Memory.", "tools": [TOOL]}
    offline = {"type": "web_search", "external_web_access": False}
    with FakeServer("responses", [SEARCH, SEARCH]) as server:
        spaced = ask(server, tools=[inside, offline], extra_body={"client_metadata": {"turn": "1"}})
        alone = ask(server, tools=[inside, TOOL])

    assert [item.to_dict().get("namespace") for item in (*spaced.output, *alone.output)] == ["mcp__memory", None]
    assert [request.conversation.tools for request in server.requests] == [("archival_memory_search",)] * 2
