"""OpenAI's Assistants v2, which its maker has shut down and other servers still speak."""

from .wire import AssistantsV2 as WIRE

__all__ = ["WIRE"]
