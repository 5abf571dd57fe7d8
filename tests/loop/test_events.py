"""What happens in a turn is told while it happens, and nothing a listener does changes the turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from memkit.runtime.guard.core import Guard
from memkit.runtime.loop.core import AgentLoop, DeclaredTool, Host
from memkit.runtime.loop.interface import CallData, Completion, Message, ToolCall, ToolSpec, TurnJournal
from memkit.runtime.loop.reply import Event
from tests.loop.made_agents import agent_of, tools_of

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
NOTE = DeclaredTool("note", "Note a text.", TEXT, run=lambda text: f"noted {text}", open_world=False)


class Streams:
    """A model that says its answers word by word, as far as it gets."""

    def __init__(self, *answers: Completion, breaks_at: int | None = None) -> None:
        self.answers = list(answers)
        self.breaks_at = breaks_at

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the next answer."""
        return self.answers.pop(0)

    def stream(self, messages: Sequence[Message], tools: Sequence[ToolSpec], say: Callable[[str], None]) -> Completion:
        """Say the next answer; a person presses Ctrl-C at the word ``breaks_at``."""
        answer = self.answers.pop(0)
        for place, word in enumerate(answer.text.split(" ")):
            if answer.text and place == self.breaks_at:
                raise KeyboardInterrupt
            if word:
                say(word + " ")
        return answer


class Notes(TurnJournal):
    """A journal that notes the order in which it is told."""

    def __init__(self, kept: list[str]) -> None:
        self.kept = kept

    def opened(self, turn_id: int, text: str | None, *, by_user: bool) -> None:
        """Note it."""
        self.kept.append(f"opened {turn_id} {text}")

    def answered(self, completion: Completion) -> None:
        """Note it with the ids of the calls."""
        self.kept.append(" ".join(["answered", *(call.id for call in completion.tool_calls)]))

    def started(self, call: CallData, *, may_repeat: bool) -> None:
        """Note it."""
        self.kept.append(f"started {call['id']}")

    def finished(
        self, call_id: str, text: str, error: bool, *, may_repeat: bool, books: Mapping[str, Any] | None = None
    ) -> None:
        """Note it."""
        self.kept.append(f"finished {call_id} {error}")

    def closed(self) -> None:
        """Note it."""
        self.kept.append("closed")


def calling(*names: str, text: str = "") -> Completion:
    """Return an answer that calls these tools."""
    calls = tuple(ToolCall("same", name, {"text": "tea"}) for name in names)
    return Completion(text, calls, {"input": 10, "output": 2})


def test_a_turn_is_told_from_its_opening_to_its_end(memory: Any) -> None:
    """Each event comes when it happens, as plain JSON, and the calls carry the ids that stand in the session."""
    heard: list[Event] = []
    model = Streams(calling("note"), Completion("All done.", usage={"input": 20, "output": 3}))
    agent = agent_of(model=model, memory=memory, declared=[NOTE], listen=heard.append)

    agent.step("Note the tea")

    kinds = [event.kind for event in heard]
    assert kinds == [
        "turn_opened", "recalled", "model_asked", "model_answered", "call_started", "call_finished", "model_asked",
        "text", "text", "model_answered", "turn_closed",
    ]  # fmt: skip
    told = {event.kind: event.data for event in heard}
    assert told["call_started"] == {"id": "call-1-1", "name": "note", "args": {"text": "tea"}}
    assert told["call_finished"]["id"] == "call-1-1" and "noted tea" in told["call_finished"]["text"]
    assert [event.data["delta"] for event in heard if event.kind == "text"] == ["All ", "done. "]
    assert told["turn_closed"] == {"message": "All done.", "citations": [], "ended": "answered"}


def test_the_tokens_of_a_turn_are_summed(memory: Any) -> None:
    """The report of a turn says what its requests cost together; the next turn begins anew."""
    model = Streams(calling("note"), Completion("A", usage={"input": 20, "output": 3, "cached": 5}), Completion("B"))
    agent = agent_of(model=model, memory=memory, declared=[NOTE])

    first, second = agent.step("a"), agent.step("b")

    assert first.data["usage"] == {"input": 30, "output": 5, "cached": 5, "requests": 2}
    assert second.data["usage"] == {"input": 0, "output": 0, "requests": 1}


def test_the_journal_is_told_in_the_order_of_durability(memory: Any) -> None:
    """Words before the model, the answer and the start before a call runs, its end after, the close at last."""
    kept: list[str] = []
    note = DeclaredTool("note", "Note.", TEXT, run=lambda text: kept.append("ran") or "", open_world=False)
    model = Streams(calling("note", "note"), Completion("Done."))

    agent_of(model=model, memory=memory, declared=[note], journal=Notes(kept)).step("Go")

    assert kept == [
        "opened 1 Go", "answered call-1-1 call-1-2", "started call-1-1", "ran", "finished call-1-1 False",
        "started call-1-2", "ran", "finished call-1-2 False", "answered", "closed",
    ]  # fmt: skip


def test_a_failing_listener_ends_nothing(memory: Any) -> None:
    """The turn goes on to its end and is kept; then the host hears of its own mistake, once."""
    kept: list[str] = []

    def fails(event: Event) -> None:
        if event.kind == "model_asked":
            raise ZeroDivisionError("the host's own")

    model = Streams(Completion("Fine."), Completion("Again."))
    agent = agent_of(model=model, memory=memory, listen=fails, journal=Notes(kept))

    with pytest.raises(ZeroDivisionError, match="own"):
        agent.step("Hi there")

    assert kept[-1] == "closed"
    assert agent.memory.main.messages[-1] == {"role": "assistant", "content": "Fine."}
    assert agent.turn_id == 1


def test_an_interrupted_stream_leaves_what_was_said(memory: Any) -> None:
    """Ctrl-C keeps the partial text as the reply, marked, and the next turn goes on from there."""
    model = Streams(Completion("One two three"), Completion("Four."), breaks_at=2)
    agent = agent_of(model=model, memory=memory, listen=lambda event: None)

    reply = agent.step("Count")
    model.breaks_at = None
    after = agent.step("Go on")

    assert reply.message == "One two\n(interrupted)"
    assert reply.data["ended"] == "interrupted"
    assert after.message == "Four."
    assert [message["role"] for message in agent.memory.main.messages] == ["user", "assistant"] * 2


def test_an_interrupted_call_has_a_result_that_says_so(memory: Any) -> None:
    """Ctrl-C in a tool leaves every call with a result: unknown for the running one, not run for those after it."""

    def breaks(text: str) -> str:
        raise KeyboardInterrupt

    model = Streams(calling("note", "note"))
    agent = agent_of(model=model, memory=memory, declared=[DeclaredTool("note", "Note.", TEXT, run=breaks)])

    reply = agent.step("Note the tea")

    results = [message["content"] for message in agent.memory.main.messages if message["role"] == "tool"]
    assert reply.message == "(interrupted)"
    assert "not known" in results[0] and "Not run" in results[1]


def test_a_call_that_somebody_was_still_asked_about_was_not_run(memory: Any) -> None:
    """Ctrl-C at the question leaves nothing unknown: the call had not begun."""

    def leaves(*_: Any) -> bool:
        raise KeyboardInterrupt

    asks = Guard([{"name": "ask", "description": "Ask.", "rule": "Ask.", "enforcement": "hard", "effect": "ask",
                   "match": {"tool": "note"}}])  # fmt: skip
    agent = agent_of(model=Streams(calling("note")), memory=memory, declared=[NOTE], guard=asks, approve=leaves)

    assert agent.step("Note the tea").data["ended"] == "interrupted"

    results = [message["content"] for message in agent.memory.main.messages if message["role"] == "tool"]
    assert results == ["Not run: the user interrupted the turn."]


def test_a_failed_turn_is_told_too(memory: Any) -> None:
    """Whoever waits for the end of a turn hears of it also where the model fails."""
    heard: list[Event] = []

    with pytest.raises(IndexError):
        agent_of(model=Streams(), memory=memory, listen=heard.append).step("Hello world")

    assert heard[-1].kind == "turn_closed" and "pop" in heard[-1].data["error"]


def test_a_method_of_another_shape_is_no_stream(memory: Any) -> None:
    """A client whose ``stream`` yields parts of its own is asked by its other method."""

    class Client:
        def invoke(self, messages: Any) -> str:
            return "Answered."

        def stream(self, messages: Any) -> Any:
            raise AssertionError("not asked")

    assert agent_of(model=Client(), memory=memory, listen=lambda _: None).step("Hi").message == "Answered."


def test_paging_and_memory_operations_are_told(script: Callable[..., Any]) -> None:
    """What leaves the prompt is told with its tokens and what stands for it now."""
    heard: list[Event] = []
    loop = AgentLoop(model=script(*["Yes."] * 12), host=Host(listen=heard.append))
    loop.memory.main.max_tokens = 120

    for number in range(12):
        loop.respond(f"Line {number} is about nothing in particular at all.")

    paged = [event.data for event in heard if event.kind == "paged_out"]
    assert paged and all(data["messages"] > 0 and data["tokens"] > 0 for data in paged)
    assert "Line 0" in paged[0]["summary"]


def test_only_what_may_be_done_twice_may_be_repeated(memory: Any) -> None:
    """A declared tool says so itself; memory tools go through a gate that knows what it has seen."""
    toolbox = tools_of(memory, declared=[NOTE, DeclaredTool("look", "Look.", run=str, idempotent=True)])

    assert [toolbox.may_repeat(name) for name in ("note", "look", "archival_memory_insert")] == [False, True, True]
