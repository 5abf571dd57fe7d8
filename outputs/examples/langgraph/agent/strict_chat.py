"""A chat model whose streamed tool arguments have to be whole.

LangChain completes half of a JSON object on its own, so a call that was cut off would run with part of its arguments.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI

from loop.arguments import read_arguments


class StrictChatOpenAI(ChatOpenAI):
    """Passes text on as it comes, and arguments when they are complete."""

    def _stream(self, *parts: Any, **more: Any) -> Iterator[ChatGenerationChunk]:
        arguments: defaultdict[int, str] = defaultdict(str)
        for chunk in super()._stream(*parts, **more):
            if isinstance(chunk.message, AIMessageChunk):
                for part in chunk.message.tool_call_chunks:
                    arguments[part["index"] or 0] += part["args"] or ""
                    part["args"] = ""
            yield chunk
        if arguments:
            whole = [tool_call_chunk(index=index, args=whole_or_text(text)) for index, text in arguments.items()]
            yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=whole))


def whole_or_text(text: str) -> str:
    r"""Return ``text`` if it is a JSON object, and otherwise a JSON string of it, which no tool takes for arguments.

    >>> whole_or_text('{"a": 1}'), whole_or_text('{"a": ')
    ('{"a": 1}', '"{\\"a\\": "')
    """
    return json.dumps(text) if read_arguments(text) is None else text
