"""Read a Messages request strictly: what the vendor answers with 400 is a ``Refusal`` here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..interface import Conversation
from .blocks import TOOL_NAME, read_content
from .faults import mapping, text_of, wrong
from .history import read_history

WITHOUT_SAMPLING = "2026-10-21"
"""From this version on a request that carries a sampling parameter is refused."""
_SAMPLING = {"temperature": 1.0, "top_p": 1.0, "top_k": float("inf")}
"""Sampling parameters of earlier versions, with the largest value of each."""
_CACHED_BLOCKS = 4
_CHOICES = ("auto", "any", "none", "tool")
_EVERYWHERE = {"model", "messages", "system", "tools", "tool_choice", "thinking"}
_EVERYWHERE |= {"cache_control", "context_management", "mcp_servers", "output_config", "output_format", "speed"}
_ONLY_MESSAGES = {"max_tokens", "stream", "metadata", "stop_sequences", "service_tier", "container", "inference_geo"}
_ONLY_MESSAGES |= {"diagnostics", *_SAMPLING}


def read_conversation(body: Any, version: str, *, counting: bool = False) -> Conversation:
    """Return the conversation of a request body, or raise ``Refusal`` with the first thing that is wrong.

    Args:
        body: The parsed JSON.
        version: Of the protocol, a date.
        counting: Whether only the tokens are to be counted, so that nothing says how to answer.
    """
    if not isinstance(body, Mapping):
        raise wrong("body", "the request body is not a JSON object")
    _check_fields(body, version, counting=counting)
    model = text_of(body, "model", "")
    if not counting:
        _check_max_tokens(body)
    stream = body.get("stream", False)
    if not isinstance(stream, bool):
        raise wrong("stream", "Input should be a valid boolean")
    history = read_history(body.get("messages"), _system(body))
    tools = _tools(body.get("tools"))
    _check_choice(body.get("tool_choice"), tools)
    _check_cached(body)
    return Conversation(history, tools, model, stream)


def _check_fields(body: Mapping[str, Any], version: str, *, counting: bool) -> None:
    """Refuse fields that the protocol does not know, and sampling parameters as ``version`` wants it."""
    known = _EVERYWHERE if counting else _EVERYWHERE | _ONLY_MESSAGES
    for name in body:
        if name not in known:
            raise wrong(str(name), "Extra inputs are not permitted")
    for name, most in _SAMPLING.items():
        value = body.get(name)
        if value is None:
            continue
        if version >= WITHOUT_SAMPLING:
            raise wrong(name, f"sampling parameters are not supported from version {WITHOUT_SAMPLING} on")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
            raise wrong(name, f"Input should be a number from 0 to {most:g}")


def _check_max_tokens(body: Mapping[str, Any]) -> None:
    """Refuse a request that does not say how long the answer may be."""
    value = body.get("max_tokens")
    if "max_tokens" not in body:
        raise wrong("max_tokens", "Field required")
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong("max_tokens", "Input should be a valid integer")
    if value < 1:
        raise wrong("max_tokens", "Input should be greater than or equal to 1")


CLIENTS_OWN: Mapping[str, str] = {"memory_20250818": "memory"}
"""Tools that the vendor declares and the client runs, with the one name that each has."""


def _system(body: Mapping[str, Any]) -> str:
    blocks = read_content(body.get("system") or "", "system", "system")
    return "\n".join(block for block in blocks if isinstance(block, str))


def _tools(listed: Any) -> tuple[str, ...]:
    if listed is None:
        return ()
    if not isinstance(listed, list):
        raise wrong("tools", "Input should be a valid list")
    names: list[str] = []
    for index, tool in enumerate(listed):
        name = _tool(tool, f"tools.{index}")
        if name in names:
            raise wrong("tools", f"Tool names must be unique, {name!r} occurs twice")
        names.append(name)
    return tuple(names)


def _tool(data: Any, place: str) -> str:
    kind = mapping(data, place).get("type", "custom")
    if CLIENTS_OWN.get(str(kind)) is not None and data.get("name") == CLIENTS_OWN[str(kind)]:
        return str(data["name"])
    if kind not in ("custom", None):
        raise wrong(f"{place}.type", f"this server runs no tool of type {kind!r}: offer tools of your own")
    name = text_of(data, "name", f"{place}.custom.")
    if not TOOL_NAME.match(name):
        raise wrong(f"{place}.custom.name", f"String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$', got {name!r}")
    if not isinstance(data.get("description", ""), str):
        raise wrong(f"{place}.custom.description", "Input should be a valid string")
    if "input_schema" not in data:
        raise wrong(f"{place}.custom.input_schema", "Field required")
    _check_schema(mapping(data["input_schema"], f"{place}.custom.input_schema"), f"{place}.custom.input_schema")
    return name


def _check_schema(schema: Mapping[str, Any], place: str) -> None:
    """Refuse what is not the JSON schema of an object."""
    if schema.get("type") != "object":
        raise wrong(f"{place}.type", f"Input should be 'object', got {schema.get('type')!r}")
    properties = mapping(schema.get("properties") or {}, f"{place}.properties")
    required = schema.get("required") or []
    if not isinstance(required, list) or not set(map(str, required)) <= set(properties):
        raise wrong(f"{place}.required", "it must list names that 'properties' holds")


def _check_choice(choice: Any, tools: tuple[str, ...]) -> None:
    if choice is None:
        return
    kind = mapping(choice, "tool_choice").get("type")
    if kind not in _CHOICES:
        raise wrong("tool_choice.type", f"Input should be one of {', '.join(_CHOICES)}, got {kind!r}")
    if not tools and kind != "none":
        raise wrong("tool_choice", "it may only be specified while providing `tools`")
    if kind == "tool" and choice.get("name") not in tools:
        raise wrong("tool_choice.name", f"Tool {choice.get('name')!r} not found in provided tools")


def _check_cached(body: Mapping[str, Any]) -> None:
    """Refuse more places to cache at than the vendor takes."""
    found = sum(_cached(body.get(name)) for name in ("system", "tools", "messages"))
    if found > _CACHED_BLOCKS:
        raise wrong(
            "cache_control",
            f"A maximum of {_CACHED_BLOCKS} blocks with cache_control may be provided. Found {found}.",
        )


def _cached(value: Any) -> int:
    """Return how many blocks in ``value`` are marked to be cached; a tool's schema and arguments hold none."""
    if isinstance(value, list):
        return sum(map(_cached, value))
    if not isinstance(value, Mapping):
        return 0
    return (value.get("cache_control") is not None) + _cached(value.get("content"))
