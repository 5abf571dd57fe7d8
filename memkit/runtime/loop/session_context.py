"""A main context for a loop that was handed none: it lives as long as the session."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .interface import Message, TokenCounter
from .taint import left_open

SUMMARY_LINE = 120
"""Characters that a paged-out turn leaves in the summary."""
SUMMARY_LINES = 12
SUMMARY_SHARE, CORE_SHARE = 0.15, 0.6
"""Of the budget."""
MESSAGE_OVERHEAD = 4
"""Tokens that a chat format spends on each message besides its text."""
SHORTENED = "[… shortened …]"


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
        self.count = count
        self.reserved = 0
        """Tokens of the budget that belong to something else in the prompt."""
        self.on_page_out: Callable[[Any], None] | None = None
        self._keep_recent = keep_recent

    @property
    def budget(self) -> int:
        """Return the tokens that core, summary and messages may use together."""
        return max(0, self.max_tokens - self.reserved)

    def reserve(self, tokens: int) -> list[Message]:
        """Leave so many tokens of the budget to what else is in the prompt, and return what had to go out for it."""
        self.reserved = max(0, tokens)
        return self._fit()

    def append(self, message: Message) -> list[Message]:
        """Add a message and return those that were paged out, oldest first."""
        self.messages.append(message)
        return self._fit()

    def restore(self, messages: Sequence[Message], summary: str = "") -> list[Message]:
        """Put back the conversation of an earlier process, and return what had to go out for lack of room."""
        self.messages, self.summary = list(messages), summary
        return self._fit()

    def _fit(self) -> list[Message]:
        evicted: list[Message] = []
        while self.used() > self.budget and self.messages:
            if len(self.messages) <= self._keep_recent and self._shorten():
                break
            evicted += self._pop_group()
            self._summarise(evicted)
        while self.messages and self.messages[0].get("role") == "tool":
            evicted.append(self.messages.pop(0))  # a result whose call is gone would be an error to every model
        while self.used() > self.budget and self.summary:
            self.summary = self.summary.partition("\n")[2]
        if evicted and self.on_page_out is not None:
            self.on_page_out(evicted)
        return evicted

    def _shorten(self) -> bool:
        """Shorten what is long among the newest messages; return whether they fit then."""
        others = self.used() - sum(self.count(str(message.get("content") or "")) for message in self.messages)
        share = (self.budget - others) // len(self.messages)
        if share <= self.count(SHORTENED):
            return False
        self.messages = [
            {**message, "content": self.shortened(str(message.get("content") or ""), share)}
            for message in self.messages
        ]
        return self.used() <= self.budget

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
            "core": self.count(self.render_core()),
            "messages": sum(map(self.message_tokens, self.messages)),
            "summary": self.count(self.summary),
        }

    def message_tokens(self, message: Message) -> int:
        """Return the tokens of one message, its tool calls and the format around it."""
        texts = [str(message.get(key) or "") for key in ("role", "content", "name", "tool_call_id")]
        texts += [json.dumps(call, ensure_ascii=False, default=str) for call in message.get("tool_calls") or ()]
        return MESSAGE_OVERHEAD + sum(self.count(text) for text in texts if text)

    def shortened(self, text: str, tokens: int) -> str:
        """Return ``text``, or as much of its beginning as fits in ``tokens`` together with a visible mark."""
        if self.count(text) <= tokens:
            return text
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            fits = self.count(_cut(text, middle)) <= tokens
            low, high = (middle, high) if fits else (low, middle - 1)
        whole = _cut(text, low)
        return whole if self.count(whole) <= tokens else ""

    def render_core(self) -> str:
        """Return the core sections as they stand in the prompt, shortened visibly where they exceed their share."""
        whole = "\n".join(f"[{name}]\n{text}" for name, text in self.core.items() if text)
        return self.shortened(whole, int(self.budget * CORE_SHARE))


def _cut(text: str, place: int) -> str:
    return text[:place] + SHORTENED + left_open(text[:place])
