"""Read the values of a request, or refuse them in the words of the vendor."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import Refusal

KINDS = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    list: "an array of objects",
    Mapping: "an object",
}
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")


def wrong(param: str, reason: str, code: str | None = "invalid_value") -> Refusal:
    """Return the refusal of one parameter."""
    return Refusal(400, f"Invalid '{param}': {reason}.", param=param, code=code)


def missing(param: str) -> Refusal:
    """Return the refusal of a request that leaves out ``param``."""
    return Refusal(400, f"Missing required parameter: '{param}'.", param=param, code="missing_required_parameter")


def value_of(data: Mapping[str, Any], key: str, kind: Any, param: str) -> Any:
    """Return ``data[key]`` where it has the type ``kind``, None where it is absent or null."""
    value = data.get(key)
    if value is None:
        return None
    fits = isinstance(value, (int, float) if kind is float else kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        reason = f"expected {KINDS[kind]}, but got {_named(value)} instead"
        raise Refusal(400, f"Invalid type for '{param}': {reason}.", param=param, code="invalid_type")
    return value


def required(data: Mapping[str, Any], key: str, kind: Any, param: str) -> Any:
    """Return ``data[key]``, which has to be there."""
    value = value_of(data, key, kind, param)
    if value is None:
        raise missing(param)
    return value


def choice_of(data: Mapping[str, Any], key: str, choices: Sequence[str], param: str) -> str | None:
    """Return ``data[key]`` where it is one of ``choices``, None where it is absent or null."""
    value: str | None = value_of(data, key, str, param)
    if value is not None and value not in choices:
        raise unsupported_value(param, value, choices)
    return value


def unsupported_value(param: str, value: Any, choices: Sequence[str]) -> Refusal:
    """Return the refusal of a value that is none of ``choices``."""
    supported = ", ".join(repr(choice) for choice in choices)
    message = f"Invalid value: {value!r}. Supported values are: {supported}."
    return Refusal(400, message, param=param, code="invalid_value")


def check_known(data: Mapping[str, Any], known: Sequence[str], where: str = "") -> None:
    """Refuse a parameter that the protocol does not have."""
    for key in data:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            param = f"{where}.{key}" if where else str(key)
            raise Refusal(400, f"Unknown parameter: '{param}'.{hint}", param=param, code="unknown_parameter")


def tool_name(data: Mapping[str, Any], param: str) -> str:
    """Return a valid name of a tool."""
    name: str = required(data, "name", str, param)
    if not TOOL_NAME.match(name):
        reason = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'"
        raise wrong(param, f"{reason} and has at most 64 characters")
    return name


def metadata_of(data: Mapping[str, Any], param: str = "metadata") -> dict[str, str]:
    """Return the metadata of an object: up to 16 short texts by name."""
    pairs = value_of(data, "metadata", Mapping, param) or {}
    if len(pairs) > 16:
        raise wrong(param, "an object with at most 16 properties is expected")
    for name, text in pairs.items():
        if not isinstance(text, str) or len(text) > 512 or len(name) > 64:
            raise wrong(f"{param}.{name}", "a string of at most 512 characters under a name of at most 64 is expected")
    return dict(pairs)


def _named(value: Any) -> str:
    """Return what a JSON value is, with its article."""
    if isinstance(value, Mapping):
        return "an object"
    return {bool: "a boolean", int: "an integer", float: "a number", str: "a string", list: "an array"}[type(value)]
