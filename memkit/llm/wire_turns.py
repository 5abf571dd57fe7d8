"""A conversation in a form that every vendor takes back, whatever a model made up in it or a page-out took away.

Vendors refuse a request over one bad message: a made-up name of a tool with a space in it, a call without its result, a
result without its call, half a character. What a model did wrong once would then end its session for good.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memkit.llm.arriving import whole_characters
from memkit.runtime.loop.interface import JSON, CallData, Message

UNNAMED = "unknown_tool"
"""In the place of a name that no server would take back."""
NO_RESULT = "(The result of this call was not kept.)"
BEGINNING = "(Earlier messages are not shown.)"
"""Opens a conversation of which the first visible words are the model's."""
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")


@dataclass
class Turn:
    """What one side says before the other does: a user's results come first, a model's calls last."""

    role: str
    """user or assistant"""
    results: list[tuple[str, str]] = field(default_factory=list)
    """Id of the call and what became of it."""
    texts: list[str] = field(default_factory=list)
    calls: list[CallData] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return what is said in words."""
        return "\n\n".join(text for text in self.texts if text.strip()).rstrip()


def system_text(messages: Sequence[Message]) -> str:
    """Return what is said in the name of the system; many models take it in one message and in front only."""
    said = [str(one.get("content") or "") for one in messages if one["role"] == "system"]
    return whole_characters("\n\n".join(text for text in said if text.strip()))


def turns_of(messages: Sequence[Message]) -> list[Turn]:
    """Return what user and model said in turn, the user first; every call has its result in the turn after it."""
    reading = _Reading()
    for message in messages:
        reading.add(message)
    reading.answer_all()
    turns = [turn for turn in reading.turns if turn.text or turn.calls or turn.results]
    if turns and turns[0].role == "assistant":
        turns.insert(0, Turn("user", texts=[BEGINNING]))
    return turns


class _Reading:
    """Goes through the messages with the calls that wait for their result."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self._waiting: list[tuple[str, str]] = []
        """Id of a call as the conversation has it, and as it is sent."""
        self._sent: set[str] = set()

    def add(self, message: Message) -> None:
        role, text = message["role"], whole_characters(str(message.get("content") or ""))
        if role == "tool":
            self._result(str(message.get("tool_call_id", "")), text)
        elif role == "assistant":
            self.answer_all()
            turn = self._turn("assistant")
            turn.texts.append(text)
            turn.calls += [self._call(call) for call in message.get("tool_calls", ())]
        elif role != "system":
            self.answer_all()
            self._turn("user").texts.append(text)

    def answer_all(self) -> None:
        """Give the calls that nobody answered a result that says so."""
        for _, sent in self._waiting:
            self._turn("user").results.append((sent, NO_RESULT))
        self._waiting.clear()

    def _turn(self, role: str) -> Turn:
        if not self.turns or self.turns[-1].role != role:
            self.turns.append(Turn(role))
        return self.turns[-1]

    def _result(self, call_id: str, text: str) -> None:
        place = next((at for at, (own, _) in enumerate(self._waiting) if own == call_id), None)
        if place is None:
            self._turn("user").texts.append(text)  # its call was paged out; what it said is still worth reading
        else:
            self._turn("user").results.append((self._waiting.pop(place)[1], text))

    def _call(self, call: CallData) -> CallData:
        own = str(call["id"])
        sent = own if CALL_ID.fullmatch(own) and own not in self._sent else f"c{len(self._sent) + 1}"
        while sent in self._sent:
            sent += "x"
        self._sent.add(sent)
        self._waiting.append((own, sent))
        args = call["args"] if isinstance(call["args"], Mapping) else {}
        return {"id": sent, "name": sendable_name(call["name"]), "args": sendable(args)}


def sendable_name(name: str) -> str:
    """Return ``name`` if it can be a tool's, and otherwise a stand-in.

    >>> sendable_name("note"), sendable_name("rm -rf"), sendable_name("")
    ('note', 'unknown_tool', 'unknown_tool')
    """
    return name if TOOL_NAME.fullmatch(name) else UNNAMED


def sendable(value: JSON) -> Any:
    """Return ``value`` with nothing in it that JSON or UTF-8 cannot hold."""
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, Mapping):
        return {whole_characters(str(key)): sendable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sendable(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float) else str(value)
