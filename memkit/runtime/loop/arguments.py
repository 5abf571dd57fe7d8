"""Read and check the arguments that a model gives to a tool."""

from __future__ import annotations

import json
from collections.abc import Mapping

from .interface import JSON

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}


def read_arguments(args: Mapping[str, JSON] | str | None) -> dict[str, JSON] | None:
    r"""Return the arguments as a dict, or None when they are no JSON object; JSON has no infinite numbers.

    >>> read_arguments('{"to": "bob"}'), read_arguments("to bob"), read_arguments(r'{"to": "half a pair: \ud83d"}')
    ({'to': 'bob'}, None, None)
    """
    if args is None or args == "":
        return {}
    try:
        value = {str(key): item for key, item in args.items()} if isinstance(args, Mapping) else json.loads(args)
        # Python reads NaN, 1e999 and half of a surrogate pair, which no server takes back and no envelope can hold.
        json.dumps(value, allow_nan=False, ensure_ascii=False, default=str).encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def problems(schema: Mapping[str, JSON], args: Mapping[str, JSON]) -> list[str]:
    """Return what is wrong with ``args``: missing, unknown or of the wrong type.

    >>> problems({"properties": {"to": {"type": "string"}}, "required": ["to"]}, {"too": 1})
    ["'to' is missing", "'too' is unknown (known: to)"]
    """
    properties = schema.get("properties") or {}
    found = [f"{name!r} is missing" for name in schema.get("required", ()) if name not in args]
    for name, value in args.items():
        rule = properties.get(name)
        if rule is None:
            if schema.get("additionalProperties", False) is False:
                found.append(f"{name!r} is unknown (known: {', '.join(properties) or 'none'})")
        elif (problem := _mismatch(rule, value)) is not None:
            found.append(f"{name!r} {problem}")
    return found


def _mismatch(rule: Mapping[str, JSON], value: JSON) -> str | None:
    wanted = rule.get("type")
    names = [wanted] if isinstance(wanted, str) else list(wanted or ())
    if names and not any(_is(value, name) for name in names):
        return f"must be {' or '.join(names)}"
    if "enum" in rule and value not in rule["enum"]:
        return f"must be one of {', '.join(map(str, rule['enum']))}"
    return None


def _is(value: JSON, name: str) -> bool:
    if isinstance(value, bool) and name in {"integer", "number"}:
        return False
    return isinstance(value, TYPES.get(name, (object,)))
