"""Read the tools that a request offers: functions of the client, alone or many in a namespace."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..reading import CHOICES, check_known, check_schema, required, tool_name, unsupported_value, value_of, wrong

KEYS = ("allowed_callers", "defer_loading", "description", "name", "output_schema", "parameters", "strict", "type")
NAMESPACE = ("description", "name", "tools", "type")
SEARCH_OFFLINE = {"type": "web_search", "external_web_access": False}
"""What a client offers that may not search the web; a script never calls it."""


def read_tools(data: Mapping[str, Any], param: str = "tools", namespace: str = "") -> dict[str, str]:
    """Return the names of the offered tools, each with its namespace, which is empty for a tool that stands alone."""
    names: dict[str, str] = {}
    for number, tool in enumerate(value_of(data, "tools", list, param) or ()):
        place = f"{param}[{number}]"
        kind = _kind(tool, place)
        if kind == "namespace" and not namespace:
            check_known(tool, NAMESPACE, place)
            inner = read_tools(tool, f"{place}.tools", tool_name(tool, f"{place}.name"))
            names = {**inner, **names}  # a name means the tool that stands alone, or the first that bears it
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
    name = tool_name(tool, f"{param}.name")  # first, as the form of Chat Completions has it one level deeper
    check_known(tool, KEYS, param)
    value_of(tool, "description", str, f"{param}.description")
    strict = value_of(tool, "strict", bool, f"{param}.strict")
    parameters = value_of(tool, "parameters", Mapping, f"{param}.parameters")
    if parameters is not None:
        _check_parameters(parameters, f"{param}.parameters", strict=bool(strict))
    return name


def _check_parameters(parameters: Mapping[str, Any], param: str, *, strict: bool) -> None:
    """Refuse parameters that are not a JSON schema of an object, or not one that can be kept to strictly."""
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
    """Refuse a choice of a tool that is not offered."""
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
