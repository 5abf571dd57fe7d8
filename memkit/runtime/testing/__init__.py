"""Local servers that speak the protocols of model vendors, for tests without a key."""

from .interface import Answer, Call, Conversation, LoggedRequest, Message, Refusal, ScriptError
from .server import PROTOCOLS, FakeServer

__all__ = [
    "PROTOCOLS", "Answer", "Call", "Conversation", "FakeServer", "LoggedRequest", "Message", "Refusal", "ScriptError",
]  # fmt: skip
