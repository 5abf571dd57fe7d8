"""What a model is told about the memory tools, and the check of what it hands them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..record.errors import ArchiveError
from ..record.record import TYPES
from ..settings import GIVEN_SECTIONS

MAX_RESULTS = 50


class ToolInputError(ArchiveError):
    """Say which argument of a tool call is wrong and what it should be.

    >>> tools = MemoryTools(MainContext(), ArchivalStore())
    >>> tools.call("archival_memory_insert", {"texts": "Ada likes tea"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    memkit.runtime.memory.tiers.specs.ToolInputError: archival_memory_insert: texts is not an argument. ...
    """

    exit_code = 2


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _tool(name: str, description: str, required: tuple[str, ...], **properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return {"name": name, "description": description, "parameters": parameters}


SECTION = {
    "type": "string",
    "enum": list(GIVEN_SECTIONS),
    "description": "human: the user; persona: you; system: the work.",
}
TOP_K = {"type": "integer"}

SPECS: tuple[dict[str, Any], ...] = (
    _tool(
        "archival_memory_insert",
        "Remember one statement for good, as soon as the user says or corrects something that matters in later "
        "sessions. No passwords, keys or card numbers, small talk, passing states, nor what you recalled.",
        ("text",),
        text=_text("One fact, understandable on its own."),
        tags={"type": "array", "items": {"type": "string"}},
        type={"type": "string", "enum": list(TYPES)},
        supersedes=_text("Id of the record that it corrects."),
    ),
    _tool(
        "archival_memory_search",
        "Look in long-term memory before you answer what depends on the user, earlier sessions or decisions. Cite the "
        "ids you use.",
        ("query",),
        query=_text("Without words, the newest are listed."),
        top_k=TOP_K,
        type={"type": "string", "description": "Such as goal."},
        as_of=_text("What was true on this day."),
    ),
    _tool(
        "core_memory_append",
        "Add a line to core memory, which you see in every turn: names, standing wishes, the project.",
        ("section", "text"),
        section=SECTION,
        text={"type": "string"},
    ),
    _tool(
        "core_memory_replace",
        "Correct core memory; old must stand there exactly once.",
        ("section", "old", "new"),
        section={"type": "string", "enum": list(GIVEN_SECTIONS)},
        old={"type": "string"},
        new={"type": "string"},
    ),
    _tool(
        "conversation_search",
        "Look in earlier sessions and turns that you no longer see.",
        ("query",),
        query={"type": "string"},
        limit=TOP_K,
    ),
    _tool(
        "memory_value",
        "Keep an exact value under a key, or read it.",
        ("key",),
        key={"type": "string"},
        value={"type": "string"},
    ),
)
ALIASES = {
    "content": "text", "label": "section", "block": "section", "old_content": "old", "new_content": "new",
    "old_str": "old", "new_str": "new", "old_string": "old", "new_string": "new",
}  # fmt: skip
"""Names under which models know these arguments from other systems."""

KINDS: Mapping[str, tuple[type[Any], ...]] = {"string": (str,), "integer": (int,), "array": (list, tuple)}


def specs_with(sections: Iterable[str]) -> Sequence[dict[str, Any]]:
    """Return the descriptions of the tools where core memory has these sections."""
    names = list(dict.fromkeys([*GIVEN_SECTIONS, *sections]))
    return SPECS if names == list(GIVEN_SECTIONS) else [_with_sections(spec, names) for spec in SPECS]


def _with_sections(spec: dict[str, Any], names: list[str]) -> dict[str, Any]:
    parameters = spec["parameters"]
    if "section" not in parameters["properties"]:
        return spec
    section = {**parameters["properties"]["section"], "enum": names}
    return {**spec, "parameters": {**parameters, "properties": {**parameters["properties"], "section": section}}}


def spec_of(name: str, sections: Iterable[str] = GIVEN_SECTIONS) -> dict[str, Any]:
    """Return the description of one tool, or raise ToolInputError naming those that exist."""
    for spec in specs_with(sections):
        if spec["name"] == name:
            return spec
    raise ToolInputError(
        f"There is no memory tool {name!r:.60}. There are {', '.join(spec['name'] for spec in SPECS)}."
    )


def checked_arguments(name: str, args: Mapping[str, Any], sections: Iterable[str] = GIVEN_SECTIONS) -> dict[str, Any]:
    """Return ``args`` under the tool's own names, or raise ToolInputError for the first that does not fit."""
    if not isinstance(args, Mapping):
        raise ToolInputError(f"{name}: the arguments must be an object.")
    parameters = spec_of(name, sections)["parameters"]
    properties = parameters["properties"]
    checked: dict[str, Any] = {}
    for given, value in args.items():
        key = _own_name(str(given), properties)
        if key in checked:
            raise ToolInputError(f"{name}: {key} is given twice.")
        checked[key] = _checked_value(f"{name}: {key}", value, properties.get(key), properties)
    for key in parameters["required"]:
        if key not in checked:
            raise ToolInputError(f"{name}: {key} is missing.")
    return {key: value for key, value in checked.items() if value is not None}


def _own_name(given: str, properties: Mapping[str, Any]) -> str:
    if given in properties:
        return given
    if given in ("limit", "top_k", "k"):
        return next((key for key in ("top_k", "limit") if key in properties), given)
    return ALIASES.get(given, given)


def _checked_value(place: str, value: Any, schema: Mapping[str, Any] | None, known: Mapping[str, Any]) -> Any:
    if schema is None:
        raise ToolInputError(f"{place[:100]} is not an argument. There are {', '.join(known)}.")
    if value is None:
        return None
    kind = schema["type"]
    if isinstance(value, bool) or not isinstance(value, KINDS[kind]):
        raise ToolInputError(f"{place} must be {'an' if kind[0] in 'ai' else 'a'} {kind}.")
    if kind == "array" and not all(isinstance(item, str) for item in value):
        raise ToolInputError(f"{place} must hold strings only.")
    choices = TYPES if place.endswith(": type") else schema.get("enum", (value,))
    if value not in choices:
        raise ToolInputError(f"{place} must be one of {', '.join(choices)}.")
    if kind == "integer" and not 1 <= value <= MAX_RESULTS:
        raise ToolInputError(f"{place} must be from 1 to {MAX_RESULTS}.")
    return value
