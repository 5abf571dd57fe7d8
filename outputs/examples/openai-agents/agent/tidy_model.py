"""A model whose answers can be sent back, whatever a server made of them."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

from agents import OpenAIChatCompletionsModel
from agents.items import TResponseStreamEvent
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from agent.sendable import sendable_arguments, sendable_text


class TidyChatModel(OpenAIChatCompletionsModel):
    """Asks for Chat Completions, and tidies the answer before the runner sees it."""

    async def stream_response(self, *parts: Any, **more: Any) -> AsyncIterator[TResponseStreamEvent]:
        """Yield what the SDK yields; the last event, which the runner acts on, is tidy."""
        async for event in super().stream_response(*parts, **more):
            if isinstance(event, ResponseCompletedEvent):
                tidy(event.response)
            yield event


def tidy(response: Response) -> None:
    """Give every call an id of its own, and put text and arguments into a form that is text.

    Some servers count their calls anew in every answer, or not at all; the SDK runs no two calls of one id.
    """
    for item in response.output:
        if isinstance(item, ResponseFunctionToolCall):
            item.call_id = f"call_{uuid.uuid4().hex}"
            item.arguments = sendable_arguments(item.arguments)
        elif isinstance(item, ResponseOutputMessage):
            for part in item.content:
                if isinstance(part, ResponseOutputText):
                    part.text = sendable_text(part.text)
