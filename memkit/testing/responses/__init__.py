"""OpenAI's Responses and Conversations protocol."""

from .wire import Responses

WIRE = Responses

__all__ = ["WIRE"]
