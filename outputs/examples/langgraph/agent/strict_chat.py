"""A chat model that keeps streamed tool calls apart and requires complete arguments.

LangChain completes truncated JSON on its own, so a call that was cut off would run with part of its arguments.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI
from memkit_runtime.host.endpoints import Endpoint, malformed, readable
from memkit_runtime.host.wires import CallNumbers, sendable_arguments


class StrictChatOpenAI(ChatOpenAI):
    """Passes on text as it arrives, and arguments once they are complete."""

    endpoint: Endpoint

    def _stream(self, *parts: Any, **more: Any) -> Iterator[ChatGenerationChunk]:
        arguments: defaultdict[int, str] = defaultdict(str)
        numbers = CallNumbers()
        arrived = False
        with readable(self.endpoint):
            for chunk in super()._stream(*parts, **more):
                arrived = True
                if isinstance(chunk.message, AIMessageChunk):
                    for part in chunk.message.tool_call_chunks:
                        number = numbers.number_of(part["index"], part["id"])
                        arguments[number] += part["args"] or ""
                        part["index"], part["args"] = number, ""
                yield chunk
        if not arrived:
            raise malformed(self.endpoint, "nothing arrived")
        if arguments:
            whole = [tool_call_chunk(index=index, args=sendable_arguments(text)) for index, text in arguments.items()]
            yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=whole))
