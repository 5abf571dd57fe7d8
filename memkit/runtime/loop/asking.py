"""Ask the model of a turn, report its text as it arrives, and keep account of its tokens."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .bound import is_too_deep, read_arguments
from .interface import (
    CallData,
    Completion,
    LoopError,
    Message,
    Model,
    ModelFault,
    StreamingModel,
    ToolCall,
    ToolOutcome,
    ToolSpec,
)
from .journal import JournalledCalls
from .reply import Announcements, Deadline, Reply, TimeIsUp, within

METHODS = ("complete", "chat", "generate", "invoke")
"""Accepted method names of a client; the first one present is used."""
_PROMPTS = {"prompt", "text", "query"}
"""Parameter names that mean one text instead of messages."""
NO_JSON = "(objects that JSON cannot represent)"
"""Stands in for arguments that a program's own model built from sets, bytes or self-referencing lists."""
_ANSWERS = ("text", "content", "tool_calls")
"""Keys under which an answer may carry its content; an answer with none of them has another shape."""
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def as_model(client: Any) -> Model:
    """Return ``client`` as a model.

    A function or method may take the messages, or the messages and the tools, or, where its parameter is called
    ``prompt``, one text. It may return a ``Completion``, a text, or a message with ``content`` and ``tool_calls``.
    """
    if isinstance(client, type):
        raise LoopError(f"llm_client is the class {client.__name__}. Pass an instance: {client.__name__}(…).")
    for name in METHODS:
        if callable(method := getattr(client, name, None)):
            stream: Any = getattr(client, "stream", None)
            return StreamingFunctionModel(method, stream) if _says(stream) else FunctionModel(method)
    if callable(client):
        return FunctionModel(client)
    raise LoopError(
        f"llm_client is a {type(client).__name__}. Pass a function, or an object with complete(messages, tools)."
    )


class FunctionModel:
    """A model that is a plain function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._parameters = _parameters(function)

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the function's answer."""
        by_place = [one for one in self._parameters if one.kind in _BY_PLACE]
        given: Any = messages
        if by_place and by_place[0].name in _PROMPTS:
            given = "\n\n".join(f"{message['role']}: {message.get('content') or ''}" for message in messages)
        named = {one.name for one in self._parameters if one.kind is not inspect.Parameter.POSITIONAL_ONLY}
        more = {"tools": tools} if "tools" in named else {}
        if not by_place and "messages" in named:
            return as_completion(self._function(messages=given, **more))
        wants_second = any(one.default is one.empty for one in by_place[1:])  # an option with a default is not a place
        wants_second |= any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in self._parameters)
        return as_completion(self._function(given, *([tools] if wants_second and not more else []), **more))


class StreamingFunctionModel(FunctionModel):
    """A model of two functions: one that answers, and one that streams its answer."""

    def __init__(self, function: Callable[..., Any], stream: Callable[..., Any]) -> None:
        super().__init__(function)
        self._stream = stream

    def stream(self, messages: Sequence[Message], tools: Sequence[ToolSpec], say: Callable[[str], None]) -> Completion:
        """Return the function's answer after it was streamed."""
        return as_completion(self._stream(messages, tools, say))


def as_completion(answer: Any) -> Completion:
    """Return ``answer`` as a completion, whatever its shape.

    >>> as_completion({"content": "", "tool_calls": [{"function": {"name": "ls", "arguments": "{}"}}]}).tool_calls
    (ToolCall(id='call-1', name='ls', args={}),)
    """
    if isinstance(answer, Completion):
        return _checked(answer)
    if answer is None or isinstance(answer, str):
        return Completion(answer or "")
    text = _read(answer, "text") or _read(answer, "content") or ""
    calls = _read(answer, "tool_calls") or ()
    if not any(name in answer if isinstance(answer, Mapping) else hasattr(answer, name) for name in _ANSWERS):
        raise ModelFault(f"The model answered with a {type(answer).__name__}. It must return text or a Completion.")
    if not isinstance(text, str) or not isinstance(calls, Sequence):
        raise ModelFault(f"The model answered with a {type(answer).__name__} whose text or tool calls cannot be read.")
    return Completion(text, tuple(_as_call(call, number) for number, call in enumerate(calls, 1)))


def _checked(completion: Completion) -> Completion:
    """Return a completion with validated parts: a wrong one would only fail in a later turn."""
    text, calls, usage = completion.text or "", completion.tool_calls or (), completion.usage or {}
    if not isinstance(text, str) or not isinstance(calls, Sequence) or not isinstance(usage, Mapping):
        raise ModelFault("The model answered with a Completion whose text, tool calls or usage cannot be read.")
    counts = {name: count for name, count in usage.items() if type(count) is int}
    return Completion(text, tuple(_as_call(call, number) for number, call in enumerate(calls, 1)), counts)


def _as_call(call: Any, number: int) -> ToolCall:
    if isinstance(call, ToolCall) and isinstance(call.name, str) and isinstance(call.args, Mapping | str):
        return call if isinstance(call.args, str) else replace(call, args=_plain(call.args))
    inner = _read(call, "function") or call
    name = _read(inner, "name")
    if not isinstance(name, str):
        raise ModelFault(f"The model sent a tool call without a name: {call!r}.")
    given = _read(inner, "args") or _read(inner, "arguments") or _read(inner, "input")
    read = read_arguments(given)
    args = _plain(read) if read is not None else given if isinstance(given, str) else NO_JSON
    return ToolCall(str(_read(call, "id") or f"call-{number}"), name, args)


def _plain(args: Mapping[str, Any]) -> Mapping[str, Any] | str:
    """Return arguments that JSON can hold, as session and model require; others become a placeholder."""
    try:
        json.dumps(dict(args))
    except (TypeError, ValueError, RecursionError):
        return NO_JSON
    return NO_JSON if is_too_deep(args) else args


def _read(thing: Any, name: str) -> Any:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _says(stream: Any) -> bool:
    """Return whether this is a ``stream(messages, tools, say)``; clients have other methods of that name."""
    return callable(stream) and any(one.name == "say" for one in _parameters(stream))


def _parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    """Return the function's parameters; one without an inspectable signature is given messages and tools."""
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return (inspect.Parameter("parts", inspect.Parameter.VAR_POSITIONAL),)


# The tool calls of one completion: numbered, run in order, journalled and announced.

TOO_MANY = "Not run: too many calls in one turn."
TOO_LATE = "Not run: the time of this turn is over."
BROKEN_OFF = "The user interrupted this call. Whether it was done is not known."
NOT_REACHED = "Not run: the user interrupted the turn."


RunCall = Callable[[ToolCall, Callable[[], None]], ToolOutcome]


class CallRun:
    """Runs the calls of one completion and holds the resulting messages."""

    def __init__(self, completion: Completion, made: int) -> None:
        """Take the calls of ``completion``; ``made`` is how many this turn already made."""
        self._completion = completion
        self._made = made
        self.results: list[Message] = []
        self.interrupted = False

    @property
    def made(self) -> int:
        """Return how many calls of the turn have been answered."""
        return self._made + len(self.results)

    @property
    def messages(self) -> list[Message]:
        """Return the assistant's message and one result per call."""
        text, calls = self._completion.text, calls_data(self._completion)
        return [{"role": "assistant", "content": text, "tool_calls": calls}, *self.results]

    def run(
        self, run_call: RunCall, barred: Callable[[int], str | None], journalled: JournalledCalls, told: Announcements
    ) -> None:
        """Run the calls one after another; calls with a result from before the turn was cut off are not repeated.

        Args:
            run_call: Judges and runs one call, and calls its second argument before it does.
            barred: Returns why no call may run after the given number in this turn, or None.
            journalled: Is told before each call runs, and of its result.
            told: The announcements to listeners.
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
        self, call: ToolCall, data: CallData, run_call: RunCall, journalled: JournalledCalls, told: Announcements
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
    """Return ``completion`` with call ids that are unique within the session.

    Args:
        completion: What the model answered; its own ids may repeat.
        turn_id: The number of the turn.
        before: How many calls the model has already requested in this turn.
    """
    calls = enumerate(completion.tool_calls, before + 1)
    return replace(completion, tool_calls=tuple(replace(call, id=f"call-{turn_id}-{place}") for place, call in calls))


def calls_data(completion: Completion) -> list[CallData]:
    """Return the calls as they appear in a message; arguments that are not an object are left out."""
    return [
        {"id": call.id, "name": call.name, "args": dict(call.args) if not isinstance(call.args, str) else {}}
        for call in completion.tool_calls
    ]


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
        """The same totals over all turns, to be added to."""
        self._calls = 0
        self.heard = ""
        """The text received so far of an incomplete answer."""

    @property
    def usage(self) -> Mapping[str, int]:
        """Return this turn's input and output tokens, as far as the model reports them, and its request count."""
        return dict(self._usage)

    def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the model's answer; raise ``TimeIsUp`` if the turn has to end before it is complete."""
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
        """Accept an answer that the model gave to this turn before it was cut off, and return it."""
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
        self._deadline.check()  # first: text that arrives after the end of the turn no longer belongs to it
        self.heard += delta
        self._told.tell("text", delta=delta)


def cut_short(stop: Exception | KeyboardInterrupt, heard: str, calls: int, deadline: Deadline) -> Reply | None:
    """Return the reply of a turn that ended before its answer did: the text ``heard`` until then, and why it stopped.

    None for an error before the first word, and for one whose message explains nothing to a user.
    """
    if isinstance(stop, TimeIsUp):
        return Reply(heard, calls, late=True)
    if isinstance(stop, KeyboardInterrupt):
        deadline.interrupt()  # a model that is no longer waited for may still be streaming
        return Reply(heard, calls, interrupted=True)
    if heard and isinstance(getattr(stop, "exit_code", None), int):
        return Reply(heard, calls, broken_off=str(stop))
    return None


def model_of(client: Any) -> Any:
    """Return the argument as a model, None for None; an actor (``turn.Acts``) is returned unchanged."""
    return client if client is None or callable(getattr(client, "act", None)) else as_model(client)
