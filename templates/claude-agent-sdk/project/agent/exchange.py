"""Assembles the output of the command line into the rooms' messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from claude_agent_sdk import AssistantMessage, ResultMessage, TextBlock, ToolResultBlock, ToolUseBlock, UserMessage

SYNTHETIC = "<synthetic>"
"""The model to which the command line attributes its own messages, mainly errors."""
UNPARSED = "__unparsedToolInput"
"""The key under which it passes on arguments that are not JSON."""
SIGHT = 2.0
"""Seconds to find the call that a hook is asked about in the stream, which announced it earlier."""


@dataclass
class Call:
    """One call of the model, with its result."""

    id: str
    name: str
    """As written by the model."""
    given: Any
    """The arguments: a mapping, or what the model sent instead."""
    result: str | None = None
    """What the command line told the model."""
    refusal: str | None = None
    """Why the hook stopped it."""
    passed: bool = False
    """Whether the hook let it run."""
    ran: bool = False


@dataclass
class Answer:
    """One answer of the model, which arrives in several messages."""

    id: str | None
    texts: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return the text of the answer."""
        return "".join(self.texts)


class Exchange:
    """Follows a run; passes on each answer with calls as soon as all of them have results."""

    def __init__(self, hand_on: Callable[[Answer], None]) -> None:
        self.result: ResultMessage | None = None
        """How the run ended."""
        self._hand_on = hand_on
        self._answer = Answer(None)

    @property
    def said(self) -> str:
        """Return the text of an answer without calls, which ends a run."""
        return "" if self._answer.calls else self._answer.text

    async def seen(self, call_id: str | None, name: str, given: Any) -> Call:
        """Return the call that a hook is asked about, with the arguments as the model sent them.

        The hook always receives an object; the stream, which is read in parallel, has the original.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + SIGHT
        while (call := self.call(call_id)) is None and clock() < deadline:
            await asyncio.sleep(0.005)
        return call or self._noted(Call(str(call_id), name, given))

    def call(self, call_id: str | None) -> Call | None:
        """Return a call of the arriving answer, None if it is not there yet."""
        return next((call for call in self._answer.calls if call.id == call_id), None)

    def take(self, message: object) -> None:
        """Process the next message of the command line."""
        if isinstance(message, AssistantMessage) and message.model != SYNTHETIC:
            self._take_answer(message)
        elif isinstance(message, UserMessage):
            self._take_results(message)
        elif isinstance(message, ResultMessage):
            self.result = message

    def _take_answer(self, message: AssistantMessage) -> None:
        if None not in (message.message_id, self._answer.id) and message.message_id != self._answer.id:
            self._answer = Answer(None)
        self._answer.id = message.message_id or self._answer.id
        for block in message.content:
            if isinstance(block, TextBlock):
                self._answer.texts.append(block.text)
            elif isinstance(block, ToolUseBlock) and self.call(block.id) is None:
                self._noted(Call(block.id, block.name, as_sent(block.input)))

    def _noted(self, call: Call) -> Call:
        self._answer.calls.append(call)
        return call

    def _take_results(self, message: UserMessage) -> None:
        for call_id, text in _results(message):
            call = self.call(call_id)
            if call is not None:
                call.result = text
        calls = self._answer.calls
        if calls and all(call.result is not None for call in calls):
            done, self._answer = self._answer, Answer(None)
            self._hand_on(done)


def as_sent(given: Any) -> Any:
    """Return arguments as the model sent them, unwrapping what the command line wrapped because it is not JSON."""
    wrapped = given.get(UNPARSED) if isinstance(given, dict) else None
    return wrapped.get("raw", "") if isinstance(wrapped, dict) else given


def _results(message: UserMessage) -> Iterator[tuple[str, str]]:
    for block in message.content if isinstance(message.content, list) else ():
        if isinstance(block, ToolResultBlock):
            yield block.tool_use_id, text_of(block.content)


def text_of(content: Any) -> str:
    """Return the text of a tool's result, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))
