"""Look for phrases in what a model is asked to continue."""

from __future__ import annotations

from collections.abc import Sequence

from memkit.runtime.testing.interface import Conversation


def probed(phrases: Sequence[str], asked: Sequence[Conversation]) -> dict[str, list[str]]:
    """Return where each phrase stood, call by call: in the system's words, in the conversation, both or nowhere."""
    return {phrase: [_place(phrase, conversation) for conversation in asked] for phrase in phrases}


def _place(phrase: str, conversation: Conversation) -> str:
    system = any(phrase in message.text for message in conversation.messages if message.role == "system")
    spoken = any(phrase in message.text for message in conversation.messages if message.role != "system")
    places = [name for name, there in (("prompt", system), ("conversation", spoken)) if there]
    return " and ".join(places) or "nowhere"
