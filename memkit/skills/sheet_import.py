"""Make a skill of a ``SKILL.md``: what memkit wrote comes back as it was, and of any other nothing goes silently."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memkit.skills.sheet import (
    PROFILES,
    agent_skill,
    compatibility_text,
    folded_description,
    kebab_case,
    sentences,
    short_description,
    title,
)
from memkit.skills.sheet_parts import Section, Sheet, list_items, running
from memkit.skills.skill import Skill, read_skill
from memkit.store.layout import NAME
from memkit.terminal import one_line

_VERSION = re.compile(r"(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})")
_DEPRECATED = re.compile(r"\*\*Deprecated\*\*(?:: (?P<why>.+?)|\.)(?: Use `(?P<other>[a-z0-9][a-z0-9_-]*)` instead\.)?")
_EXAMPLE = re.compile(r"\*\*(?P<input>[^\n]+)\*\*\n(?P<approach>(?s:.+))")
_TOOL = re.compile(r"`(?P<tool>[^\n]+)`")
_PROCEDURE = frozenset({"steps", "instructions", "procedure", "process", "workflow"})
_OWN_NAME = "memkit-name"
_OWN = frozenset({"name", "description", "when_to_use", "metadata"})


@dataclass
class Reading:
    """A skill as a ``SKILL.md`` says it, and what is not in it."""

    data: dict[str, Any]
    """The content of the skill's file."""
    losses: list[str] = field(default_factory=list)
    """A sentence for everything that did not come along or changed its place."""

    @property
    def skill(self) -> Skill:
        """Return the skill; its data is valid or not yet checked."""
        return read_skill(self.data)


def skill_of(sheet: Sheet, name: str) -> Reading:
    """Return the skill ``name`` that a ``SKILL.md`` says.

    Sections that memkit writes become the keys that they were written from. The items of a procedure become steps;
    every other section becomes a step with its heading, so that a reader gets the whole text in its order.
    """
    reading = Reading({"name": name, "description": "", "steps": []})
    opening = _deprecation(sheet.opening, reading.data)
    steps: list[str] = []
    for section in sheet.sections:
        if not _known_section(section, reading):
            steps += _steps(section, reading)
    reading.data["steps"] = steps
    _when_to_use(sheet.fields, reading)
    rest = _description(sheet.fields, running(opening), reading)
    if rest:
        steps.insert(0, rest)
        reading.losses.append("What stands before the first section became step 1.")
    if not steps:
        steps.append(reading.data["description"])
        reading.losses.append("The body says nothing to do, so the one step is the description.")
    _carried(sheet.fields, reading)
    if sheet.title and sheet.title != title(reading.skill):
        reading.losses.append(f"The heading {one_line(sheet.title, 60)!r} is not kept; a heading is made of the name.")
    reading.data = {key: value for key, value in reading.data.items() if value}
    return reading


def sheet_name(fields: Mapping[str, Any]) -> str | None:
    """Return the name that a front matter gives: the one that memkit exported, where it fits, or the public one."""
    name, metadata = fields.get("name"), fields.get("metadata")
    own = metadata.get(_OWN_NAME) if isinstance(metadata, dict) else None
    if isinstance(own, str) and NAME.fullmatch(own) and kebab_case(own) == name:
        return own
    return str(name) if isinstance(name, (str, int, float)) and not isinstance(name, bool) else None


def is_same(text: str, skill: Skill) -> bool:
    """Return whether a skill exports to just this text in some profile, so that nothing was lost."""
    return any(agent_skill(skill, profile) == text for profile in PROFILES)


def _deprecation(opening: str, data: dict[str, Any]) -> str:
    """Take the line that says that a skill is deprecated out of a text."""
    before, _, last = opening.rpartition("\n")
    found = _DEPRECATED.fullmatch(last)
    if not found:
        return opening
    data["deprecated"] = found["why"] or True
    if found["other"]:
        data["superseded_by"] = found["other"]
    return before.rstrip("\n")


def _known_section(section: Section, reading: Reading) -> bool:
    """Take in a section that memkit would write so; return whether it was one. A second one adds to the first."""
    items: list[Any] | None = list_items(section.text)
    key = section.heading.lower().replace(" ", "_")
    if items is None or section.level != 2:
        return False
    if key == "required_tools" and all(map(_TOOL.fullmatch, items)):
        items = [item[1:-1] for item in items if item[1:-1] not in reading.data.get(key, ())]
        items = list(dict.fromkeys(items))
    elif key == "examples" and all(map(_EXAMPLE.fullmatch, items)):
        items = [match.groupdict() for match in map(_EXAMPLE.fullmatch, items) if match]
    elif key not in ("when_to_use", "safety_checks"):
        return False
    if key in reading.data:
        reading.losses.append(f"The sections {section.heading!r} became one.")
    reading.data.setdefault(key, []).extend(items)
    return True


def _steps(section: Section, reading: Reading) -> Iterator[str]:
    items = list_items(section.text)
    if items is not None and section.heading.lower() in _PROCEDURE:
        yield from items
        return
    heading = f"{'#' * section.level} {section.heading}"
    reading.losses.append(f"The section {one_line(section.heading, 60)!r} became a step.")
    yield f"{heading}\n\n{section.text}".strip()


def _when_to_use(fields: Mapping[str, Any], reading: Reading) -> None:
    """Take the field for when to use a skill; memkit writes the same into the body, and there it is whole."""
    given = fields.get("when_to_use")
    if isinstance(given, str) and given.strip():
        known = sentences(tuple(reading.data.get("when_to_use", ())))
        if not known.startswith(given.removesuffix("…")):
            reading.data["when_to_use"] = [given, *reading.data.get("when_to_use", ())]
    elif given is not None:
        reading.losses.append("The field when_to_use is no text, and is left out.")


def _description(fields: Mapping[str, Any], opening: str, reading: Reading) -> str:
    """Take the description, whole where the body has it whole, and return what else the opening says."""
    given = str(fields.get("description", ""))
    reading.data["description"] = opening
    if opening and given in (short_description(reading.skill), folded_description(reading.skill)):
        return ""
    when = sentences(tuple(reading.data.get("when_to_use", ())))
    reading.data["description"] = given.removesuffix(f" Use when: {when}") if when else given
    return "" if one_line(opening) == one_line(given) else opening


def _carried(fields: Mapping[str, Any], reading: Reading) -> None:
    """Take the version, and carry what is said to other tools."""
    kept = {key: value for key, value in fields.items() if key not in _OWN and _can_be_kept(key, value, reading)}
    compatibility = kept.get("compatibility")
    if isinstance(compatibility, str):
        tools = compatibility_text(reading.skill)
        kept["compatibility"] = compatibility.removesuffix(tools).rstrip() if tools else compatibility
    metadata = _metadata(fields, reading)
    version = metadata.pop("version", "")
    if _VERSION.fullmatch(version):
        reading.data["version"] = version
    elif version:
        metadata["version"] = version
        reading.losses.append(f"The version {one_line(version, 40)!r} is not of the form 1.2.3; it stays in metadata.")
    if metadata:
        kept["metadata"] = metadata
    reading.data["front_matter"] = {key: value for key, value in kept.items() if value not in ("", [])}


def _can_be_kept(key: str, value: Any, reading: Reading) -> bool:
    texts = isinstance(value, list) and all(isinstance(item, str) and item for item in value)
    if (isinstance(value, (str, int, float)) or texts) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", key):
        return True
    reading.losses.append(f"The field {one_line(key, 60)} is neither a value nor a list of texts, and is left out.")
    return False


def _metadata(fields: Mapping[str, Any], reading: Reading) -> dict[str, str]:
    value = fields.get("metadata")
    if value is None:
        return {}
    if not isinstance(value, dict):
        reading.losses.append("The field metadata is no map, and is left out.")
        return {}
    others = {key: item for key, item in value.items() if key != _OWN_NAME}
    if value.get(_OWN_NAME, sheet_name(fields)) != sheet_name(fields):
        public = one_line(str(fields.get("name")), 60)
        reading.losses.append(f"metadata.{_OWN_NAME} is not what {public!r} was written from, and is left out.")
    kept = {key: item for key, item in others.items() if isinstance(item, (str, int, float))}
    for key in others.keys() - kept.keys():
        reading.losses.append(f"metadata.{one_line(key, 60)} is no text, and is left out.")
    return {key: str(item).lower() if isinstance(item, bool) else str(item) for key, item in kept.items()}
