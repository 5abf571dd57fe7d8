"""OpenAI's Assistants v2, which OpenAI has shut down and other servers still provide."""

from .wire import AssistantsV2 as WIRE

__all__ = ["WIRE"]
