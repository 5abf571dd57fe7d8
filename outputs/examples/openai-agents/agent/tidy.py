"""Answers in a form that can be sent back, whatever a server made of them."""

from __future__ import annotations

import uuid

from memkit_runtime.host.wires import sendable_arguments, sendable_text
from openai import BaseModel
from openai.types.responses import (
    Response,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputRefusal,
    ResponseOutputText,
)


def tidy(response: Response) -> None:
    """Give every call an id of its own, and put text and arguments into a form that is text.

    Some servers count their calls anew in every answer, or not at all; the SDK runs no two calls of one id.

    Raises:
        TypeError: The answer holds something of another shape than the protocol's.
    """
    for item in response.output:
        if not isinstance(item, BaseModel):  # the client passes on whatever a server sends
            raise TypeError("an item of the answer is none")
        if isinstance(item, ResponseFunctionToolCall):
            if not isinstance(item.name, str):
                raise TypeError("a call names no tool")
            item.call_id = f"call_{uuid.uuid4().hex}"
            item.arguments = sendable_arguments(item.arguments)
        elif isinstance(item, ResponseOutputMessage):
            item.content = [_said(part) for part in item.content]


def _said(part: ResponseOutputText | ResponseOutputRefusal) -> ResponseOutputText | ResponseOutputRefusal:
    """Return a part as text; for the SDK a refusal is no answer but an error."""
    text = part.text if isinstance(part, ResponseOutputText) else part.refusal
    return ResponseOutputText(type="output_text", text=sendable_text(text), annotations=[])
