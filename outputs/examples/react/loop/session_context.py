"""A main context for a loop that was handed none: it lives as long as the session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .interface import Message, TokenCounter

SUMMARY_LINE = 120
"""Characters that a paged-out turn leaves in the summary."""
SUMMARY_LINES = 12


def estimate_tokens(text: str) -> int:
    """Return a number of tokens that is rather too high than too low: a token for every three bytes."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 3)


class SessionContext:
    """Core sections and a first-in, first-out queue of messages under a token budget."""

    def __init__(self, max_tokens: int = 2000, count: TokenCounter = estimate_tokens, keep_recent: int = 5) -> None:
        self.max_tokens = max_tokens
        self.core: dict[str, str] = {}
        self.messages: list[Message] = []
        self.summary = ""
        self._count = count
        self._keep_recent = keep_recent

    def append(self, message: Message) -> list[Message]:
        """Add a message and return those that were paged out, oldest first."""
        self.messages.append(message)
        evicted: list[Message] = []
        while self.used() > self.max_tokens and len(self.messages) > self._keep_recent:
            evicted += self._pop_group()
            self._summarise(evicted)
        while self.messages and self.messages[0].get("role") == "tool":
            evicted.append(self.messages.pop(0))  # a result whose call is gone would be an error to every model
        return evicted

    def _pop_group(self) -> list[Message]:
        """Take out the oldest message; calls and their results leave together."""
        group = [self.messages.pop(0)]
        while self.messages and self.messages[0].get("role") == "tool":
            group.append(self.messages.pop(0))
        return group

    def _summarise(self, evicted: list[Message]) -> None:
        lines = self.summary.splitlines()
        last = evicted[-1]
        if last.get("content") and last.get("role") in {"user", "assistant"}:
            lines.append(f"{last['role']}: {' '.join(last['content'].split())[:SUMMARY_LINE]}")
        self.summary = "\n".join(lines[-SUMMARY_LINES:])

    def used(self) -> int:
        """Return the tokens in use."""
        return sum(self.usage().values())

    def usage(self) -> Mapping[str, int]:
        """Return the tokens in use per tier."""
        return {
            "core": self._count(self.render_core()),
            "messages": sum(map(self.message_tokens, self.messages)),
            "summary": self._count(self.summary),
        }

    def message_tokens(self, message: Message) -> int:
        """Return the tokens of one message and its tool calls."""
        return self._count(str(message.get("content", "")) + _calls_text(message))

    def render_core(self) -> str:
        """Return the core sections as they stand in the prompt."""
        return "\n".join(f"[{name}]\n{text}" for name, text in self.core.items() if text)


def _calls_text(message: Any) -> str:
    return str(message["tool_calls"]) if message.get("tool_calls") else ""
