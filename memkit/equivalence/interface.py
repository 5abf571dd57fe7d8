"""What a transcript is made of, and what a run of it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from memkit.runtime.testing.interface import Conversation
from memkit.runtime.testing.script import Script

Seen = Mapping[str, Any]
"""What one turn showed, or what it left in memory, with names in the place of ids, marks and dates."""


@dataclass(frozen=True)
class TranscriptTurn:
    """One message of a user, answered in a process of its own by a model that plays ``script``."""

    text: str
    script: Script
    user: str | None = "ada"
    session: str | None = None
    """The session; that of the part where none is named."""
    consents: bool = True
    """Whether the host says that the user agreed to long-term memory."""
    context: Mapping[str, Any] = field(default_factory=dict)
    """What the host says about itself; the policies read it."""
    probes: tuple[str, ...] = ()
    """Phrases that are looked for in what the model sees, call by call."""


@dataclass(frozen=True)
class Part:
    """A part of the transcript, which shows one capability."""

    name: str
    capability: str
    """The words of its row in the matrix."""
    turns: tuple[TranscriptTurn, ...]


@dataclass(frozen=True)
class Account:
    """What one part showed on one side."""

    turns: tuple[Seen, ...]
    memory: Seen
    """What it left: the lines that were written, the records and core sections they are about, what tools wrote."""


class TranscriptSide(Protocol):
    """Something that can answer the turns of a transcript: the reference agent, or a rendered project."""

    def answer(self, turn: TranscriptTurn, session: str) -> Seen:
        """Answer one turn and return what it showed, ids and all."""


def probed(phrases: Sequence[str], asked: Sequence[Conversation]) -> dict[str, list[str]]:
    """Return where each phrase stood, call by call: in the system's words, in the conversation, both or nowhere."""
    return {phrase: [_place(phrase, conversation) for conversation in asked] for phrase in phrases}


def _place(phrase: str, conversation: Conversation) -> str:
    system = any(phrase in message.text for message in conversation.messages if message.role == "system")
    spoken = any(phrase in message.text for message in conversation.messages if message.role != "system")
    places = [name for name, there in (("prompt", system), ("conversation", spoken)) if there]
    return " and ".join(places) or "nowhere"
