"""Parses the request for a response strictly: what the vendor answers with 400 is a ``Refusal`` here."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..interface import Refusal
from ..openai_parts import (
    CHOICES,
    check_known,
    check_schema,
    choice_of,
    metadata_of,
    required,
    tool_name,
    unsupported_value,
    value_of,
    wrong,
)
from .items import Item, read_input

KEYS = ("allowed_callers", "defer_loading", "description", "name", "output_schema", "parameters", "strict", "type")
NAMESPACE = ("description", "name", "tools", "type")
SEARCH_OFFLINE = {"type": "web_search", "external_web_access": False}
"""Offered by clients that may not search the web; a script never calls it."""


def read_tools(data: Mapping[str, Any], param: str = "tools", namespace: str = "") -> dict[str, str]:
    """Return the names of the offered tools, each with its namespace, which is empty for a top-level tool."""
    names: dict[str, str] = {}
    for number, tool in enumerate(value_of(data, "tools", list, param) or ()):
        place = f"{param}[{number}]"
        kind = _kind(tool, place)
        if kind == "namespace" and not namespace:
            check_known(tool, NAMESPACE, place)
            inner = read_tools(tool, f"{place}.tools", tool_name(tool, f"{place}.name"))
            names = {**inner, **names}  # a name means the top-level tool, or else the first with that name
        elif tool != SEARCH_OFFLINE:
            name = _read_tool(tool, kind, place)
            if names.get(name) == namespace:
                raise wrong(f"{place}.name", f"tool names must be unique, {name!r} occurs twice")
            names[name] = namespace
    return names


def _kind(tool: Any, param: str) -> str:
    if not isinstance(tool, Mapping):
        raise wrong(param, "expected an object", "invalid_type")
    kind: str = required(tool, "type", str, f"{param}.type")
    return kind


def _read_tool(tool: Mapping[str, Any], kind: str, param: str) -> str:
    """Return the name of one tool."""
    if kind != "function":
        raise wrong(f"{param}.type", f"this server runs no tool of type {kind!r}, only functions of the client")
    name = tool_name(tool, f"{param}.name")  # first, because Chat Completions has it one level deeper
    check_known(tool, KEYS, param)
    value_of(tool, "description", str, f"{param}.description")
    strict = value_of(tool, "strict", bool, f"{param}.strict")
    parameters = value_of(tool, "parameters", Mapping, f"{param}.parameters")
    if parameters is not None:
        _check_parameters(parameters, f"{param}.parameters", strict=bool(strict))
    return name


def _check_parameters(parameters: Mapping[str, Any], param: str, *, strict: bool) -> None:
    """Reject parameters that are not the JSON schema of an object, or unsuitable for strict mode."""
    check_schema(parameters, param)
    if not strict:
        return
    if parameters.get("additionalProperties") is not False:
        reason = "'additionalProperties' is required to be supplied and to be false"
        raise wrong(param, reason, "invalid_function_parameters")
    if set(parameters.get("required") or ()) != set(parameters.get("properties") or ()):
        reason = "'required' is required to be an array that includes every key in properties"
        raise wrong(param, reason, "invalid_function_parameters")


def check_choice(choice: Any, names: Collection[str]) -> None:
    """Reject a choice of a tool that is not offered."""
    if choice is None or (isinstance(choice, str) and choice in ("none", "auto")):
        return
    if isinstance(choice, str) and choice not in CHOICES:
        raise unsupported_value("tool_choice", choice, CHOICES)
    if not isinstance(choice, (str, Mapping)):
        raise wrong("tool_choice", "expected a string or an object", "invalid_type")
    if not names:
        raise wrong("tool_choice", "it needs 'tools' to choose from")
    for name in _chosen(choice):
        if name not in names:
            raise wrong("tool_choice", f"tool choice {name!r} not found in 'tools' parameter")


def _chosen(choice: str | Mapping[str, Any]) -> list[str]:
    if isinstance(choice, str):
        return []
    if choice.get("type") == "function":
        return [tool_name(choice, "tool_choice.name")]
    if choice.get("type") == "allowed_tools":
        listed = required(choice, "tools", list, "tool_choice.tools")
        return [str(tool.get("name")) if isinstance(tool, Mapping) else str(tool) for tool in listed]
    raise unsupported_value("tool_choice.type", choice.get("type"), ("function", "allowed_tools"))


ENCRYPTED = "reasoning.encrypted_content"
INCLUDABLE = (
    ENCRYPTED,
    "message.output_text.logprobs",
    "message.input_image.image_url",
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
)
COUNTED = (
    "conversation", "input", "instructions", "model", "parallel_tool_calls", "previous_response_id", "reasoning",
    "text", "tool_choice", "tools", "truncation",
)  # fmt: skip
"""The allowed keys of a request to count tokens."""
KNOWN = (
    *COUNTED, "background", "client_metadata", "include", "max_output_tokens", "max_tool_calls", "metadata", "prompt",
    "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "store", "stream",
    "stream_options", "temperature", "top_logprobs", "top_p", "user",
)  # fmt: skip
MOVED = {
    "messages": "'input'",
    "max_tokens": "'max_output_tokens'",
    "max_completion_tokens": "'max_output_tokens'",
    "response_format": "'text.format'",
    "reasoning_effort": "'reasoning.effort'",
    "functions": "'tools'",
    "function_call": "'tool_choice'",
}
"""Parameters with other names in Chat Completions."""
SAMPLING = ("temperature", "top_p", "top_logprobs")
REASONS = re.compile(r"(o\d|gpt-[5-9]|gpt-\d\d)")
"""Names of models that reason by default, and therefore accept no sampling parameters."""
NEVER_REASONS = re.compile(r"gpt-[34]")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
LEAST_OUTPUT = 16


@dataclass(frozen=True)
class Create:
    """A request for a response."""

    model: str
    items: tuple[Item, ...]
    tools: Mapping[str, str]
    """Name → its namespace, or an empty text."""
    instructions: str | None = None
    previous: str | None = None
    """The id of the response that this one continues."""
    conversation: str | None = None
    """The id of the conversation that this one belongs to."""
    stream: bool = False
    store: bool = True
    reasons: bool = False
    """Whether the model thinks before it answers."""
    encrypted: bool = False
    """Whether its reasoning is returned encrypted."""
    shown: Mapping[str, Any] = field(default_factory=dict)
    """The parts of the request that the response repeats."""


def read_create(body: Any) -> Create:
    """Return the request in ``body``; raise ``Refusal`` for the first fault."""
    data = _checked(body, KNOWN)
    model: str = required(data, "model", str, "model")
    _check_not_served(data)
    include = _include(data, model)
    effort = _effort(data)
    _check_sampling(data, model, effort)
    stream = bool(value_of(data, "stream", bool, "stream"))
    if value_of(data, "stream_options", Mapping, "stream_options") is not None and not stream:
        raise wrong("stream_options", "it is only allowed when 'stream' is set to true")
    return Create(
        **_context(data),
        model=model,
        stream=stream,
        store=data.get("store") is None or bool(value_of(data, "store", bool, "store")),
        reasons=effort != "none" and (effort is not None or ENCRYPTED in include or bool(REASONS.match(model))),
        encrypted=ENCRYPTED in include,
        shown=_shown(data),
    )


def read_count(body: Any) -> Create:
    """Return the request to count tokens in ``body``."""
    data = _checked(body, COUNTED)
    _effort(data)
    return Create(**_context(data), model=value_of(data, "model", str, "model") or "")


def _checked(body: Any, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(body, Mapping):
        raise wrong("body", "the body must be a JSON object")
    for old, new in MOVED.items():
        if old in body:
            message = f"Unsupported parameter: '{old}'. In the Responses API, this parameter has moved to {new}."
            raise Refusal(400, message, param=old, code="unsupported_parameter")
    check_known(body, known)
    return body


def _context(data: Mapping[str, Any]) -> dict[str, Any]:
    previous = value_of(data, "previous_response_id", str, "previous_response_id")
    conversation = _conversation(data)
    if previous is not None and conversation is not None:
        message = "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Provide only one of them."
        raise Refusal(400, message, param="previous_response_id", code="mutually_exclusive_parameters")
    if data.get("input") is None and previous is None and conversation is None:
        message = "One of 'input', 'previous_response_id' or 'conversation' must be provided."
        raise Refusal(400, message, param="input", code="missing_required_parameter")
    tools = read_tools(data)
    check_choice(data.get("tool_choice"), tools)
    value_of(data, "parallel_tool_calls", bool, "parallel_tool_calls")
    choice_of(data, "truncation", ("auto", "disabled"), "truncation")
    return {
        "items": tuple(read_input(data["input"])) if data.get("input") is not None else (),
        "tools": tools,
        "instructions": value_of(data, "instructions", str, "instructions"),
        "previous": previous,
        "conversation": conversation,
    }


def _conversation(data: Mapping[str, Any]) -> str | None:
    """Return the conversation id, given directly or in an object."""
    given = data.get("conversation")
    if isinstance(given, Mapping):
        given = required(given, "id", str, "conversation.id")
    conversation: str | None = value_of({"conversation": given}, "conversation", str, "conversation")
    return conversation


def _include(data: Mapping[str, Any], model: str) -> tuple[str, ...]:
    """Return what else the response must include; a model that never reasons has nothing to encrypt."""
    listed = value_of(data, "include", list, "include") or []
    for number, name in enumerate(listed):
        if name not in INCLUDABLE:
            raise unsupported_value(f"include[{number}]", name, INCLUDABLE)
    if ENCRYPTED in listed and NEVER_REASONS.match(model):
        raise Refusal(400, "Encrypted content is not supported with this model.", param="include")
    return tuple(listed)


def _effort(data: Mapping[str, Any]) -> str | None:
    """Return the reasoning effort; an object without an effort means the model's default."""
    reasoning = value_of(data, "reasoning", Mapping, "reasoning")
    if reasoning is None:
        return None
    check_known(reasoning, ("context", "effort", "generate_summary", "mode", "summary"), "reasoning")
    choice_of(reasoning, "summary", ("auto", "concise", "detailed"), "reasoning.summary")
    return choice_of(reasoning, "effort", EFFORTS, "reasoning.effort") or "medium"


def _check_sampling(data: Mapping[str, Any], model: str, effort: str | None) -> None:
    """Reject sampling parameters if the model reasons, and invalid ones in any case."""
    for name in SAMPLING:
        value = value_of(data, name, float, name)
        if value is not None and REASONS.match(model) and effort != "none":
            message = f"Unsupported parameter: '{name}' is not supported with this model."
            raise Refusal(400, message, param=name, code="unsupported_parameter")
    temperature = data.get("temperature")
    if temperature is not None and not 0 <= temperature <= 2:
        raise wrong("temperature", "a decimal between 0 and 2 is expected")


def _check_not_served(data: Mapping[str, Any]) -> None:
    if value_of(data, "background", bool, "background"):
        raise wrong("background", "this server answers at once; leave it out")
    if data.get("prompt") is not None:
        raise wrong("prompt", "this server keeps no prompts; send 'instructions' and 'input'")
    most = value_of(data, "max_output_tokens", int, "max_output_tokens")
    if most is not None and most < LEAST_OUTPUT:
        raise wrong("max_output_tokens", f"expected a value >= {LEAST_OUTPUT}, but got {most} instead")


def _shown(data: Mapping[str, Any]) -> dict[str, Any]:
    format_given = (value_of(data, "text", Mapping, "text") or {}).get("format") or {"type": "text"}
    return {
        "instructions": data.get("instructions"),
        "max_output_tokens": data.get("max_output_tokens"),
        "metadata": metadata_of(data),
        "parallel_tool_calls": data.get("parallel_tool_calls", True) is not False,
        "reasoning": data.get("reasoning") or {"effort": None, "summary": None},
        "temperature": data.get("temperature"),
        "text": {"format": format_given},
        "tool_choice": data.get("tool_choice") or "auto",
        "tools": data.get("tools") or [],
        "top_p": data.get("top_p"),
        "truncation": data.get("truncation") or "disabled",
    }
