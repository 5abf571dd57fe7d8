"""OpenAI's Responses and Conversations, the successor of its Assistants."""

from .wire import Responses as WIRE

__all__ = ["WIRE"]
