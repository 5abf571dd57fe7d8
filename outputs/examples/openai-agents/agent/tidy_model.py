"""A model whose answers can be sent back, whatever a server made of them."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

from agents import OpenAIChatCompletionsModel
from agents.items import TResponseStreamEvent
from openai import AsyncOpenAI
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputRefusal,
    ResponseOutputText,
)

from agent.endpoint import Endpoint, malformed, readable
from agent.sendable import sendable_arguments, sendable_text


class TidyChatModel(OpenAIChatCompletionsModel):
    """Asks for Chat Completions, and tidies the answer before the runner sees it."""

    def __init__(self, endpoint: Endpoint, client: AsyncOpenAI) -> None:
        super().__init__(endpoint.model, openai_client=client)
        self._endpoint = endpoint

    async def stream_response(self, *parts: Any, **more: Any) -> AsyncIterator[TResponseStreamEvent]:
        """Yield what the SDK yields; the last event, which the runner acts on, is tidy."""
        arrived = False
        with readable(self._endpoint):
            async for event in super().stream_response(*parts, **more):
                if isinstance(event, ResponseCompletedEvent):
                    if not arrived:
                        raise malformed(self._endpoint, "nothing arrived")
                    tidy(event.response)
                arrived = True
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
            item.content = [_said(part) for part in item.content]


def _said(part: ResponseOutputText | ResponseOutputRefusal) -> ResponseOutputText | ResponseOutputRefusal:
    """Return a part as text; for the SDK a refusal is no answer but an error."""
    text = part.text if isinstance(part, ResponseOutputText) else part.refusal
    return ResponseOutputText(type="output_text", text=sendable_text(text), annotations=[])
