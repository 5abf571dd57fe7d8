"""OpenAI's Chat Completions, which most compatible servers speak too."""

from .wire import ChatCompletions as WIRE

__all__ = ["WIRE"]
