"""Read the parts that requests of several protocols share: texts, switches, tools and their arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from .errors import Refusal

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_CHOICES = ("none", "auto", "required")


def wrong(param: str, reason: str) -> Refusal:
    """Return the refusal of one parameter."""
    return Refusal(400, f"Invalid '{param}': {reason}.", param=param, code="invalid_value")


def object_of(data: Any, param: str) -> Mapping[str, Any]:
    """Return ``data`` if it is a JSON object."""
    if not isinstance(data, Mapping):
        raise wrong(param, "an object is required")
    return data


def check_keys(data: Mapping[str, Any], known: Collection[str], param: str = "") -> None:
    """Refuse a parameter that the protocol does not know."""
    for key in data:
        if key not in known:
            name = f"{param}.{key}" if param else str(key)
            raise Refusal(400, f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter")


def text_of(data: Mapping[str, Any], key: str, param: str) -> str:
    """Return a required text that is not empty."""
    value = data.get(key)
    if not isinstance(value, str) or not value:
        raise wrong(param, "a non-empty string is required")
    return value


def flag(body: Mapping[str, Any], key: str, *, default: bool = False) -> bool:
    """Return an optional boolean."""
    value = body.get(key)
    if value is not None and not isinstance(value, bool):
        raise wrong(key, "expected a boolean")
    return default if value is None else value


def parsed(arguments: str) -> Mapping[str, Any]:
    """Return arguments as a mapping; what a model got wrong goes back to it unread, so it is no error here."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def tool_name(data: Mapping[str, Any], param: str) -> str:
    """Return a valid tool name."""
    name = data.get("name")
    if not isinstance(name, str) or not _TOOL_NAME.match(name):
        raise wrong(param, f"{name!r} does not match the pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
    return name


def function_name(tool: Mapping[str, Any], param: str) -> str:
    """Return the name of a tool whose definition stands under ``function`` and is sound."""
    function = object_of(tool.get("function"), f"{param}.function")
    name = tool_name(function, f"{param}.function.name")
    if not isinstance(function.get("description", ""), (str, type(None))):
        raise wrong(f"{param}.function.description", "expected a string")
    if function.get("parameters") is not None:
        check_schema(function["parameters"], f"{param}.function.parameters")
    return name


def check_schema(parameters: Any, param: str) -> None:
    """Refuse parameters that are not a JSON schema of an object."""
    if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
        raise wrong(param, "a JSON schema with type 'object' is required")
    properties = object_of(parameters.get("properties", {}), f"{param}.properties")
    required = parameters.get("required", [])
    if not isinstance(required, list) or any(name not in properties for name in required):
        raise wrong(f"{param}.required", "it must list names that 'properties' holds")


def check_choice(choice: Any, names: Collection[str]) -> None:
    """Refuse a tool choice that names no offered tool."""
    if choice is None or choice in _CHOICES:
        return
    function = choice.get("function") if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if name not in names:
        raise wrong("tool_choice", f"{choice!r} is neither {', '.join(_CHOICES)} nor one of the offered tools")
