# ruff: noqa: SIM905 (lists of words read better as text)
"""The descriptions of the memory tools for a model, and the validation of its arguments."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..interface import GIVEN_SECTIONS
from ..record.lines import ArchiveError
from ..record.record import TYPES

MAX_RESULTS = 50


class ToolInputError(ArchiveError):
    """Report which argument of a tool call is wrong and what it should be.

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
INSERT = "archival_memory_insert"

SPECS: tuple[dict[str, Any], ...] = (
    _tool(
        INSERT,
        "Remember what matters in later sessions, as soon as the user says or corrects it. No secrets, small talk, "
        "passing states or recalled text.",
        ("text",),
        text=_text("One fact, understandable on its own."),
        tags={"type": "array", "items": {"type": "string"}},
        type={"type": "string", "enum": list(TYPES)},
        supersedes=_text("Id of the record that it corrects."),
    ),
    _tool(
        "archival_memory_search",
        "Look in long-term memory before you answer what depends on the user or earlier sessions, or say that you do "
        "not know.",
        ("query",),
        query=_text("Without words, the newest are listed."),
        top_k=TOP_K,
        type={"type": "string"},
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
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "text": ("content", "fact", "memory", "statement", "information"),
    "query": ("q", "search_query", "question", "keywords"),
    "section": ("label", "block", "block_label", "section_name"),
    "old": ("old_content", "old_str", "old_string", "old_text"),
    "new": ("new_content", "new_str", "new_string", "new_text"),
    "tags": ("tag", "labels"),
    "top_k": ("limit", "k", "n", "count", "max_results"),
    "limit": ("top_k", "k", "n", "count", "max_results"),
}
"""Names under which models know these arguments from other systems."""
OTHER_SECTIONS = {"user": "human", "agent": "persona", "assistant": "persona"}
IMPORTANCE = {"low": 0.3, "medium": 0.5, "normal": 0.5, "high": 0.8, "critical": 1.0}
"""Words that a model may use for a record's importance; it is offered no such argument, but gives it out of habit."""
STAMPED = frozenset(
    """user_id user session_id session turn_id turn agent_id agent actor source source_url scope trust taint parents
    as_user for_user owner""".split()
)
"""Values set only by the host; a model that passes one means something other than what would happen."""
SEPARATORS = re.compile(r"[,;\n]")

KINDS: Mapping[str, tuple[type[Any], ...]] = {"string": (str,), "integer": (int,), "array": (list, tuple)}


def specs_with(sections: Iterable[str]) -> Sequence[dict[str, Any]]:
    """Return the tool descriptions for core memory with these sections."""
    names = list(dict.fromkeys([*GIVEN_SECTIONS, *sections]))
    return SPECS if names == list(GIVEN_SECTIONS) else [_with_sections(spec, names) for spec in SPECS]


def _with_sections(spec: dict[str, Any], names: list[str]) -> dict[str, Any]:
    parameters = spec["parameters"]
    if "section" not in parameters["properties"]:
        return spec
    section = {**parameters["properties"]["section"], "enum": names}
    return {**spec, "parameters": {**parameters, "properties": {**parameters["properties"], "section": section}}}


def spec_of(name: str, sections: Iterable[str] = GIVEN_SECTIONS) -> dict[str, Any]:
    """Return the description of one tool; raise ToolInputError naming the existing ones otherwise."""
    for spec in specs_with(sections):
        if spec["name"] == name:
            return spec
    raise ToolInputError(
        f"There is no memory tool {name!r:.60}. There are {', '.join(spec['name'] for spec in SPECS)}."
    )


def own_names(name: str, args: Mapping[str, Any], sections: Iterable[str] = GIVEN_SECTIONS) -> dict[str, Any]:
    """Return ``args`` in the tool's own spelling: argument names, case of sections and types, tags as a list.

    Unknown arguments stay unchanged, and so does a second name for an argument already given. What may be omitted and
    is empty counts as omitted: models fill in every argument that they are shown.

    >>> own_names("core_memory_append", {"Label": "Human", "content": "Likes tea"})
    {'section': 'human', 'text': 'Likes tea'}
    >>> own_names("archival_memory_insert", {"text": "Ada has a boat", "type": "", "tags": "", "supersedes": ""})
    {'text': 'Ada has a boat'}
    """
    parameters = spec_of(name, sections)["parameters"]
    properties = parameters["properties"]
    known = {other: key for key in properties for other in OTHER_NAMES.get(key, ())}
    named: dict[str, Any] = {}
    for given, value in args.items():
        plain = re.sub(r"(?<=[a-z])(?=[A-Z])|[\s-]+", "_", str(given).strip()).casefold()
        key = plain if plain in properties or plain == "importance" else known.get(plain, str(given))
        named[str(given) if key in named else key] = value
    if isinstance(section := named.get("section"), str):
        named["section"] = _own_section(section, sections)
    if isinstance(kind := named.get("type"), str):
        named["type"] = kind.strip().casefold()
    if isinstance(tags := named.get("tags"), str) and "tags" in properties and not tags.lstrip().startswith("["):
        named["tags"] = [tag for part in SEPARATORS.split(tags) if (tag := part.strip().lstrip("#"))]
    omitted = {*properties, "importance"} - {*parameters["required"]}
    return {key: value for key, value in named.items() if key not in omitted or value not in ("", [], [""])}


def _own_section(given: str, sections: Iterable[str]) -> str:
    names = {name.casefold(): name for name in (*GIVEN_SECTIONS, *sections)}
    plain = given.strip().casefold()
    return names.get(plain) or names.get(OTHER_SECTIONS.get(plain, ""), given)


def checked_arguments(name: str, args: Mapping[str, Any], sections: Iterable[str] = GIVEN_SECTIONS) -> dict[str, Any]:
    """Return the arguments that the tool takes, under its own names; raise ToolInputError for the first invalid one.

    Extra arguments are dropped (``ignored`` names them); one that would say whose memory it is, is an error.
    """
    if not isinstance(args, Mapping):
        raise ToolInputError(f"{name}: the arguments must be an object.")
    parameters = spec_of(name, sections)["parameters"]
    properties = parameters["properties"]
    named = own_names(name, args, sections)
    importance = named.pop("importance", None) if name == INSERT else None
    for key in named:
        if twice := next((own for own in properties if key in OTHER_NAMES.get(own, ())), None):
            raise ToolInputError(f"{name}: {twice} is given twice.")
        if key.casefold() in STAMPED:
            raise _unknown(name, key, properties)
    checked = {
        key: _checked_value(f"{name}: {key}", value, properties[key])
        for key, value in named.items()
        if key in properties and value is not None
    }
    if missing := next((key for key in parameters["required"] if key not in checked), None):
        unknown = next((key for key in named if key not in properties), None)
        raise _unknown(name, unknown, properties) if unknown else ToolInputError(f"{name}: {missing} is missing.")
    return checked if importance is None else {**checked, "importance": _importance(importance)}


def ignored(name: str, args: Mapping[str, Any], sections: Iterable[str] = GIVEN_SECTIONS) -> list[str]:
    """Return the names in ``args`` that the tool does not know."""
    known = spec_of(name, sections)["parameters"]["properties"]
    extra = ("importance",) if name == INSERT else ()
    return [key for key in own_names(name, args, sections) if key not in known and key not in extra]


def _unknown(name: str, key: str, known: Iterable[str]) -> ToolInputError:
    return ToolInputError(f"{name}: {key[:60]} is not an argument. There are {', '.join(known)}.")


def _importance(given: Any) -> float:
    """Return an importance given as a word or as a number from 0 to 1."""
    told = str(given).strip().casefold()
    try:
        value = IMPORTANCE[told] if told in IMPORTANCE else float(told)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ToolInputError(f"{INSERT}: importance must be {', '.join(IMPORTANCE)} or a number from 0 to 1.")
    return value


def _checked_value(place: str, value: Any, schema: Mapping[str, Any]) -> Any:
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
