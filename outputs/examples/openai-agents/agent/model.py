"""The model, served over Chat Completions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from agents import ModelSettings, OpenAIChatCompletionsModel
from agents.items import TResponseStreamEvent
from memkit_runtime.host.endpoints import Endpoint, malformed, readable
from openai import AsyncOpenAI
from openai.types.responses import ResponseCompletedEvent

from agent.tidy import tidy

SETTINGS = ModelSettings()
"""No sampling parameters, because vendors reject them."""


class AgentModel(OpenAIChatCompletionsModel):
    """Calls the endpoint, and tidies the answer before the runner sees it."""

    def __init__(self, endpoint: Endpoint, client: AsyncOpenAI) -> None:
        super().__init__(endpoint.model, openai_client=client)
        self._endpoint = endpoint

    async def stream_response(self, *parts: Any, **more: Any) -> AsyncIterator[TResponseStreamEvent]:
        """Yield the SDK's events; the last one, on which the runner acts, is tidied."""
        arrived = False
        with readable(self._endpoint):
            answer: Any = super().stream_response(*parts, **more)
            async with aclosing(answer) as events:
                async for event in events:
                    if isinstance(event, ResponseCompletedEvent):
                        if not arrived:
                            raise malformed(self._endpoint, "nothing arrived")
                        tidy(event.response)
                    arrived = True
                    yield event
