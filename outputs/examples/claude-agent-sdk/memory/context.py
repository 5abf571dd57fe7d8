"""What the model sees of a conversation: core sections, a summary of what went out, and the newest messages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Any, TypeAlias

from .summary import extend_summary
from .tokens import counter

Message: TypeAlias = dict[str, Any]
"""``{role, content, tool_calls?, tool_call_id?, name?}``"""

SECTIONS = ("persona", "human", "system")
MESSAGE_OVERHEAD = 4
"""Tokens that a chat format spends on each message besides its text."""
SHORTENED = "[… shortened, the whole turn is in recall: conversation_search …]"
CORE_SHARE = 0.6
"""Of the budget; core beyond it is shown shortened."""
SUMMARY_SHARE = 0.15
CHARACTERS_A_TOKEN = 40
"""No text worth showing has more; bounds the search for where to cut."""


@dataclass(frozen=True)
class PagedOut:
    """The messages that left the prompt, oldest first."""

    messages: tuple[Message, ...]
    summary: str
    """The summary as it stands after them."""


class MainContext:
    """Holds core sections and messages, and keeps what the model sees within a token budget."""

    def __init__(
        self,
        max_tokens: int = 2000,
        count: Callable[[str], int] | None = None,
        section_limit: int = 2000,
        compress_at: float = 0.8,
        keep_recent: int = 5,
        on_page_out: Callable[[PagedOut], None] | None = None,
    ) -> None:
        self.max_tokens = max_tokens
        self.counter = count or counter()
        """How tokens are counted; a `TokenCounter` says by which rule."""
        self.count = lru_cache(maxsize=1024)(self.counter)
        self.section_limit = section_limit
        self.compress_at = compress_at
        self.keep_recent = keep_recent
        self.core: dict[str, str] = dict.fromkeys(SECTIONS, "")
        self.messages: list[Message] = []
        self.summary = ""
        self.on_page_out = on_page_out
        self.on_append: Callable[[Message], None] | None = None
        """Told of every message as it came, before anything is shortened or paged out."""
        self.reserved = 0
        """Tokens of the budget that belong to something else in the prompt; see `reserve`."""

    @property
    def budget(self) -> int:
        """Return the tokens that core, summary and messages may use together."""
        return max(0, self.max_tokens - self.reserved)

    def reserve(self, tokens: int) -> PagedOut | None:
        """Leave ``tokens`` of the budget to what else is in the prompt, and return what had to go out for it."""
        self.reserved = max(0, tokens)
        return self.fit()

    def append(self, message: Message) -> PagedOut | None:
        """Add ``message`` and return what was paged out for it, if anything was."""
        if self.on_append is not None:
            self.on_append(message)
        self.messages.append(dict(message))
        return self.fit()

    def restore(self, messages: Sequence[Message], summary: str = "") -> PagedOut | None:
        """Put back the messages and summary of an earlier process without telling anybody that they are new."""
        self.messages = [dict(message) for message in messages]
        self.summary = summary
        return self.fit()

    def usage(self) -> dict[str, int]:
        """Return the tokens that each tier uses."""
        return {
            "core": self.count(self.render_core()),
            "summary": self.count(self.summary),
            "messages": sum(self.message_tokens(message) for message in self.messages),
        }

    def used(self) -> int:
        """Return the tokens that core, summary and messages use together."""
        return sum(self.usage().values())

    def message_tokens(self, message: Mapping[str, Any]) -> int:
        """Return the tokens of one message, its tool calls and the format around it."""
        return MESSAGE_OVERHEAD + sum(self.count(text) for text in message_texts(message))

    def render_core(self) -> str:
        """Return the core sections as one block for the prompt, shortened visibly where they exceed their share."""
        blocks = [f"<{name}>\n{text}\n</{name}>" for name, text in self.core.items() if text]
        return shortened("\n".join(blocks), int(self.budget * CORE_SHARE), self.count)

    def fit(self) -> PagedOut | None:
        """Bring what is used within the budget, after core was changed for instance; return what went out."""
        # A result whose call is gone would be an error to every model.
        gone = self._take_oldest(len(list(takewhile(is_result, self.messages))))
        if self.used() > self.compress_at * self.budget:
            gone += self._take_oldest(self._boundary())
        while self.used() > self.budget and len(groups(self.messages)) > 1:
            gone += self._take_oldest(len(groups(self.messages)[0]))
        if self.used() > self.budget:
            gone += self._shorten_last_group()
        if not gone:
            return None
        paged = PagedOut(tuple(gone), self.summary)
        if self.on_page_out is not None:
            self.on_page_out(paged)
        return paged

    def _boundary(self) -> int:
        """Return how many of the oldest messages may go while the newest stay and no group is split."""
        boundary = 0
        for group in groups(self.messages)[:-1]:
            if boundary + len(group) > len(self.messages) - self.keep_recent:
                break
            boundary += len(group)
        return boundary

    def _take_oldest(self, how_many: int) -> list[Message]:
        gone, self.messages = self.messages[:how_many], self.messages[how_many:]
        if gone:
            self.summary = extend_summary(self.summary, gone, int(self.budget * SUMMARY_SHARE), self.count)
        return gone

    def _shorten_last_group(self) -> list[Message]:
        """Shorten the texts of the messages that have to stay together; return them if even that does not help."""
        room = self.budget - self.usage()["core"] - self.usage()["summary"]
        self.messages = fitted(self.messages, room, self)
        if self.used() <= self.budget:
            return []
        gone = self._take_oldest(len(self.messages))
        while self.used() > self.budget:
            self.summary = self.summary.partition("\n")[2]
        return gone


def is_result(message: Mapping[str, Any]) -> bool:
    """Return whether ``message`` answers a tool call."""
    return message.get("role") == "tool"


def message_texts(message: Mapping[str, Any]) -> list[str]:
    """Return every text of ``message`` that reaches the model."""
    texts = [str(message.get("role", "")), str(message.get("content") or "")]
    return texts + [f"{call.get('name', '')} {call.get('args', '')}" for call in message.get("tool_calls") or ()]


def groups(messages: Sequence[Message]) -> list[list[Message]]:
    """Return ``messages`` in parts that must stay together: tool calls with their results."""
    found: list[list[Message]] = []
    for message in messages:
        if is_result(message) and found:
            found[-1].append(message)
        else:
            found.append([message])
    return found


def fitted(messages: Sequence[Message], tokens: int, context: MainContext) -> list[Message]:
    """Return ``messages`` with their longest texts shortened so that together they fit in ``tokens``, if they can."""
    bare = [{**message, "content": ""} for message in messages]
    if sum(map(context.message_tokens, bare)) > tokens:
        messages = [_without_arguments(message) for message in messages]
        bare = [{**message, "content": ""} for message in messages]
    room = tokens - sum(map(context.message_tokens, bare))
    texts = [str(message.get("content") or "") for message in messages]
    share = fair_share([context.count(text) for text in texts], room)
    return [
        {**message, "content": shortened(text, share, context.count)}
        for message, text in zip(messages, texts, strict=True)
    ]


def _without_arguments(message: Message) -> Message:
    if not message.get("tool_calls"):
        return message
    return {**message, "tool_calls": [{**call, "args": {"note": SHORTENED}} for call in message["tool_calls"]]}


def fair_share(sizes: Sequence[int], room: int) -> int:
    """Return the largest size to which all of ``sizes`` can be cut so that they fit in ``room``."""
    left = max(0, room)
    for place, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - place)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)


def shortened(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """Return ``text``, or as much of its beginning as fits in ``tokens`` together with a visible mark."""
    if count(text) <= tokens:
        return text
    low, high = 0, min(len(text), CHARACTERS_A_TOKEN * max(0, tokens))
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle] + SHORTENED) <= tokens:
            low = middle
        else:
            high = middle - 1
    whole = text[:low] + SHORTENED
    return whole if count(whole) <= tokens else ""
