"""Specific to this target: assistant, thread and run, whatever the wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import pytest
from memkit_runtime.loop.interface import ToolCall

from agent.assistant import Assistant
from agent.run import Run
from agent.thread import Thread
from agent.wire import Step, ToolOutput

LOOK = ToolCall("call_1", "look", {"at": "sea"})
WAIT = ToolCall("call_2", "wait", "no JSON")


class ScriptedWire:
    """A wire without a server: it plays steps, or raises them, and records its calls."""

    def __init__(self, *steps: Step | BaseException) -> None:
        self.steps = list(steps)
        self.asked: list[Any] = []
        self.cancelled = 0

    def open(self, assistant: Assistant, thread: Thread) -> Self:
        """Return itself as the only run."""
        return self

    def begin(self) -> Step:
        """Play the first step."""
        return self._next("begin")

    def submit(self, outputs: Sequence[ToolOutput], *, closing: bool) -> Step:
        """Play the next step."""
        return self._next((*outputs, "closing" if closing else "open"))

    def cancel(self) -> None:
        """Count a cancellation."""
        self.cancelled += 1

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def _next(self, asked: Any) -> Step:
        self.asked.append(asked)
        step = self.steps.pop(0)
        if isinstance(step, BaseException):
            raise step
        return step


def started(wire: ScriptedWire, messages: list[Any], most_calls: int = 8) -> Run:
    """Return a run over ``messages``."""
    thread = Thread("one", lambda: messages, messages.append)
    return Assistant("Ada", "local", lambda: "Be kind.", (), wire, most_calls).run(thread)


def test_a_run_alternates_between_the_model_and_its_tools() -> None:
    """It waits for the outputs of its calls, adds both to the thread, and completes with words."""
    wire, messages = ScriptedWire(Step("Looking.", (LOOK, WAIT)), Step("It is blue.")), list[Any]()

    run = started(wire, messages)
    assert (run.status, run.required_calls, run.text) == ("requires_action", (LOOK, WAIT), "Looking.")
    outputs = [ToolOutput("call_1", "blue"), ToolOutput("call_2", "no JSON")]
    run.submit_tool_outputs(outputs)

    assert (run.status, run.required_calls, run.text, run.calls_made) == ("completed", (), "It is blue.", 2)
    assert wire.asked == ["begin", (*outputs, "open")] and wire.cancelled == 0
    assert [(message["role"], message["content"]) for message in messages] == [
        ("assistant", "Looking."),
        ("tool", "blue"),
        ("tool", "no JSON"),
    ]
    assert [call["args"] for call in messages[0]["tool_calls"]] == [{"at": "sea"}, {}]


@pytest.mark.parametrize("outputs", [[], ["call_2"], ["call_1", "call_1"]])
def test_a_run_takes_one_output_for_each_call(outputs: list[str]) -> None:
    """Every server would reject anything else, so it does not get that far."""
    run = started(ScriptedWire(Step(calls=(LOOK,))), [])

    with pytest.raises(ValueError, match="one output for each call"):
        run.submit_tool_outputs([ToolOutput(call_id, "") for call_id in outputs])


def test_at_its_bound_a_run_has_to_answer_in_words() -> None:
    """The wire is told so; a model that calls tools nevertheless ends the run without an answer."""
    wire = ScriptedWire(Step(calls=(LOOK,)), Step("One more.", (WAIT,)))

    run = started(wire, [], most_calls=1)
    run.submit_tool_outputs([ToolOutput("call_1", "blue")])

    assert wire.asked[-1][-1] == "closing" and run.at_bound
    assert (run.status, run.required_calls, run.text, wire.cancelled) == ("cancelled", (), "", 1)


def test_a_run_that_fails_is_given_up_once() -> None:
    """The server is not left waiting for outputs, and the failure is reported."""
    wire, messages = ScriptedWire(Step(calls=(LOOK,)), RuntimeError("out of order")), list[Any]()

    run = started(wire, messages)
    with pytest.raises(RuntimeError, match="out of order"):
        run.submit_tool_outputs([ToolOutput("call_1", "blue")])
    run.cancel()

    assert (run.status, wire.cancelled) == ("failed", 1)


def test_a_complete_run_cannot_be_given_up() -> None:
    """The server is not told to cancel what is done."""
    wire = ScriptedWire(Step("Hello."))

    run = started(wire, [])
    run.cancel()

    assert (run.status, wire.cancelled) == ("completed", 0)


def test_a_thread_holds_each_call_with_its_output() -> None:
    """Whenever the model is asked, and with the server's label for a text that precedes its calls."""
    messages: list[Any] = []
    thread = Thread("one", lambda: messages, messages.append)
    wire = ScriptedWire(Step("", (LOOK,), "commentary"), Step("Blue."))

    run = Assistant("Ada", "local", lambda: "Be kind.", (), wire).run(thread)
    run.submit_tool_outputs([ToolOutput("call_1", "blue")])

    assert [message["role"] for message in messages] == ["assistant", "tool"]
    assert messages[0]["phase"] == "commentary" and thread.call_ids() == {"call_1"}
