"""Conversation memory: the messages of a session, the summary of older ones, and a search over both."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from .errors import LoopError
from .interface import Message
from .texts import words
from .virtual_context import EXCERPT, Found

Summarise = Callable[[Sequence[Message]], str]


def first_lines(messages: Sequence[Message]) -> str:
    """Return one line per message with its beginning: a summary that needs no model."""
    return "\n".join(f"{message['role']}: {' '.join(message['content'].split())[:120]}" for message in messages)


class ConversationMemory:
    """Keeps at most ``max_messages``; past ``summarize_at`` all but the newest ``keep`` go into the summary."""

    def __init__(
        self, max_messages: int = 50, summarize_at: int = 30, keep: int = 10, summarise: Summarise = first_lines
    ) -> None:
        self.messages: list[Message] = []
        self.older: list[Message] = []
        """Messages that only the summary stands for; they are still searched."""
        self.summary = ""
        self._max_messages = max_messages
        self._summarize_at = min(summarize_at, max_messages)
        self._keep = min(keep, self._summarize_at)
        self._summarise = summarise

    def add(self, role: str, content: str) -> None:
        """Add a message, and compress when there are too many."""
        self.messages.append({"role": role, "content": content})
        self._compress()

    def _compress(self) -> None:
        if len(self.messages) <= self._summarize_at:
            return
        place = len(self.messages) - self._keep
        old, self.messages = self.messages[:place], self.messages[place:]
        self.older = [*self.older, *old][-self._max_messages * 20 :]
        self.summary = "\n".join(f"{self.summary}\n{self._summarise(old)}".strip().splitlines()[-self._max_messages :])

    def get_last_n(self, n: int) -> list[Message]:
        """Return the newest ``n`` messages, oldest first."""
        return self.messages[-n:] if n > 0 else []

    def get_messages_for_llm(self) -> list[Message]:
        """Return what a model should see: the summary, if there is one, and the messages."""
        if not self.summary:
            return list(self.messages)
        opening: Message = {"role": "system", "content": f"Summary of the conversation so far:\n{self.summary}"}
        return [opening, *self.messages]

    def search(self, text: str, limit: int = 5, *, top_k: int | None = None) -> list[Found]:
        """Return the messages that share words with ``text``, best first, summarised ones included."""
        limit = limit if top_k is None else top_k
        wanted = words(text)
        everything = [*self.older, *self.messages]
        scored = [
            Found("messages", message["content"][:EXCERPT], len(wanted & words(message["content"])))
            for message in everything
        ]
        return sorted((found for found in scored if found.score > 0), key=lambda found: -found.score)[:limit]

    def export(self) -> dict[str, Any]:
        """Return everything as JSON types."""
        return {"messages": list(self.messages), "older": list(self.older), "summary": self.summary}

    def import_from(self, data: dict[str, Any] | str) -> None:
        """Take over what ``export`` returned, also as JSON text, within this conversation's own bounds."""
        try:
            given = json.loads(data) if isinstance(data, str) else data
        except ValueError as error:
            raise LoopError(f"This is no exported conversation: it is no JSON ({error}).") from error
        if not isinstance(given, dict) or "messages" not in given:
            raise LoopError("This is no exported conversation: it has no list 'messages'.")
        messages, older = _messages(given, "messages"), _messages(given, "older")
        self.messages, self.older, self.summary = messages, older, str(given.get("summary") or "")
        self._compress()


def _messages(given: dict[str, Any], key: str) -> list[Message]:
    """Return the messages under ``key`` of an export, or raise LoopError where that is no list of messages."""
    found = given.get(key) or []
    if not isinstance(found, list) or not all(map(_is_message, found)):
        raise LoopError(f"This is no exported conversation: {key!r} must be a list of messages with role and content.")
    return list(found)


def _is_message(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("role"), str) and isinstance(one.get("content"), str)
