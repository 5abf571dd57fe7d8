"""Common to OpenAI's protocols: validating values with its error messages, ids, errors, models, paginated lists."""

from __future__ import annotations

import difflib
import json
import re
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .interface import Play, Refusal, Request, Response

KINDS = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    list: "an array of objects",
    Mapping: "an object",
}
CHOICES = ("none", "auto", "required")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")


def wrong(param: str, reason: str, code: str | None = "invalid_value") -> Refusal:
    """Return the refusal of one parameter."""
    return Refusal(400, f"Invalid '{param}': {reason}.", param=param, code=code)


def missing(param: str) -> Refusal:
    """Return the refusal of a request that lacks ``param``."""
    return Refusal(400, f"Missing required parameter: '{param}'.", param=param, code="missing_required_parameter")


def object_of(data: Any, param: str) -> Mapping[str, Any]:
    """Return ``data`` if it is a JSON object."""
    if not isinstance(data, Mapping):
        raise _mistyped(data, Mapping, param)
    return data


def value_of(data: Mapping[str, Any], key: str, kind: Any, param: str) -> Any:
    """Return ``data[key]`` if it has the type ``kind``, None if it is absent or null."""
    value = data.get(key)
    if value is None:
        return None
    fits = isinstance(value, (int, float) if kind is float else kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise _mistyped(value, kind, param)
    return value


def _mistyped(value: Any, kind: Any, param: str) -> Refusal:
    reason = f"expected {KINDS[kind]}, but got {_named(value)} instead"
    return Refusal(400, f"Invalid type for '{param}': {reason}.", param=param, code="invalid_type")


def required(data: Mapping[str, Any], key: str, kind: Any, param: str) -> Any:
    """Return the required ``data[key]``."""
    value = value_of(data, key, kind, param)
    if value is None:
        raise missing(param)
    return value


def text_of(data: Mapping[str, Any], key: str, param: str) -> str:
    """Return a required non-empty text."""
    text: str = required(data, key, str, param)
    if not text:
        raise wrong(param, "a non-empty string is required")
    return text


def choice_of(data: Mapping[str, Any], key: str, choices: Sequence[str], param: str) -> str | None:
    """Return ``data[key]`` if it is one of ``choices``, None if it is absent or null."""
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
    """Reject a parameter that the protocol does not have."""
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


def function_name(tool: Mapping[str, Any], param: str) -> str:
    """Return the name of a tool after validating its definition under ``function``."""
    function = required(tool, "function", Mapping, f"{param}.function")
    name = tool_name(function, f"{param}.function.name")
    value_of(function, "description", str, f"{param}.function.description")
    parameters = value_of(function, "parameters", Mapping, f"{param}.function.parameters")
    if parameters is not None:
        check_schema(parameters, f"{param}.function.parameters")
    return name


def check_schema(parameters: Mapping[str, Any], param: str) -> None:
    """Reject parameters that are not the JSON schema of an object."""
    if parameters.get("type") != "object":
        raise wrong(param, "schema must be a JSON Schema of 'type: \"object\"'", "invalid_function_parameters")
    properties = value_of(parameters, "properties", Mapping, f"{param}.properties") or {}
    asked = value_of(parameters, "required", list, f"{param}.required") or []
    if not set(map(str, asked)) <= set(properties):
        raise wrong(f"{param}.required", "it must list names that 'properties' holds", "invalid_function_parameters")


def check_choice(choice: Any, names: Collection[str]) -> None:
    """Reject a choice that names none of the offered functions."""
    if choice is None or choice in CHOICES:
        return
    function = choice.get("function") if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if str(name) not in names:
        raise wrong("tool_choice", f"{choice!r} is neither {', '.join(CHOICES)} nor one of the offered tools")


def parsed(arguments: str) -> Mapping[str, Any]:
    """Return arguments as a mapping; a model's mistake is returned to it unparsed, so it is not an error here."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def metadata_of(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata of an object: up to 16 short texts by name."""
    pairs = value_of(data, "metadata", Mapping, "metadata") or {}
    if len(pairs) > 16:
        raise wrong("metadata", "an object with at most 16 properties is expected")
    for name, text in pairs.items():
        if not isinstance(text, str) or len(text) > 512 or len(name) > 64:
            raise wrong(f"metadata.{name}", "a string of at most 512 characters under a name of at most 64 is expected")
    return dict(pairs)


def _named(value: Any) -> str:
    """Return the type of a JSON value, with its article."""
    if isinstance(value, Mapping):
        return "an object"
    named = {bool: "a boolean", int: "an integer", float: "a number", str: "a string", list: "an array"}
    return "null" if value is None else named[type(value)]


_MODEL = "fake-model"
_MODELS = "/v1/models"
_USUAL, _MOST = 20, 100
"""The default and the maximum number of entries on a page."""


def new_id(prefix: str) -> str:
    """Return an id such as ``msg_…``."""
    return f"{prefix}_{uuid.uuid4().hex}"


def error_body(refusal: Refusal) -> dict[str, Any]:
    """Return the error object."""
    error = {"message": refusal.message, "type": refusal.kind, "param": refusal.param, "code": refusal.code}
    return {"error": error}


def unknown_address(request: Request) -> Refusal:
    """Return the refusal of an address that the protocol does not have."""
    return Refusal(404, f"Invalid URL ({request.method} {request.path}).", code="unknown_url")


def check_method(request: Request, *methods: str) -> None:
    """Reject any method other than ``methods``."""
    if request.method not in methods:
        allowed = " or ".join(methods)
        raise Refusal(405, f"Not allowed to {request.method} on {request.path}: use {allowed}.")


class OpenAIWire:
    """What OpenAI's protocols share: the base path, the variables, the models and the form of errors."""

    base_path = "/v1"
    variables = ("OPENAI_BASE_URL", "OPENAI_API_KEY")
    keeps_time = False
    error_body = staticmethod(error_body)

    def respond(self, request: Request, play: Play) -> Response:
        """Return the response to ``request``; every model that has a name exists."""
        if request.path != _MODELS and not request.path.startswith(f"{_MODELS}/"):
            return self.serve(request, play)
        check_method(request, "GET")
        name = request.path.removeprefix(_MODELS).lstrip("/")
        model = {"id": name or _MODEL, "object": "model", "created": 0, "owned_by": "local"}
        return Response(body=model if name else {"object": "list", "data": [model]})

    def serve(self, request: Request, play: Play) -> Response:
        """Return the response to a request for anything other than models."""
        raise unknown_address(request)


def page(entries: Sequence[Mapping[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    """Return the page of ``entries``, given oldest first, that ``query`` asks for: newest first by default."""
    limit = query.get("limit", str(_USUAL))
    if not limit.isdecimal() or not 1 <= int(limit) <= _MOST:
        raise wrong("limit", f"expected a number from 1 to {_MOST}")
    order = choice_of(query, "order", ("asc", "desc"), "order") or "desc"
    listed = list(entries) if order == "asc" else list(reversed(entries))
    ids = [str(entry["id"]) for entry in listed]
    first = _place(ids, query, "after") + 1 if "after" in query else 0
    last = _place(ids, query, "before") if "before" in query else len(ids)
    between = listed[first:last]
    # The page before a given entry is the one that ends at it.
    shown = between[-int(limit) :] if "before" in query and "after" not in query else between[: int(limit)]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": len(shown) < len(between),
    }


def _place(ids: Sequence[str], query: Mapping[str, str], key: str) -> int:
    if query[key] not in ids:
        raise wrong(key, f"no entry of this list has the id '{query[key]}'")
    return ids.index(query[key])
