"""Let anything that answers stand in for a model: an object with ``complete``, or a plain function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .errors import LoopError, ModelFault
from .interface import Completion, Message, Model, ToolCall, ToolSpec


def as_model(client: Any) -> Model:
    """Return ``client`` as a model.

    A function may take the messages, or the messages and the tools; it may return a ``Completion``, a text, or a
    mapping with ``text`` and ``tool_calls``.
    """
    if callable(getattr(client, "complete", None)):
        return client  # type: ignore[no-any-return]
    if callable(client):
        return FunctionModel(client)
    raise LoopError(
        f"llm_client is a {type(client).__name__}. Hand in an object with complete(messages, tools), or a function."
    )


class FunctionModel:
    """A model that is a plain function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._takes_tools = _positional(function) >= 2

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return what the function answers."""
        answer = self._function(messages, tools) if self._takes_tools else self._function(messages)
        return as_completion(answer)


def as_completion(answer: Any) -> Completion:
    """Return a completion, whatever shape the answer has.

    >>> as_completion({"text": "", "tool_calls": [{"name": "ls", "args": {}}]}).tool_calls[0].name
    'ls'
    """
    if isinstance(answer, Completion):
        return answer
    if answer is None or isinstance(answer, str):
        return Completion(answer or "")
    if isinstance(answer, Mapping):
        calls = [_as_call(call, number) for number, call in enumerate(answer.get("tool_calls") or (), 1)]
        return Completion(str(answer.get("text") or answer.get("content") or ""), tuple(calls))
    raise ModelFault(f"The model answered with a {type(answer).__name__}. It must return text or a Completion.")


def _as_call(call: Any, number: int) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    if not isinstance(call, Mapping) or not isinstance(call.get("name"), str):
        raise ModelFault(f"The model sent a tool call without a name: {call!r}.")
    return ToolCall(str(call.get("id") or f"call-{number}"), call["name"], call.get("args") or {})


def _positional(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 2
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return 2
    return sum(parameter.kind in kinds for parameter in parameters)
