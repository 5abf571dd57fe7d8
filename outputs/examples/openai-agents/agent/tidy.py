"""Answers in a form that can be sent back, whatever a server made of them."""

from __future__ import annotations

import uuid

from openai.types.responses import (
    Response,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputRefusal,
    ResponseOutputText,
)

from agent.sendable import sendable_arguments, sendable_text


def tidy(response: Response) -> None:
    """Give every call an id of its own, and put text and arguments into a form that is text.

    Some servers count their calls anew in every answer, or not at all; the SDK runs no two calls of one id.
    """
    for item in response.output:
        if isinstance(item, ResponseFunctionToolCall):
            item.call_id = f"call_{uuid.uuid4().hex}"
            item.arguments = sendable_arguments(item.arguments)
        elif isinstance(item, ResponseOutputMessage):
            item.content = [_said(part) for part in item.content]


def _said(part: ResponseOutputText | ResponseOutputRefusal) -> ResponseOutputText | ResponseOutputRefusal:
    """Return a part as text; for the SDK a refusal is no answer but an error."""
    text = part.text if isinstance(part, ResponseOutputText) else part.refusal
    return ResponseOutputText(type="output_text", text=sendable_text(text), annotations=[])
