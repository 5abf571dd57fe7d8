"""The form of a message in a checkpoint: its text without keys, passwords and personal numbers."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from memkit_runtime.memory.gate.secrets import masked_tree


class MaskingSerializer(JsonPlusSerializer):
    """Writes checkpoints like LangGraph, with every message masked first; the running graph keeps the originals."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return the masked object in LangGraph's format."""
        return super().dumps_typed(without_secrets(obj))


def without_secrets(value: Any) -> Any:
    """Return ``value`` with every message in it masked; everything else is unchanged."""
    if isinstance(value, BaseMessage):
        return _masked_message(value)
    if isinstance(value, dict):
        return {key: without_secrets(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(without_secrets(item) for item in value)
    return value


def _masked_message(message: BaseMessage) -> BaseMessage:
    changes: dict[str, Any] = {"content": masked_tree(message.content)}
    if isinstance(message, AIMessage):
        changes["tool_calls"] = [{**call, "args": masked_tree(call["args"])} for call in message.tool_calls]
        changes["invalid_tool_calls"] = [
            {**call, "args": masked_tree(call["args"])} for call in message.invalid_tool_calls
        ]
    return message.model_copy(update=changes)
