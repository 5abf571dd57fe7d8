"""Messages to and from a vendor's model, in a form that every vendor accepts, the same streamed or whole."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memkit.runtime.host.wires import CUT_OFF, UNENDED, WITHHELD
from memkit.runtime.loop.bound import read_arguments
from memkit.runtime.loop.interface import JSON, CallData, Completion, Message, ToolCall

# An answer assembled from the parts in which it arrives, the same whether it was streamed or came whole.

LONGEST = 200_000
"""The most characters of one answer's text; nobody reads more, and a runaway model would not stop."""
MOST_CALLS = 64
"""The most tool calls of one answer."""
LONGEST_ARGUMENTS = 1_000_000
"""The most characters of all arguments of one answer."""
LONGEST_NAME = 200

NOTES = {
    "length": CUT_OFF,
    "filtered": WITHHELD,
    "refused": "(The model refused to answer.)",
    "": UNENDED,
}
"""Appended to an incomplete answer, by the reason that it stopped; any other reason means a complete one."""
TOO_LONG = f"(The answer was cut off after {LONGEST:,} characters.)"
TOO_MANY = f"(Only the first {MOST_CALLS} tool calls of the answer were read.)"


@dataclass(frozen=True)
class CallPart:
    """A part of a tool call: everything in it may be missing or come in several parts."""

    index: int | None = None
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True)
class Delta:
    """What one event of a stream adds to the answer; an empty one shows that the model is at work."""

    text: str = ""
    calls: tuple[CallPart, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    """Counts so far: input, output and, if the server reports it, cached."""
    stop: str = ""
    """Why the model stopped: ``done``, or a key of ``NOTES``."""


@dataclass
class GrowingCall:
    """One tool call while it arrives."""

    index: int | None
    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def takes(self, part: CallPart) -> bool:
        """Return whether ``part`` continues this call; some servers give every call the same index, or none."""
        if part.index != self.index or (part.id and self.id and part.id != self.id):
            return False
        return bool(part.id) or part.index is not None or not (part.name and self.arguments)

    def add(self, part: CallPart) -> None:
        """Add a part; a name repeated in each part is one name."""
        self.id = self.id or part.id
        if part.name != self.name:
            self.name += part.name
        if part.arguments:
            self.arguments.append(part.arguments)

    def whole(self, number: int) -> ToolCall:
        """Return the call; arguments that are not a JSON object stay text, for the tools to refuse."""
        text = "".join(self.arguments)
        given = read_arguments(text)
        name = whole_characters(self.name)[:LONGEST_NAME]
        return ToolCall(self.id or f"call-{number}", name, whole_characters(text) if given is None else given)


class Arriving:
    """Collects the parts of one answer and passes its text on as early as possible."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said: list[str] = []
        self._length = 0
        self._half = ""
        """The first half of a surrogate pair, which waits for the second."""
        self._calls: list[GrowingCall] = []
        self._arguments = 0
        self._stop = ""
        self._notes: list[str] = []
        self.usage: dict[str, int] = {}
        self.full = False
        """Whether no further part is accepted."""
        self.empty = True
        """Whether nothing arrived at all."""

    @property
    def said(self) -> str:
        """Return the text passed on so far."""
        return "".join(self._said)

    @property
    def written(self) -> str:
        """Return everything that the model wrote, for an estimate of its tokens."""
        return self.said + "".join(call.name + "".join(call.arguments) for call in self._calls)

    def add(self, delta: Delta) -> None:
        """Add one part."""
        self.empty = False
        self.usage.update(delta.usage)
        self._stop = delta.stop or self._stop
        for part in delta.calls:
            self._take(part)
        if delta.text:
            self._tell(delta.text)

    def completion(self, usage: Mapping[str, int]) -> Completion:
        """Return the answer, with a note at its end about anything missing."""
        if self._half:
            self._tell("", last=True)
        note = NOTES.get(self._stop) if not self.full else None
        if note and not self._calls and (self._stop != "refused" or not self.said.strip()):
            self._notes.append(note)
        for text in self._notes:
            self._speak(f"\n{text}" if self.said else text)
        return Completion(self.said, tuple(call.whole(at) for at, call in enumerate(self._calls, 1)), dict(usage))

    def _take(self, part: CallPart) -> None:
        call = next((one for one in reversed(self._calls) if one.takes(part)), None)
        if call is None and len(self._calls) == MOST_CALLS:
            self._end(TOO_MANY)
            return
        if call is None:
            call = GrowingCall(part.index, part.id)
            self._calls.append(call)
        self._arguments += len(part.arguments)
        if self._arguments > LONGEST_ARGUMENTS:
            self._end(TOO_LONG)
        else:
            call.add(part)

    def _tell(self, text: str, *, last: bool = False) -> None:
        text, self._half = self._half + text, ""
        if text and not last and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        room = LONGEST - self._length
        if len(text) > room:
            text = text[:room]
            self._end(TOO_LONG)
        self._length += len(text)
        if text:
            self._speak(whole_characters(text))

    def _speak(self, text: str) -> None:
        self._said.append(text)
        self._say(text)

    def _end(self, note: str) -> None:
        if not self.full:
            self._notes.append(note)
        self.full = True


def whole_characters(text: str) -> str:
    r"""Return ``text`` with surrogate pairs joined; an unpaired half becomes a mark.

    A server may split a character in two, and neither half is text by itself.

    >>> whole_characters("\ud83d\ude42") == "\U0001f642", whole_characters("a\ud83db") == "a\ufffdb"
    (True, True)
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def text_of(given: Any) -> str:
    """Return a text that may be missing; raise ``TypeError`` for anything else."""
    if given is not None and not isinstance(given, str):
        raise TypeError(f"{type(given).__name__} instead of text")
    return given or ""


def argument_text(given: Any) -> str:
    """Return arguments as text; some servers send an object instead of its JSON."""
    if given is None:
        return ""
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)


def counts(**given: Any) -> dict[str, int]:
    """Return the numbers among ``given`` that are counts.

    >>> counts(input=3, output=None, cached="2")
    {'input': 3}
    """
    return {name: value for name, value in given.items() if type(value) is int and value >= 0}


# A conversation in a form that every vendor accepts back, whatever a model made up in it or a page-out removed.
#
# Vendors refuse a request over one bad message: an invented tool name with a space in it, a call without its result, a
# result without its call, half a character. A model's single mistake would then end its session for good.

UNNAMED = "unknown_tool"
"""Replaces a name that no server would accept back."""
NO_RESULT = "(The result of this call was not kept.)"
BEGINNING = "(Earlier messages are not shown.)"
"""Opens a conversation whose first visible words are the model's."""
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")


@dataclass
class WireTurn:
    """What one side says before the other does: a user's results come first, a model's calls last."""

    role: str
    """user or assistant"""
    results: list[tuple[str, str]] = field(default_factory=list)
    """Id of the call and its result."""
    texts: list[str] = field(default_factory=list)
    calls: list[CallData] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return the words."""
        return "\n\n".join(text for text in self.texts if text.strip()).rstrip()


def system_text(messages: Sequence[Message]) -> str:
    """Return the system messages as one; many models accept only one, at the beginning."""
    said = [str(one.get("content") or "") for one in messages if one["role"] == "system"]
    return whole_characters("\n\n".join(text for text in said if text.strip()))


def turns_of(messages: Sequence[Message]) -> list[WireTurn]:
    """Return the alternating turns of user and model, the user first; every call has its result in the next turn."""
    reading = _Reading()
    for message in messages:
        reading.add(message)
    reading.answer_all()
    turns = [turn for turn in reading.turns if turn.text or turn.calls or turn.results]
    if turns and turns[0].role == "assistant":
        turns.insert(0, WireTurn("user", texts=[BEGINNING]))
    return turns


class _Reading:
    """Processes the messages, keeping track of calls that wait for their result."""

    def __init__(self) -> None:
        self.turns: list[WireTurn] = []
        self._waiting: list[tuple[str, str]] = []
        """Id of a call in the conversation, and as it is sent."""
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
        """Give unanswered calls a result that says so."""
        for _, sent in self._waiting:
            self._turn("user").results.append((sent, NO_RESULT))
        self._waiting.clear()

    def _turn(self, role: str) -> WireTurn:
        if not self.turns or self.turns[-1].role != role:
            self.turns.append(WireTurn(role))
        return self.turns[-1]

    def _result(self, call_id: str, text: str) -> None:
        place = next((at for at, (own, _) in enumerate(self._waiting) if own == call_id), None)
        if place is None:
            self._turn("user").texts.append(text)  # its call was paged out; the result is still worth reading
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
    """Return ``name`` if it is a valid tool name, and otherwise a stand-in.

    >>> sendable_name("note"), sendable_name("rm -rf"), sendable_name("")
    ('note', 'unknown_tool', 'unknown_tool')
    """
    return name if TOOL_NAME.fullmatch(name) else UNNAMED


def sendable(value: JSON) -> Any:
    """Return ``value`` without anything that JSON or UTF-8 cannot hold."""
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, Mapping):
        return {whole_characters(str(key)): sendable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sendable(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float) else str(value)
