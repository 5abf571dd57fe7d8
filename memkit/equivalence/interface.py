"""The parts of a transcript, and the results of running it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from memkit.runtime.testing.interface import Conversation
from memkit.runtime.testing.script import Script

Seen = Mapping[str, Any]
"""What one turn showed, or what it left in memory, with names replacing ids, marks and dates."""


@dataclass(frozen=True)
class TranscriptTurn:
    """One message of a user, answered in a separate process by a model that plays ``script``."""

    text: str
    script: Script
    user: str | None = "ada"
    session: str | None = None
    """The session; by default that of the part."""
    consents: bool = True
    """Whether the host states that the user agreed to long-term memory."""
    context: Mapping[str, Any] = field(default_factory=dict)
    """The host's context, which the policies read."""
    probes: tuple[str, ...] = ()
    """Phrases that are looked for in what the model sees, call by call."""


@dataclass(frozen=True)
class Part:
    """A part of the transcript, which demonstrates one capability."""

    name: str
    capability: str
    """The text of its row in the matrix."""
    turns: tuple[TranscriptTurn, ...]


@dataclass(frozen=True)
class Account:
    """The result of one part on one side."""

    turns: tuple[Seen, ...]
    memory: Seen
    """What it left: the written lines, the records and core sections that they concern, and tools' output."""


class TranscriptSide(Protocol):
    """A side that can answer the turns of a transcript: the reference agent, or a rendered project."""

    def answer(self, turn: TranscriptTurn, session: str) -> Seen:
        """Answer one turn and return what it showed, including ids."""


def probed(phrases: Sequence[str], asked: Sequence[Conversation]) -> dict[str, list[str]]:
    """Return where each phrase occurred, call by call: in system messages, in the conversation, both or nowhere."""
    return {phrase: [_place(phrase, conversation) for conversation in asked] for phrase in phrases}


def _place(phrase: str, conversation: Conversation) -> str:
    system = any(phrase in message.text for message in conversation.messages if message.role == "system")
    spoken = any(phrase in message.text for message in conversation.messages if message.role != "system")
    places = [name for name, there in (("prompt", system), ("conversation", spoken)) if there]
    return " and ".join(places) or "nowhere"
