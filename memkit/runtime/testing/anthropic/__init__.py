"""Anthropic's Messages protocol, as its SDKs and the Claude command line speak it."""

from .wire import Messages as WIRE

__all__ = ["WIRE"]
