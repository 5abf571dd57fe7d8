"""OpenAI's models, and those of every server with Chat Completions, each with its peculiarities."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memkit.llm.inquiry import VendorModel, malformed, readable
from memkit.llm.providers import ModelAddress, Patience
from memkit.llm.vendor import ModelVendor
from memkit.llm.wire import CallPart, Delta, WireTurn, argument_text, counts, sendable, system_text, text_of, turns_of
from memkit.runtime.loop.interface import CallData, Message, ToolSpec

STOPS = {"length": "length", "content_filter": "filtered", "refusal": "refused"}
"""Why an answer is incomplete, in our words; any other reason means a complete one."""
WEB_PAGE = "a web page"

Data = dict[str, Any]


class OpenAIModel(VendorModel):
    """Calls one of OpenAI's models, or one of a server with its protocol."""

    VENDOR = ModelVendor("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1")
    CLIENT, DEFAULT = "OpenAI", "gpt-5.4-mini"

    def __init__(self, model: str = "", patience: Patience | None = None, address: ModelAddress | None = None) -> None:
        super().__init__(model, patience, address)
        self._asks_usage = True
        """Whether to request the tokens of a streamed answer from the server; some refuse such a request."""

    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Data:
        # Many templates of local models accept one system message, first, and then user and assistant strictly in turn.
        system = system_text(messages)
        wire: list[Data] = [{"role": "system", "content": system}] if system else []
        wire += [one for turn in turns_of(messages) for one in _wire_turn(turn)]
        request: Data = {"model": sendable(self.name), "messages": wire}
        if tools:
            request["tools"] = sendable([_wire_tool(spec) for spec in tools])
        return request

    def _whole(self, request: Data) -> Iterator[Delta]:
        timeout = self.vendor.timeout(self.patience, stream=False)
        answer = self._client.chat.completions.create(**request, timeout=timeout)
        if isinstance(answer, str):  # a response that is not JSON arrives as text
            raise malformed(self.vendor, WEB_PAGE if "<" in answer[:20] else "plain text")
        with readable(self.vendor):
            choice = answer.choices[0]
            calls = tuple(_call_part(call, number) for number, call in enumerate(choice.message.tool_calls or ()))
            yield Delta(text=_text(choice.message), calls=calls)
            yield Delta(usage=_usage(answer.usage), stop=STOPS.get(choice.finish_reason, "done"))

    def _streamed(self, request: Data) -> Iterator[Delta]:
        stream = self._begun(request)
        with stream, readable(self.vendor):
            kind = str(stream.response.headers.get("content-type", ""))
            if "html" in kind:
                raise malformed(self.vendor, WEB_PAGE)
            for chunk in stream:
                yield from _deltas(chunk)

    def _begun(self, request: Data) -> Any:
        """Return the stream of an answer, with its token counts if the server provides them."""
        create = self._client.chat.completions.create
        streamed = {**request, "stream": True, "timeout": self.vendor.timeout(self.patience, stream=True)}
        if self._asks_usage:
            try:
                return create(**streamed, stream_options={"include_usage": True})
            except (self.vendor.sdk.BadRequestError, self.vendor.sdk.UnprocessableEntityError) as error:
                if "stream_options" not in str(error) and "include_usage" not in str(error):
                    raise
                self._asks_usage = False
        return create(**streamed)


def _deltas(chunk: Any) -> Iterator[Delta]:
    """Yield what a chunk adds; only the first choice counts, and chunks without one carry the usage."""
    if chunk.choices is None and chunk.usage is None:
        raise TypeError("neither choices nor usage")
    for choice in chunk.choices or ():
        if choice.index not in (0, None):
            continue
        stop = STOPS.get(choice.finish_reason, "done") if choice.finish_reason else ""
        said = choice.delta
        if said is None:
            yield Delta(stop=stop)
            continue
        calls = tuple(_call_part(call, call.index) for call in said.tool_calls or ())
        # Reasoning is not part of the answer, but shows that the model is at work.
        yield Delta(text=_text(said), calls=calls, stop=stop)
    if chunk.usage is not None:
        yield Delta(usage=_usage(chunk.usage))


def _text(said: Any) -> str:
    """Return the text of a message or a part of one; some servers send a list of parts."""
    content = said.content
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return text_of(content or getattr(said, "refusal", None))


def _call_part(call: Any, index: int | None) -> CallPart:
    function = call.function
    if function is None:
        return CallPart(index, text_of(call.id))
    return CallPart(index, text_of(call.id), text_of(function.name), argument_text(function.arguments))


def _usage(usage: Any) -> dict[str, int]:
    if usage is None:
        return {}
    cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)
    return counts(input=usage.prompt_tokens, output=usage.completion_tokens, cached=cached or None)


def _wire_turn(turn: WireTurn) -> Iterator[Data]:
    """Yield the messages of a turn: each tool result is a message of its own, before the user's words."""
    for call_id, text in turn.results:
        yield {"role": "tool", "tool_call_id": call_id, "content": text}
    if turn.text or turn.calls:
        message: Data = {"role": turn.role, "content": turn.text}
        if turn.calls:
            message["tool_calls"] = [_wire_call(call) for call in turn.calls]
        yield message


def _wire_call(call: CallData) -> Data:
    arguments = json.dumps(call["args"], ensure_ascii=False)
    return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": arguments}}


def _wire_tool(spec: ToolSpec) -> Data:
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return {"type": "function", "function": function}
