"""What the model sees of a conversation: core sections, a summary of paged-out messages, and the newest messages."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Any, TypeAlias

from ..interface import GIVEN_SECTIONS, ContextSettings, ConversationSettings, CoreSettings, MemorySettings
from .budget import SHORTENED, Summarise, counter, extend_summary, fair_share, retold, shortened

Message: TypeAlias = dict[str, Any]
"""``{role, content, tool_calls?, tool_call_id?, name?}``"""

CONTEXT = ContextSettings()
NO_SECTIONS = CoreSettings()
MESSAGE_OVERHEAD = 7
"""Tokens that a request's JSON adds to each message besides its role and text."""
CORE_SHARE = 0.6
"""Share of the budget; core memory beyond it is shown truncated."""
SUMMARY_SHARE = 0.15
LEAST_SHOWN = 28
"""Tokens of a truncated text, including its mark, that are worth showing."""


@dataclass(frozen=True)
class PagedOut:
    """The messages that left the prompt, oldest first.

    >>> main = MainContext(max_tokens=400, count=len)  # a token a letter
    >>> said = ["My dog is called Rex. He is old.", "I like tea. Green tea.", "It rains. It pours.", "It is late."] * 3
    >>> left = [main.append({"role": "user", "content": text}) for text in said]
    >>> gone = next(filter(None, left))
    >>> gone.messages[0]["content"], gone.summary.splitlines()[0]
    ('My dog is called Rex. He is old.', '(older turns: use conversation_search)')
    """

    messages: tuple[Message, ...]
    summary: str
    """The summary after they left."""
    tokens: int = 0
    """The tokens that they took in the prompt."""


class MainContext:
    """Holds core sections and messages, and keeps what the model sees within a token budget.

    >>> main = MainContext(max_tokens=2000)
    >>> main.core["human"] = "Ada, who lives in Bergen."
    >>> _ = main.append({"role": "user", "content": "Hello!"})
    >>> print(main.render_core())
    <human>
    Ada, who lives in Bergen.
    </human>
    >>> len(main.messages), main.used() < main.budget
    (1, True)
    """

    def __init__(
        self,
        max_tokens: int = 2000,
        count: Callable[[str], int] | None = None,
        on_page_out: Callable[[PagedOut], None] | None = None,
        *,
        context: ContextSettings = CONTEXT,
        conversation: ConversationSettings | None = None,
        summarise: Summarise | None = None,
        core: CoreSettings = NO_SECTIONS,
    ) -> None:
        """Begin an empty context.

        Args:
            max_tokens: Budget for core, summary, messages and the reserved part together.
            count: Counts the tokens of a text; the local counter by default.
            on_page_out: Called with what was paged out.
            context: Limits of core sections, and when which messages are paged out; its own budget is ignored.
            conversation: Limits on the number of messages, regardless of their size; without it, as many as fit.
            summarise: Summarises what is paged out; without it, or if it fails, first sentences are used.
            core: The core sections besides persona, human and system.
        """
        self.max_tokens = max_tokens
        self.counter = count or counter()
        """The token counter; a `TokenCounter` states its method."""
        self.count = lru_cache(maxsize=1024)(self.counter)
        # A prompt is counted several times per turn, and most of its messages are unchanged since the previous turn.
        self._tokens_of = lru_cache(maxsize=1024)(
            lambda *texts: MESSAGE_OVERHEAD + sum(self.count(as_sent(text)) for text in texts)
        )
        self.section_limit = context.core_section_limit
        self.compress_at = context.compress_at
        self.keep_recent = context.keep_recent
        self._bounds = conversation
        self.summarise = summarise
        self._declared = core.sections
        self.core: dict[str, str] = dict.fromkeys((*GIVEN_SECTIONS, *core.sections), "")
        self.messages: list[Message] = []
        self.summary = ""
        self.on_page_out = on_page_out
        self.on_append: Callable[[Message], None] | None = None
        """Called with every message as it came, before anything is shortened or paged out."""
        self.reserved = 0
        """Tokens of the budget reserved for the rest of the prompt; see `reserve`."""

    @classmethod
    def configured(
        cls, settings: MemorySettings, max_tokens: int | None = None, summarise: Summarise | None = None
    ) -> "MainContext":
        """Return an empty context with the limits of ``settings``."""
        context, conversation = settings.context, settings.conversation
        budget = max_tokens or context.max_tokens
        return cls(budget, context=context, conversation=conversation, summarise=summarise, core=settings.core)

    def limit_of(self, section: str) -> int:
        """Return the character limit of a core section."""
        return self._declared.get(section, {}).get("limit", self.section_limit)

    @property
    def budget(self) -> int:
        """Return the tokens that core, summary and messages may use together."""
        return max(0, self.max_tokens - self.reserved)

    def reserve(self, tokens: int) -> PagedOut | None:
        """Reserve ``tokens`` of the budget for the rest of the prompt, and return what had to be paged out."""
        self.reserved = max(0, tokens)
        return self.fit()

    def append(self, message: Message) -> PagedOut | None:
        """Add ``message`` and return what was paged out for it, if anything."""
        if self.on_append is not None:
            self.on_append(message)
        self.messages.append(dict(message))
        return self.fit()

    def restore(self, messages: Sequence[Message], summary: str = "") -> PagedOut | None:
        """Restore the messages and summary of an earlier process without announcing them as new."""
        self.messages = [dict(message) for message in messages]
        self.summary = summary
        return self.fit(ask=False)

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
        """Return the tokens of one message, its tool calls and its formatting."""
        if message.get("tool_calls"):
            return MESSAGE_OVERHEAD + sum(map(self.count, message_texts(message)))
        return self._tokens_of(*(str(message.get(key) or "") for key in TEXTS))

    def shortened(self, text: str, tokens: int) -> str:
        """Return ``text``, or as much of its beginning as fits in ``tokens`` together with a visible mark."""
        return shortened(text, tokens, self.count)

    def render_core(self) -> str:
        """Return the core sections as one block for the prompt, visibly shortened where they exceed their share."""
        blocks = [f"<{name}>\n{text}\n</{name}>" for name, text in self.core.items() if text]
        return shortened("\n".join(blocks), int(self.budget * CORE_SHARE), self.count)

    def fit(self, *, ask: bool = True) -> PagedOut | None:
        """Page out what exceeds the budget, for example after a change of core; return what was paged out.

        Unless ``ask`` is False, a model may be asked for the summary.
        """
        before = self.summary
        # Every model would reject a result whose call is gone.
        gone = self._take_oldest(len(list(takewhile(is_result, self.messages))))
        if self._bounds is not None and self._are_too_many(self._bounds):
            gone += self._take_oldest(self._boundary(self._bounds.keep))
        if self.used() > self.compress_at * self.budget:
            gone += self._take_oldest(self._boundary(self.keep_recent))
        while self._running() > 0 and (self.used() > self.budget or self._pass_the_most()):
            gone += self._take_oldest(len(groups(self.messages)[0]))
        if self.used() > self.budget and not self._shorten_running_turn():
            while len(groups(self.messages)) > 1 and self.used() > self.budget:
                gone += self._take_oldest(len(groups(self.messages)[0]))
            if self.used() > self.budget:
                gone += self._shorten_last_group()
        if not gone:
            return None
        if ask and self.summarise is not None:
            self.summary = retold(self.summarise, gone, before, self.summary, self._room_for_summary(), self.count)
        paged = PagedOut(tuple(gone), self.summary, sum(map(self.message_tokens, gone)))
        if self.on_page_out is not None:
            self.on_page_out(paged)
        return paged

    def _are_too_many(self, bounds: ConversationSettings) -> bool:
        """Return whether there are too many messages; summaries wait for the user to speak, the hard limit does not."""
        spoken = bool(self.messages) and self.messages[-1].get("role") == "user"
        return (spoken and len(self.messages) > bounds.summarize_at) or self._pass_the_most()

    def _pass_the_most(self) -> bool:
        return self._bounds is not None and len(self.messages) > self._bounds.max_messages

    def _running(self) -> int:
        """Return the start of the unanswered turn, or else of the newest exchange."""
        parts = groups(self.messages)
        newest = self.messages[-1] if parts else {}
        is_answered = newest.get("role") == "assistant" and not newest.get("tool_calls")
        spoken = [place for place, message in enumerate(self.messages) if is_spoken(message)]
        return spoken[-1] if spoken and not is_answered else len(self.messages) - sum(map(len, parts[-1:]))

    def _shorten_running_turn(self) -> bool:
        """Shorten long texts in the turn if each stays meaningful; return whether it fits afterwards."""
        room = self.budget - self.count(self.render_core()) - self.count(self.summary)
        messages = fitted(self.messages, room, self)
        cut = [one for one, old in zip(messages, self.messages, strict=True) if one["content"] != old.get("content")]
        says_little = any(self.count(str(one["content"])) < LEAST_SHOWN for one in cut)
        if says_little or sum(map(self.message_tokens, messages)) > room:
            return False
        self.messages = messages
        return True

    def _room_for_summary(self) -> int:
        others = self.used() - self.count(self.summary)
        return max(0, min(int(self.budget * SUMMARY_SHARE), self.budget - others))

    def _boundary(self, keep: int) -> int:
        """Return how many of the oldest messages can go while the newest ``keep`` stay and no group is split."""
        boundary, most = 0, min(self._running(), len(self.messages) - keep)
        for group in groups(self.messages)[:-1]:
            if boundary + len(group) > most:
                break
            boundary += len(group)
        return boundary

    def _take_oldest(self, how_many: int) -> list[Message]:
        gone, self.messages = self.messages[:how_many], self.messages[how_many:]
        if gone:
            self.summary = extend_summary(self.summary, gone, int(self.budget * SUMMARY_SHARE), self.count)
        return gone

    def _shorten_last_group(self) -> list[Message]:
        """Shorten the texts of messages that must stay together; return the messages if even that does not suffice."""
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


def is_spoken(message: Mapping[str, Any]) -> bool:
    """Return whether ``message`` opens a turn: a user's words, or a program's in their place, but not data."""
    return message.get("role") == "user" and message.get("name") != "memory"


TEXTS = ("role", "content", "name", "tool_call_id")
"""Keys of a message whose values a request carries unchanged."""


def message_texts(message: Mapping[str, Any]) -> list[str]:
    """Return every text of ``message`` as a request carries it."""
    texts = [as_sent(str(message.get(key) or "")) for key in TEXTS]
    return texts + [call_text(call) for call in message.get("tool_calls") or ()]


def as_sent(text: str) -> str:
    """Return ``text`` as it appears in a request's JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def call_text(call: Mapping[str, Any]) -> str:
    """Return a tool call as a request carries it: its arguments are JSON in a string."""
    arguments = json.dumps(call.get("args"), ensure_ascii=False, default=str)
    function = {"name": call.get("name"), "arguments": arguments}
    sent = {"id": call.get("id"), "type": "function", "function": function}
    return json.dumps(sent, ensure_ascii=False, separators=(",", ":"))


def groups(messages: Sequence[Message]) -> list[list[Message]]:
    """Return ``messages`` in groups that must stay together: tool calls with their results."""
    found: list[list[Message]] = []
    for message in messages:
        if is_result(message) and found:
            found[-1].append(message)
        else:
            found.append([message])
    return found


def fitted(messages: Sequence[Message], tokens: int, context: MainContext) -> list[Message]:
    """Return ``messages`` with their longest texts shortened so that together they fit in ``tokens``, if possible."""
    bare = [{**message, "content": ""} for message in messages]
    if sum(map(context.message_tokens, bare)) > tokens:
        messages = [_without_arguments(message) for message in messages]
        bare = [{**message, "content": ""} for message in messages]
    room = tokens - sum(map(context.message_tokens, bare))
    texts = [str(message.get("content") or "") for message in messages]

    def count(text: str) -> int:
        return context.count(as_sent(text))

    share = fair_share(list(map(count, texts)), room)
    return [
        {**message, "content": shortened(text, share, count)} for message, text in zip(messages, texts, strict=True)
    ]


def _without_arguments(message: Message) -> Message:
    if not message.get("tool_calls"):
        return message
    return {**message, "tool_calls": [{**call, "args": {"note": SHORTENED}} for call in message["tool_calls"]]}
