"""Parses the requests of the Assistants protocol strictly: what the vendor answers with 400 is a ``Refusal`` here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..interface import Refusal
from ..openai_parts import check_choice, check_known, function_name, metadata_of, object_of, text_of, value_of, wrong

_LONGEST_TEXT = 256_000
_MOST_TOOLS = 128
_TOOLS = ("function", "code_interpreter", "file_search")
_PARTS = ("text", "image_url", "image_file")
_SETTINGS = ("temperature", "top_p", "response_format", "reasoning_effort")
"""Accepted and returned unchanged."""
_ASSISTANT = ("model", "name", "description", "instructions", "tools", "tool_resources", "metadata", *_SETTINGS)
_FRESH: Mapping[str, Any] = {
    "name": None, "description": None, "instructions": None, "tools": [], "tool_resources": None, "metadata": {},
    "temperature": 1.0, "top_p": 1.0, "response_format": "auto", "reasoning_effort": None,
}  # fmt: skip
"""The default assistant."""
_MESSAGE = ("role", "content", "attachments", "metadata")
_THREAD = ("messages", "tool_resources", "metadata")
_LIMITS = ("max_prompt_tokens", "max_completion_tokens", "truncation_strategy")
_RUN_ALONE = (
    "assistant_id", "model", "instructions", "tools", "tool_choice", "parallel_tool_calls", "metadata", "stream",
    *_SETTINGS, *_LIMITS,
)  # fmt: skip
_RUN = (*_RUN_ALONE, "additional_instructions", "additional_messages")
_THREAD_AND_RUN = (*_RUN_ALONE, "thread", "tool_resources")


@dataclass(frozen=True)
class MessageOrder:
    """A message to add to a thread."""

    role: str
    content: tuple[Mapping[str, Any], ...]
    """Parts in the form in which the protocol returns them."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    attachments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class RunOrder:
    """What a client requests of a run; None means the assistant's own setting."""

    assistant_id: str
    instructions: str | None
    additional_instructions: str
    tools: tuple[Mapping[str, Any], ...] | None
    messages: tuple[MessageOrder, ...]
    stream: bool
    last_messages: int | None
    """The most messages of the thread that the model sees."""
    metadata: Mapping[str, Any]
    given: Mapping[str, Any]
    """The body, for the parts that are only returned."""


def body_of(body: Any) -> Mapping[str, Any]:
    """Return the body of a request, an empty one if there is none."""
    return object_of({} if body is None else body, "body")


def read_assistant(body: Any, *, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the fields of an assistant: of a new one, or of ``known`` with the changes in the body."""
    body = body_of(body)
    check_known(body, _ASSISTANT)
    if known is None or "model" in body:
        text_of(body, "model", "model")
    for key, longest in (("name", 256), ("description", 512), ("instructions", _LONGEST_TEXT)):
        _optional_text(body, key, longest)
    read_tools(body.get("tools"))
    metadata_of(body)
    said = {key: value for key, value in body.items() if value is not None}
    return {**(_FRESH if known is None else known), **said}


def read_thread(body: Any, *, changing: bool = False) -> tuple[tuple[MessageOrder, ...], Mapping[str, Any]]:
    """Return the messages and the metadata of a thread."""
    body = body_of(body)
    check_known(body, _THREAD[1:] if changing else _THREAD)
    return read_messages(body.get("messages"), "messages"), metadata_of(body)


def read_messages(listed: Any, param: str) -> tuple[MessageOrder, ...]:
    """Return a list of messages; None means an empty one."""
    if listed is not None and not isinstance(listed, list):
        raise wrong(param, "a list is expected")
    return tuple(read_message(data, f"{param}[{index}]") for index, data in enumerate(listed or ()))


def read_message(data: Any, param: str = "") -> MessageOrder:
    """Return one message; threads accept those of users and assistants."""
    data = object_of({} if data is None else data, param or "body")
    check_known(data, _MESSAGE, param)
    place = f"{param}." if param else ""
    role = data.get("role")
    if role not in ("user", "assistant"):
        raise wrong(f"{place}role", f"{role!r} is neither 'user' nor 'assistant'")
    content = _content(data.get("content"), f"{place}content")
    return MessageOrder(
        role, content, metadata_of(data), tuple(value_of(data, "attachments", list, f"{place}attachments") or ())
    )


def _content(content: Any, param: str) -> tuple[Mapping[str, Any], ...]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list) or not content:
        raise wrong(param, "a string or a non-empty list of parts is required")
    return tuple(_part(part, f"{param}[{index}]") for index, part in enumerate(content))


def _part(part: Any, param: str) -> Mapping[str, Any]:
    """Return one part in the form in which the protocol returns it."""
    part = object_of(part, param)
    if part.get("type") not in _PARTS:
        raise wrong(f"{param}.type", f"{part.get('type')!r} is not one of {', '.join(_PARTS)}")
    if part["type"] != "text":
        return dict(part)
    text = part.get("text")
    if not isinstance(text, str) or not text.strip():
        raise Refusal(400, "Message content must be non-empty.", param=param, code="invalid_value")
    if len(text) > _LONGEST_TEXT:
        raise wrong(f"{param}.text", f"{len(text)} characters are more than {_LONGEST_TEXT}")
    return {"type": "text", "text": {"value": text, "annotations": []}}


def read_tools(listed: Any) -> tuple[Mapping[str, Any], ...]:
    """Return tool definitions; function names must be unique."""
    if listed is not None and not isinstance(listed, list):
        raise wrong("tools", "a list is expected")
    tools = [object_of(tool, f"tools[{index}]") for index, tool in enumerate(listed or ())]
    if len(tools) > _MOST_TOOLS:
        raise wrong("tools", f"{len(tools)} are more than {_MOST_TOOLS}")
    names: set[str] = set()
    for index, tool in enumerate(tools):
        if tool.get("type") not in _TOOLS:
            raise wrong(f"tools[{index}].type", f"{tool.get('type')!r} is not one of {', '.join(_TOOLS)}")
        if tool["type"] != "function":
            continue
        name = function_name(tool, f"tools[{index}]")
        if name in names:
            raise wrong(f"tools[{index}].function.name", f"tool names must be unique, {name!r} occurs twice")
        names.add(name)
    return tuple(tools)


def function_names(tools: tuple[Mapping[str, Any], ...]) -> tuple[str, ...]:
    """Return the names of the functions among ``tools``."""
    return tuple(tool["function"]["name"] for tool in tools if tool["type"] == "function")


def read_run(body: Any, *, with_thread: bool = False) -> RunOrder:
    """Return the settings requested for a new run."""
    body = body_of(body)
    check_known(body, _THREAD_AND_RUN if with_thread else _RUN)
    for key in ("instructions", "additional_instructions"):
        _optional_text(body, key, _LONGEST_TEXT)
    if body.get("model") is not None:
        text_of(body, "model", "model")
    for key, least in (("max_prompt_tokens", 256), ("max_completion_tokens", 256)):
        value = body.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            raise wrong(key, f"expected a whole number from {least}")
    return RunOrder(
        assistant_id=text_of(body, "assistant_id", "assistant_id"),
        instructions=body.get("instructions"),
        additional_instructions=body.get("additional_instructions") or "",
        tools=None if body.get("tools") is None else read_tools(body["tools"]),
        messages=read_messages(body.get("additional_messages"), "additional_messages"),
        stream=bool(value_of(body, "stream", bool, "stream")),
        last_messages=_last_messages(body.get("truncation_strategy")),
        metadata=metadata_of(body),
        given={
            **body,
            "parallel_tool_calls": value_of(body, "parallel_tool_calls", bool, "parallel_tool_calls") is not False,
        },
    )


def check_tool_choice(order: RunOrder, tools: tuple[Mapping[str, Any], ...]) -> None:
    """Reject a choice that names no tool of the run."""
    choice = order.given.get("tool_choice")
    if isinstance(choice, Mapping) and choice.get("type") in _TOOLS[1:]:
        return
    check_choice(choice, function_names(tools))


def read_outputs(body: Any) -> tuple[dict[str, str], bool]:
    """Return the outputs by call id, and whether the rest of the run is to be streamed."""
    body = body_of(body)
    check_known(body, ("tool_outputs", "stream"))
    listed = body.get("tool_outputs")
    if not isinstance(listed, list):
        raise wrong("tool_outputs", "a list is required")
    outputs: dict[str, str] = {}
    for index, data in enumerate(listed):
        param = f"tool_outputs[{index}]"
        data = object_of(data, param)
        check_known(data, ("tool_call_id", "output"), param)
        call_id = text_of(data, "tool_call_id", f"{param}.tool_call_id")
        if not isinstance(data.get("output"), str):
            raise wrong(f"{param}.output", "a string is required")
        if call_id in outputs:
            raise wrong(f"{param}.tool_call_id", f"{call_id!r} is answered twice")
        outputs[call_id] = data["output"]
    return outputs, bool(value_of(body, "stream", bool, "stream"))


def read_metadata(body: Any) -> Mapping[str, Any]:
    """Return the metadata of a request that changes nothing else."""
    body = body_of(body)
    check_known(body, ("metadata",))
    return metadata_of(body)


def _optional_text(body: Mapping[str, Any], key: str, longest: int) -> None:
    value = body.get(key)
    if value is not None and (not isinstance(value, str) or len(value) > longest):
        raise wrong(key, f"expected a string of up to {longest} characters")


def _last_messages(strategy: Any) -> int | None:
    """Return how many messages a truncation strategy leaves; None for all."""
    if strategy is None:
        return None
    strategy = object_of(strategy, "truncation_strategy")
    kind, number = strategy.get("type"), strategy.get("last_messages")
    if kind not in ("auto", "last_messages"):
        raise wrong("truncation_strategy.type", f"{kind!r} is neither 'auto' nor 'last_messages'")
    if kind == "auto":
        return None
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise wrong("truncation_strategy.last_messages", "expected a whole number from 1")
    return number
