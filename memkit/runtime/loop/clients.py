"""Let anything that answers stand in for a model: a function, or an object with a method that does."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .bound import read_arguments
from .errors import LoopError, ModelFault
from .interface import Completion, Message, Model, ToolCall, ToolSpec

METHODS = ("complete", "chat", "generate", "invoke")
"""What the method of a client may be called, the first that is there."""
_PROMPTS = {"prompt", "text", "query"}
"""Names of a parameter that takes one text in place of messages."""
NO_JSON = "(objects that JSON cannot hold)"
"""Stands for arguments that a program's own model made of sets, bytes, or lists that hold themselves."""
_ANSWERS = ("text", "content", "tool_calls")
"""Where an answer holds what it says; one without any of them is of another shape."""
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def as_model(client: Any) -> Model:
    """Return ``client`` as a model.

    A function or method may take the messages, or the messages and the tools, or, where its parameter is called
    ``prompt``, one text. It may return a ``Completion``, a text, or a message with ``content`` and ``tool_calls``.
    """
    if isinstance(client, type):
        raise LoopError(f"llm_client is the class {client.__name__}. Hand in an object of it: {client.__name__}(…).")
    for name in METHODS:
        if callable(method := getattr(client, name, None)):
            stream: Any = getattr(client, "stream", None)
            return StreamingFunctionModel(method, stream) if _says(stream) else FunctionModel(method)
    if callable(client):
        return FunctionModel(client)
    raise LoopError(
        f"llm_client is a {type(client).__name__}. Hand in a function, or an object with complete(messages, tools)."
    )


class FunctionModel:
    """A model that is a plain function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._parameters = _parameters(function)

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return what the function answers."""
        by_place = [one for one in self._parameters if one.kind in _BY_PLACE]
        given: Any = messages
        if by_place and by_place[0].name in _PROMPTS:
            given = "\n\n".join(f"{message['role']}: {message.get('content') or ''}" for message in messages)
        named = {one.name for one in self._parameters if one.kind is not inspect.Parameter.POSITIONAL_ONLY}
        more = {"tools": tools} if "tools" in named else {}
        if not by_place and "messages" in named:
            return as_completion(self._function(messages=given, **more))
        wants_second = any(one.default is one.empty for one in by_place[1:])  # an option with a default is no place
        wants_second |= any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in self._parameters)
        return as_completion(self._function(given, *([tools] if wants_second and not more else []), **more))


class StreamingFunctionModel(FunctionModel):
    """A model of two functions: one that answers, and one that says its answer while it makes it."""

    def __init__(self, function: Callable[..., Any], stream: Callable[..., Any]) -> None:
        super().__init__(function)
        self._stream = stream

    def stream(self, messages: Sequence[Message], tools: Sequence[ToolSpec], say: Callable[[str], None]) -> Completion:
        """Return what the function answers after it said it."""
        return as_completion(self._stream(messages, tools, say))


def as_completion(answer: Any) -> Completion:
    """Return a completion, whatever shape the answer has.

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
    """Return a completion whose parts are what they should be: what is wrong in it would fail in a later turn."""
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
    """Return arguments that JSON can hold, as session and model have to; of others only that there were."""
    try:
        json.dumps(dict(args))
    except (TypeError, ValueError, RecursionError):
        return NO_JSON
    return args


def _read(thing: Any, name: str) -> Any:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _says(stream: Any) -> bool:
    """Return whether this is a ``stream(messages, tools, say)``; clients have other methods of that name."""
    return callable(stream) and any(one.name == "say" for one in _parameters(stream))


def _parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    """Return what the function takes; one that cannot be asked is given messages and tools."""
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return (inspect.Parameter("parts", inspect.Parameter.VAR_POSITIONAL),)
