"""The tool calls of one completion: numbered, run in order, journalled and told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .events import Announcements
from .interface import CallData, Completion, Message, ToolCall, ToolOutcome
from .journalled_calls import JournalledCalls

TOO_MANY = "Not run: too many calls in one turn."
TOO_LATE = "Not run: the time of this turn is over."
BROKEN_OFF = "The user interrupted this call. Whether it was done is not known."
NOT_REACHED = "Not run: the user interrupted the turn."


RunCall = Callable[[ToolCall, Callable[[], None]], ToolOutcome]


class CallRun:
    """Runs the calls of one completion, and holds the messages that they become."""

    def __init__(self, completion: Completion, made: int) -> None:
        """Take the calls of ``completion``; ``made`` were made in this turn before."""
        self._completion = completion
        self._made = made
        self.results: list[Message] = []
        self.interrupted = False

    @property
    def made(self) -> int:
        """Return how many calls of the turn have an answer now."""
        return self._made + len(self.results)

    @property
    def messages(self) -> list[Message]:
        """Return the assistant's message and a result for every call."""
        text, calls = self._completion.text, calls_data(self._completion)
        return [{"role": "assistant", "content": text, "tool_calls": calls}, *self.results]

    def run(
        self,
        run_call: RunCall,
        barred: Callable[[int], str | None],
        journalled: JournalledCalls,
        told: Announcements,
    ) -> None:
        """Run the calls one after another; what came of one before the turn was cut off is not done again.

        Args:
            run_call: Judges and runs one call, and calls its second argument before it does.
            barred: Says why no call may run after so many in this turn, or None.
            journalled: Is told before a call runs, and what came of each.
            told: Whoever listens.
        """
        for call, data in zip(self._completion.tool_calls, calls_data(self._completion), strict=True):
            recorded = journalled.recorded(call)
            if recorded is None:
                why_not = NOT_REACHED if self.interrupted else barred(self.made) or journalled.objection(call)
                text, error = (why_not, True) if why_not else self._run_one(call, data, run_call, journalled, told)
                journalled.finished(call, text, error)
            else:
                text, error = recorded
            told.tell("call_finished", id=call.id, name=call.name, text=text, error=error)
            self.results.append({"role": "tool", "tool_call_id": call.id, "name": call.name, "content": text})

    def _run_one(
        self,
        call: ToolCall,
        data: CallData,
        run_call: RunCall,
        journalled: JournalledCalls,
        told: Announcements,
    ) -> tuple[str, bool]:
        begun = False

        def begin() -> None:
            nonlocal begun
            begun = True
            journalled.started(data)

        told.tell("call_started", **data)
        try:
            outcome = run_call(call, begin)
        except KeyboardInterrupt:
            self.interrupted = True
            return (BROKEN_OFF if begun else NOT_REACHED), True
        return outcome.text, outcome.error


def numbered(completion: Completion, turn_id: int, before: int) -> Completion:
    """Return ``completion`` with ids for its calls that no other call of the session has.

    Args:
        completion: What the model answered; its own ids may repeat.
        turn_id: The number of the turn.
        before: How many calls the model wanted in this turn before.
    """
    calls = enumerate(completion.tool_calls, before + 1)
    return replace(completion, tool_calls=tuple(replace(call, id=f"call-{turn_id}-{place}") for place, call in calls))


def calls_data(completion: Completion) -> list[CallData]:
    """Return the calls as they stand in a message; arguments that are no object are left out."""
    return [
        {"id": call.id, "name": call.name, "args": dict(call.args) if not isinstance(call.args, str) else {}}
        for call in completion.tool_calls
    ]
