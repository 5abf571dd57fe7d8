"""Ask the model of a turn: tell what it says while it says it, and keep the account of its tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .calls import calls_data, numbered
from .clients import as_model
from .deadline import Deadline, TimeIsUp, within
from .events import Announcements
from .interface import Completion, Message, Model, StreamingModel, ToolSpec
from .turn import Reply


class Asking:
    """The requests of one turn."""

    def __init__(
        self, model: Model, turn_id: int, told: Announcements, deadline: Deadline, spent: dict[str, int]
    ) -> None:
        self._model = model
        self._turn_id = turn_id
        self._told = told
        self._deadline = deadline
        self._usage = {"input": 0, "output": 0, "requests": 0}
        self._spent = spent
        """The same for all turns, to add to."""
        self._calls = 0
        self.heard = ""
        """What came so far of an answer that is not complete."""

    @property
    def usage(self) -> Mapping[str, int]:
        """Return the tokens that went in and came out in this turn, as far as the model says, and the requests."""
        return dict(self._usage)

    def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the model's answer; raises ``TimeIsUp`` where the turn has to end before it is complete."""
        self._spend({"requests": 1})
        self._told.tell("model_asked", request=self._usage["requests"], messages=len(messages), tools=len(tools))
        try:
            completion = numbered(self._answer(messages, tools), self._turn_id, self._calls)
        except Exception as error:
            self._spend(getattr(error, "usage", {}))
            raise
        self._take(completion)
        return completion

    def repeat(self, completion: Completion) -> Completion:
        """Take in an answer that the model gave to this turn before it was cut off, and return it."""
        self._spend({"requests": 1})
        self._take(completion)
        return completion

    def _take(self, completion: Completion) -> None:
        self._calls += len(completion.tool_calls)
        self.heard = ""
        usage = dict(completion.usage)
        self._spend(usage)
        self._told.tell("model_answered", text=completion.text, tool_calls=calls_data(completion), usage=usage)

    def _spend(self, usage: Mapping[str, int]) -> None:
        for name, count in usage.items():
            for account in (self._usage, self._spent):
                account[name] = account.get(name, 0) + count

    def _answer(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        model = self._model
        if self._told.has_listener and isinstance(model, StreamingModel):
            return within(self._deadline.left, lambda: model.stream(messages, tools, self._hear))
        completion = within(self._deadline.left, lambda: model.complete(messages, tools))
        if completion.text:
            self._told.tell("text", delta=completion.text)
        return completion

    def _hear(self, delta: str) -> None:
        self._deadline.check()  # first: what comes after the end of the turn is no longer part of it
        self.heard += delta
        self._told.tell("text", delta=delta)


def cut_short(stop: Exception | KeyboardInterrupt, heard: str, calls: int, deadline: Deadline) -> Reply | None:
    """Return the reply of a turn that ended before its answer did: what was ``heard`` until then, and why it stopped.

    None for a fault before the first word, and for one whose words explain nothing to a user.
    """
    if isinstance(stop, TimeIsUp):
        return Reply(heard, calls, late=True)
    if isinstance(stop, KeyboardInterrupt):
        deadline.interrupt()  # a model that was not waited for may still be speaking
        return Reply(heard, calls, interrupted=True)
    if heard and isinstance(getattr(stop, "exit_code", None), int):
        return Reply(heard, calls, broken_off=str(stop))
    return None


def model_of(client: Any) -> Model | None:
    """Return what was handed in as a model, None for None."""
    return None if client is None else as_model(client)
