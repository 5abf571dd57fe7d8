"""Synchronises the graph's message list with the main context, which decides what stays in the prompt."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from memkit_runtime.memory.main import MainContext

from agent.messages import answered, from_langchain


class Journal:
    """Knows every message of the graph that the main context has received."""

    def __init__(self, main: MainContext, add: Callable[[Any], None]) -> None:
        self._main = main
        self._add = add
        self._known: dict[str, BaseMessage] = {}

    def restore(self, messages: Sequence[BaseMessage], summary: str) -> None:
        """Restore a checkpointed session into the main context."""
        complete = [self._named(message) for message in answered(list(messages))]
        self._main.restore([from_langchain(message) for message in complete], summary)

    def adopt(self, message: BaseMessage) -> BaseMessage:
        """Give ``message`` an id shared with the newest message of the main context, which is the same."""
        named = self._named(message)
        if self._main.messages:
            self._main.messages[-1]["id"] = named.id
        return named

    def follow(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Send new messages to the main context and return the changes that reduce the graph's list to what is left."""
        for message in messages:
            if message.id not in self._known:
                self._add(from_langchain(self._named(message)))
        kept = [self._known[entry["id"]] for entry in self._main.messages if entry.get("id") in self._known]
        if [message.id for message in kept] == [message.id for message in messages]:
            return []
        return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]

    def _named(self, message: BaseMessage) -> BaseMessage:
        message.id = message.id or str(uuid.uuid4())
        self._known[message.id] = message
        return message
