"""Brings a server's answers into a form that can be sent back."""

from __future__ import annotations

import uuid

from memkit_runtime.host.wires import sendable_arguments, sendable_text, whole
from openai import BaseModel
from openai.types.responses import (
    Response,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputRefusal,
    ResponseOutputText,
)


def tidy(response: Response) -> None:
    """Give every call a unique id, and make text and arguments valid text.

    Some servers restart their call ids in every answer, or send none; the SDK runs no two calls with the same id.

    Raises:
        TypeError: The answer contains something that does not follow the protocol.
    """
    for item in response.output:
        if not isinstance(item, BaseModel):  # the client passes on whatever a server sends
            raise TypeError("an item of the answer is malformed")
        if isinstance(item, ResponseFunctionToolCall):
            if not isinstance(item.name, str):
                raise TypeError("a call names no tool")
            item.call_id = f"call_{uuid.uuid4().hex}"
            item.arguments = sendable_arguments(item.arguments)
        elif isinstance(item, ResponseOutputMessage):
            item.content = [_said(part) for part in item.content]


def note_end(response: Response, stop: str | None) -> bool:
    """Say at the end of the answer's text if ``stop``, the reason for its end, means that the rest is missing.

    Returns:
        Whether there is a text.
    """
    parts = [part for item in response.output if isinstance(item, ResponseOutputMessage) for part in item.content]
    for part in parts[-1:]:
        if isinstance(part, ResponseOutputText):
            part.text = whole(part.text, stop)
    return bool(parts)


def _said(part: ResponseOutputText | ResponseOutputRefusal) -> ResponseOutputText | ResponseOutputRefusal:
    """Return a part as text; the SDK treats a refusal as an error rather than an answer."""
    text = part.text if isinstance(part, ResponseOutputText) else part.refusal
    return ResponseOutputText(type="output_text", text=sendable_text(text), annotations=[])
