"""The Assistants v2 server against the real client package."""

from __future__ import annotations

import json
import time
from typing import Any

import openai
import pytest

from memkit.runtime.testing import FakeServer

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the whole protocol, by its client

TOOL: Any = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look something up.",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
    },
}
CALL = {"tool": "look", "args": {"q": "drink"}}


class Talk:
    """A client with an assistant and a thread of its own."""

    def __init__(self, server: FakeServer, *, max_retries: int = 0) -> None:
        self.server = server
        self.client = openai.OpenAI(base_url=server.base_url, api_key="any", max_retries=max_retries)
        self.threads = self.client.beta.threads
        self.assistant = self.client.beta.assistants.create(model="m", instructions="Be brief.", tools=[TOOL])
        self.thread = self.threads.create(messages=[{"role": "user", "content": "What do I drink?"}])
        self.ids: Any = {"thread_id": self.thread.id, "assistant_id": self.assistant.id}

    def run(self, **options: Any) -> Any:
        """Run the assistant until it stops."""
        return self.threads.runs.create_and_poll(**self.ids, **options)

    def answer(self, run: Any, *outputs: str) -> Any:
        """Hand in the outputs of every call and run on until it stops."""
        return self.threads.runs.submit_tool_outputs_and_poll(
            run_id=run.id, thread_id=self.thread.id, tool_outputs=answers(run, *outputs)
        )

    def said(self, **options: Any) -> list[str]:
        """Return the texts of the thread as they are listed."""
        return [message.content[0].text.value for message in self.threads.messages.list(self.thread.id, **options)]

    def asked(self) -> list[Any]:
        """Return what the model was asked to continue, request by request."""
        return [request.conversation for request in self.server.requests if request.conversation is not None]


def answers(run: Any, *outputs: str) -> Any:
    """Return the outputs of the calls that ``run`` waits for."""
    calls = run.required_action.submit_tool_outputs.tool_calls
    return [{"tool_call_id": call.id, "output": output} for call, output in zip(calls, outputs, strict=True)]


class Events(openai.AssistantEventHandler):
    """Writes down the names of the events."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def on_event(self, event: Any) -> None:
        """Keep the name."""
        self.names.append(event.event)


def test_a_run_asks_for_its_tools_and_answers_with_their_outputs() -> None:
    """The whole round: a call, its output, the answer in the thread, and what the model was asked."""
    with FakeServer("assistants", [{"text": "Let me see.", **CALL}, "Espresso."]) as server:
        talk = Talk(server)
        waiting = talk.run()
        done = talk.answer(waiting, "espresso")

        (call,) = waiting.required_action.submit_tool_outputs.tool_calls
        assert (waiting.status, call.function.name, json.loads(call.function.arguments)) == (
            "requires_action",
            "look",
            {"q": "drink"},
        )
        assert done.status == "completed" and done.required_action is None
        assert done.usage.total_tokens == done.usage.prompt_tokens + done.usage.completion_tokens > 0
        assert waiting.usage is None
        assert talk.said() == ["Espresso.", "Let me see.", "What do I drink?"]
        assert talk.said(run_id=done.id, order="asc") == ["Let me see.", "Espresso."]
        first, second = talk.asked()
        assert [(message.role, message.text) for message in first.messages] == [
            ("system", "Be brief."),
            ("user", "What do I drink?"),
        ]
        assert [message.role for message in second.messages] == ["system", "user", "assistant", "tool"]
        assert second.messages[2].text == "Let me see." and second.messages[2].calls[0].id == call.id
        assert (second.messages[3].text, second.messages[3].call_id) == ("espresso", call.id)


def test_each_look_takes_a_run_one_state_further() -> None:
    """A client sees queued, in progress and the end, as it would at the vendor."""
    with FakeServer("assistants", ["Hello."]) as server:
        talk = Talk(server)
        made = talk.threads.runs.create(**talk.ids)
        seen = [talk.threads.runs.retrieve(made.id, thread_id=talk.thread.id) for _ in range(3)]

    assert [made.status, *(run.status for run in seen)] == ["queued", "in_progress", "completed", "completed"]
    assert made.expires_at and seen[0].started_at and seen[1].completed_at


def test_instructions_and_tools_of_a_run_stay_as_they_were_when_it_began() -> None:
    """What becomes of the assistant meanwhile shows in the next run only."""
    with FakeServer("assistants", [CALL, "One.", "Two."]) as server:
        talk = Talk(server)
        waiting = talk.run(instructions="Be exact.", additional_instructions="Be kind.")
        talk.client.beta.assistants.update(talk.assistant.id, instructions="Be loud.", tools=[])
        talk.answer(waiting, "x")
        talk.run()

    prompts = [(conversation.messages[0].text, conversation.tools) for conversation in talk.asked()]
    assert prompts == [("Be exact.\n\nBe kind.", ("look",)), ("Be exact.\n\nBe kind.", ("look",)), ("Be loud.", ())]


def test_a_thread_remembers_earlier_runs() -> None:
    """A later run sees the messages, the calls and their outputs; a strategy can leave only the last messages."""
    with FakeServer("assistants", [CALL, "Espresso.", "Yes.", "Yes."]) as server:
        talk = Talk(server)
        talk.answer(talk.run(), "espresso")
        talk.run(additional_messages=[{"role": "user", "content": "Sure?"}])
        talk.run(truncation_strategy={"type": "last_messages", "last_messages": 1})

    *_, third, fourth = talk.asked()
    assert [message.role for message in third.messages] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert [message.text for message in fourth.messages] == ["Be brief.", "Yes."]


def test_a_streamed_run_tells_every_change() -> None:
    """The client's own accumulator accepts the events, and text and arguments come in parts."""
    with FakeServer("assistants", [CALL, "Espresso."]) as server:
        talk = Talk(server)
        first, second = Events(), Events()
        with talk.threads.runs.stream(**talk.ids, event_handler=first) as stream:
            run = stream.get_final_run()
            (step,) = stream.get_final_run_steps()
        with talk.threads.runs.submit_tool_outputs_stream(
            run_id=run.id, thread_id=talk.thread.id, tool_outputs=answers(run, "espresso"), event_handler=second
        ) as stream:
            (message,) = stream.get_final_messages()
            end = stream.current_run

    assert first.names == [
        *(f"thread.run.{name}" for name in ("created", "queued", "in_progress", "step.created", "step.in_progress")),
        *["thread.run.step.delta"] * 3,
        "thread.run.requires_action",
    ]
    assert second.names == [
        *(f"thread.run.{name}" for name in ("step.completed", "queued", "in_progress")),
        *(f"thread.run.step.{name}" for name in ("created", "in_progress")),
        *(f"thread.message.{name}" for name in ("created", "in_progress", "delta", "delta", "completed")),
        *(f"thread.run.{name}" for name in ("step.completed", "completed")),
    ]
    assert json.loads(step.step_details.tool_calls[0].function.arguments) == {"q": "drink"}  # type: ignore[union-attr]
    assert message.content[0].text.value == "Espresso."  # type: ignore[union-attr]
    assert run.status == "requires_action" and end is not None and end.status == "completed"
    assert [conversation.stream for conversation in talk.asked()] == [True, True]


def test_a_thread_and_its_run_are_made_in_one_request() -> None:
    """The events begin with the thread, and the run answers its message."""
    with FakeServer("assistants", ["Hello.", "Hello."]) as server:
        talk = Talk(server)
        body: Any = {"assistant_id": talk.assistant.id, "thread": {"messages": [{"role": "user", "content": "Hi"}]}}
        run = talk.threads.create_and_run_poll(**body)
        events = [event.event for event in talk.threads.create_and_run(**body, stream=True)]

    assert run.status == "completed" and run.thread_id != talk.thread.id
    assert events[:2] == ["thread.created", "thread.run.created"] and events[-1] == "thread.run.completed"
    assert talk.asked()[0].last.text == "Hi"


def test_a_run_can_be_cancelled_while_it_waits() -> None:
    """The run ends without an answer, its open calls are not shown to later runs, and the thread is free again."""
    with FakeServer("assistants", [CALL, "Hello."]) as server:
        talk = Talk(server)
        waiting = talk.run()
        cancelling = talk.threads.runs.cancel(waiting.id, thread_id=talk.thread.id)
        cancelled = talk.threads.runs.poll(waiting.id, talk.thread.id)
        (step,) = talk.threads.runs.steps.list(waiting.id, thread_id=talk.thread.id)
        talk.threads.messages.create(talk.thread.id, role="user", content="Never mind.")
        after = talk.run()

    assert [cancelling.status, cancelled.status, after.status] == ["cancelling", "cancelled", "completed"]
    assert cancelled.cancelled_at and step.status == "cancelled"
    assert [message.role for message in talk.asked()[-1].messages] == ["system", "user", "user"]


@pytest.mark.parametrize(
    ("answer", "status", "event"),
    [
        ({"stop": "failed", "message": "out of order"}, "failed", "thread.run.failed"),
        ({"text": "Half of", "stop": "length"}, "incomplete", "thread.run.incomplete"),
    ],
)
def test_a_run_can_end_early(answer: Any, status: str, event: str) -> None:
    """A script can let a run fail or reach its token limit, polled and streamed."""
    with FakeServer("assistants", [answer, answer]) as server:
        talk = Talk(server)
        polled = talk.run()
        events = [each.event for each in talk.threads.runs.create(**talk.ids, stream=True)]

    assert polled.status == status and events[-1] == event
    if status == "failed":
        assert (polled.last_error.code, polled.last_error.message) == ("server_error", "out of order")
    else:
        assert polled.incomplete_details.reason == "max_completion_tokens"
        assert "thread.message.incomplete" in events


def test_steps_tell_what_a_run_did() -> None:
    """The calls with their outputs, then the message, newest first."""
    with FakeServer("assistants", [CALL, "Espresso."]) as server:
        talk = Talk(server)
        done = talk.answer(talk.run(), "espresso")
        said, called = talk.threads.runs.steps.list(done.id, thread_id=talk.thread.id)
        again = talk.threads.runs.steps.retrieve(said.id, run_id=done.id, thread_id=talk.thread.id)

    assert said.step_details.type == "message_creation" and again == said
    assert called.step_details.tool_calls[0].function.output == "espresso"  # type: ignore[union-attr]
    assert {said.status, called.status} == {"completed"}


def test_lists_come_in_pages_newest_first() -> None:
    """The client walks all pages by itself; ``before`` is the page that ends at an entry."""
    with FakeServer("assistants") as server:
        talk = Talk(server)
        for number in range(1, 8):
            talk.threads.messages.create(talk.thread.id, role="user", content=str(number))
        everything = talk.said(limit=3)
        first = talk.threads.messages.list(talk.thread.id, limit=3)
        middle = talk.threads.messages.list(talk.thread.id, limit=2, before=first.last_id or "")
        oldest = talk.said(limit=100, order="asc")

    assert everything == ["7", "6", "5", "4", "3", "2", "1", "What do I drink?"]
    assert oldest == everything[::-1]
    assert first.has_more and [each.content[0].text.value for each in middle.data] == ["7", "6"]  # type: ignore[union-attr]


def test_everything_can_be_changed_and_deleted() -> None:
    """Assistants, threads, messages and runs follow their client."""
    with FakeServer("assistants", ["Hello."]) as server:
        talk = Talk(server)
        beta, thread = talk.client.beta, talk.thread.id
        run = talk.run(metadata={"a": "b"})
        message = talk.threads.messages.create(thread, role="user", content="Hi", metadata={"of": "me"})
        changed = [
            talk.threads.update(thread, metadata={"k": "v"}).metadata,
            talk.threads.runs.update(run.id, thread_id=thread, metadata={"k": "v"}).metadata,
            talk.threads.messages.update(message.id, thread_id=thread, metadata={"k": "v"}).metadata,
        ]
        assert changed == [{"k": "v"}, {"a": "b", "k": "v"}, {"of": "me", "k": "v"}]
        assert talk.threads.messages.retrieve(message.id, thread_id=thread).metadata == {"of": "me", "k": "v"}
        assert beta.assistants.update(talk.assistant.id, name="Ada").instructions == "Be brief."
        assert [each.name for each in beta.assistants.list()] == ["Ada"]
        assert talk.threads.messages.delete(message.id, thread_id=thread).deleted
        assert message.id not in {each.id for each in talk.threads.messages.list(thread)}
        assert [each.id for each in talk.threads.runs.list(thread)] == [run.id]
        assert talk.threads.delete(thread).deleted and beta.assistants.delete(talk.assistant.id).deleted
        with pytest.raises(openai.NotFoundError, match="No thread found"):
            talk.threads.retrieve(thread)
        with pytest.raises(openai.NotFoundError, match="No assistant found"):
            beta.assistants.retrieve(talk.assistant.id)


def test_a_scripted_error_leaves_no_run_behind_and_can_be_retried() -> None:
    """The retry of a refused run, and of refused outputs, gets the next answer and finds nothing in its way."""
    busy = {"status": 429, "headers": {"retry-after-ms": 1}}
    with FakeServer("assistants", [busy, CALL, busy, "Espresso."]) as server:
        talk = Talk(server, max_retries=1)
        done = talk.answer(talk.run(additional_messages=[{"role": "user", "content": "Now?"}]), "espresso")
        assert done.status == "completed"
        assert talk.said(order="asc") == ["What do I drink?", "Now?", "Espresso."]
        assert len(list(talk.threads.runs.list(talk.thread.id))) == 1


def test_a_connection_that_breaks_leaves_no_run_behind() -> None:
    """A client that never heard of a run can make another one; a stream that breaks is an error."""
    cut = {"text": "Hello", "cut": True}
    with FakeServer("assistants", [cut, CALL, cut, cut]) as server:
        talk = Talk(server)
        with pytest.raises(openai.APIConnectionError):
            talk.run()
        waiting = talk.run()
        with pytest.raises(openai.APIConnectionError):
            talk.answer(waiting, "x")
        stream = talk.threads.runs.submit_tool_outputs(
            run_id=waiting.id, thread_id=talk.thread.id, tool_outputs=answers(waiting, "x"), stream=True
        )
        with pytest.raises(Exception, match=r"(?i)connection"):  # older clients let their HTTP package tell it
            list(stream)


def test_a_thread_is_locked_while_a_run_takes_its_time() -> None:
    """The delay of an answer is time in progress, in which nobody can put a message before the answer."""
    with FakeServer("assistants", [{"text": "Late.", "delay": 0.3}]) as server:
        talk = Talk(server)
        started = time.monotonic()
        run = talk.threads.runs.create(**talk.ids)
        states = {talk.threads.runs.retrieve(run.id, thread_id=talk.thread.id).status for _ in range(3)}
        with pytest.raises(openai.BadRequestError, match=r"while a run run_\w+ is active"):
            talk.threads.messages.create(talk.thread.id, role="user", content="Wait!")
        with pytest.raises(openai.BadRequestError, match="already has an active run"):
            talk.threads.runs.create(**talk.ids)
        done = talk.threads.runs.poll(run.id, talk.thread.id)

    assert states == {"in_progress"} and done.status == "completed"
    assert time.monotonic() - started >= 0.3


def test_a_delay_comes_before_the_first_event_of_a_stream() -> None:
    """Nothing of a late answer arrives early."""
    with FakeServer("assistants", [{"text": "Late.", "delay": 0.3}]) as server:
        talk = Talk(server)
        started = time.monotonic()
        next(iter(talk.threads.runs.create(**talk.ids, stream=True)))

    assert time.monotonic() - started >= 0.3


def test_calls_have_ids_of_their_own_whatever_the_script_says() -> None:
    """An id stands for one call of a thread, so that each can be answered."""
    twin = {"tool": "look", "id": "call_0"}
    with FakeServer("assistants", [{"tools": [twin, twin]}, twin, "Done."]) as server:
        talk = Talk(server)
        first = talk.run()
        second = talk.answer(first, "one", "two")
        assert talk.answer(second, "three").status == "completed"

    assert [message.text for message in talk.asked()[-1].messages if message.role == "tool"] == ["one", "two", "three"]
