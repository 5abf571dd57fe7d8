"""What a model is told about the five memory tools, and the check of what it hands them."""

from collections.abc import Mapping
from typing import Any

from ..record.errors import ArchiveError
from ..record.fields import TYPES
from .context import SECTIONS

MAX_RESULTS = 50


class ToolInputError(ArchiveError):
    """Say which argument of a tool call is wrong and what it should be."""

    exit_code = 2


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _tool(name: str, description: str, required: tuple[str, ...], **properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return {"name": name, "description": description, "parameters": parameters}


SECTION = {
    "type": "string",
    "enum": list(SECTIONS),
    "description": "human: about the user; persona: about you; system: about the work.",
}
TOP_K = {
    "type": "integer",
    "minimum": 1,
    "maximum": MAX_RESULTS,
    "description": "How many results at most (default 5).",
}

SPECS: tuple[dict[str, Any], ...] = (
    _tool(
        "archival_memory_insert",
        "Remember one fact, preference, constraint, goal, event or outcome for good. Use it as soon as the user states "
        "something that will matter in a later session, or corrects it (then name the old record in supersedes). "
        "One statement per call, in whole words, without passwords, keys or card numbers. Not for small talk, passing "
        "states or what you just recalled.",
        ("text",),
        text=_text("The statement, understandable on its own: who, what, when."),
        tags={"type": "array", "items": {"type": "string"}, "description": "A few words to find it by."},
        type={"type": "string", "enum": list(TYPES), "description": "Left out, it follows from the wording."},
        supersedes=_text("Id of the record that this one corrects."),
    ),
    _tool(
        "archival_memory_search",
        "Look in long-term memory. Use it before you answer anything that depends on the user, earlier sessions or "
        "past decisions and is not in core memory or the visible messages. Cite the ids of the records you use.",
        ("query",),
        query=_text("The words that the record would contain; without any, the newest records are listed."),
        top_k=TOP_K,
        type={"type": "string", "enum": list(TYPES), "description": "Only such records, for instance open goals."},
        as_of=_text("A day, as in 2026-03-14: what was true then, also if it was corrected since."),
    ),
    _tool(
        "core_memory_append",
        "Add a line to core memory, which you see in every turn. Use it for the few things that matter always: the "
        "user's name, standing wishes, the present project. Everything else belongs into archival memory.",
        ("section", "text"),
        section=SECTION,
        text=_text("The line to add."),
    ),
    _tool(
        "core_memory_replace",
        "Correct core memory. Use it when the user corrects something that stands there; `old` must occur once.",
        ("section", "old", "new"),
        section=SECTION,
        old=_text("The exact text that stands there now."),
        new=_text("The text to stand there instead."),
    ),
    _tool(
        "conversation_search",
        "Look in what was said in this and earlier conversations, also in turns that are no longer visible. Use it "
        "when the user refers to something said before that you do not see.",
        ("query",),
        query=_text("Words that were said."),
        limit=TOP_K,
    ),
)

ALIASES = {
    "content": "text", "label": "section", "block": "section", "old_content": "old", "new_content": "new",
    "old_str": "old", "new_str": "new", "old_string": "old", "new_string": "new",
}  # fmt: skip
"""Names under which models know these arguments from other systems."""

KINDS: Mapping[str, tuple[type[Any], ...]] = {"string": (str,), "integer": (int,), "array": (list, tuple)}


def spec_of(name: str) -> dict[str, Any]:
    """Return the description of one tool, or raise ToolInputError naming those that exist."""
    for spec in SPECS:
        if spec["name"] == name:
            return spec
    raise ToolInputError(
        f"There is no memory tool {name!r:.60}. There are {', '.join(spec['name'] for spec in SPECS)}."
    )


def checked_arguments(name: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``args`` under the tool's own names, or raise ToolInputError for the first that does not fit."""
    if not isinstance(args, Mapping):
        raise ToolInputError(f"{name}: the arguments must be an object.")
    parameters = spec_of(name)["parameters"]
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
    if "enum" in schema and value not in schema["enum"]:
        raise ToolInputError(f"{place} must be one of {', '.join(schema['enum'])}.")
    if kind == "integer" and not schema["minimum"] <= value <= schema["maximum"]:
        raise ToolInputError(f"{place} must be from {schema['minimum']} to {schema['maximum']}.")
    return value
