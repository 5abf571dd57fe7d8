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

from agent.tidy import note_end, tidy

SETTINGS = ModelSettings()
"""No sampling parameters, because vendors reject them."""


class AgentModel(OpenAIChatCompletionsModel):
    """Calls the endpoint, and tidies the answer before the runner sees it."""

    def __init__(self, endpoint: Endpoint, client: AsyncOpenAI) -> None:
        super().__init__(endpoint.model, openai_client=client)
        self._endpoint = endpoint
        self._chunks = _Chunks(None)

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
                        note_end(event.response, self._chunks.stop)
                    arrived = True
                    yield event

    async def _fetch_response(self, *parts: Any, **more: Any) -> Any:
        """Watch the stream of an answer for the reason of its end, which the SDK does not pass on."""
        fetched: Any = await super()._fetch_response(*parts, **more)
        if not isinstance(fetched, tuple):
            return fetched
        response, stream = fetched
        self._chunks = _Chunks(stream)
        return response, self._chunks


class _Chunks:
    """The stream of an answer, and why it ended."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.stop: str | None = None

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Yield what the server sends."""
        async for chunk in self._stream:
            for choice in chunk.choices or ():
                self.stop = getattr(choice, "finish_reason", None) or self.stop
            yield chunk

    def __getattr__(self, name: str) -> Any:
        """Return what else the SDK asks of a stream."""
        return getattr(self._stream, name)
