"""Conversion between LangChain's messages and those of the rooms."""

from __future__ import annotations

import uuid
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from memkit_runtime.host.wires import STOPPED, sendable_name, sendable_text
from memkit_runtime.loop.interface import CallData, Message

_CALLS = ("tool_calls", "invalid_tool_calls")


def from_langchain(message: BaseMessage) -> dict[str, Any]:
    """Return ``message`` in the rooms' format, with the id that links it to the graph's state."""
    if isinstance(message, AIMessage):
        calls = calls_of(message)
        said = {"role": "assistant", "content": message.text, "id": message.id}
        return {**said, "tool_calls": calls} if calls else said
    if isinstance(message, ToolMessage):
        answer = {"role": "tool", "content": message.text, "tool_call_id": message.tool_call_id, "id": message.id}
        return {**answer, "name": message.name or ""}
    return {"role": "user", "content": message.text, "id": message.id}


def to_langchain(message: Message) -> BaseMessage:
    """Return ``message`` of the rooms in LangChain's format."""
    role, content = message["role"], message.get("content") or ""
    if role == "assistant":
        calls: list[Any] = [{**call, "name": sendable_name(call["name"])} for call in message.get("tool_calls") or ()]
        return AIMessage(content, tool_calls=calls)
    if role == "tool":
        return ToolMessage(content, tool_call_id=message["tool_call_id"], name=message.get("name"))
    return HumanMessage(content, name=message.get("name"))


def calls_of(message: AIMessage) -> list[CallData]:
    """Return every tool call of ``message``; one with invalid JSON appears without arguments."""
    whole = [CallData(id=str(call["id"]), name=call["name"], args=call["args"]) for call in message.tool_calls]
    broken = [CallData(id=str(call["id"]), name=call["name"] or "", args={}) for call in message.invalid_tool_calls]
    return [*whole, *broken]


def sendable(message: BaseMessage) -> BaseMessage:
    """Return an answer in a form that can be sent back: valid text, and a unique id for every tool call.

    Some servers restart their call ids in every answer, or send none.
    """
    if not isinstance(message, AIMessage):
        return message
    changes: dict[str, Any] = {
        kind: [{**call, "id": f"call_{uuid.uuid4().hex}"} for call in getattr(message, kind)] for kind in _CALLS
    }
    return message.model_copy(update={**changes, "content": sendable_text(message.text)})


def answered(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Return ``messages`` with an answer to every tool call; a killed run leaves calls without one."""
    known = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    complete: list[BaseMessage] = []
    for message in messages:
        complete.append(message)
        if isinstance(message, AIMessage):
            open_calls = [call for call in calls_of(message) if call["id"] not in known]
            complete += [ToolMessage(STOPPED, tool_call_id=call["id"], name=call["name"]) for call in open_calls]
    return complete
