"""Import a ``SKILL.md`` as a skill: memkit's own output comes back unchanged, and no loss from others is silent."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from memkit.errors import UsageError
from memkit.runtime.host.terminal import is_unsafe, one_line
from memkit.skills.package import ARCHIVES, open_package
from memkit.skills.sheet import (
    MADE_ANEW,
    PROCEDURE,
    PROFILES,
    Section,
    SheetTarget,
    agent_skill,
    compatibility_text,
    folded_description,
    kebab_case,
    list_items,
    reads_as_section,
    running_text,
    sections_of,
    sentences,
    short_description,
    title,
)
from memkit.skills.skill import Skill, read_skill
from memkit.store.layout import MAX_BYTES, NAME, file_bytes, why_not
from memkit.store.yaml import YamlError, load_yaml

_NAMES = ("SKILL.md", "skill.md")
_MOST_OTHERS = 1_000
"""The most files beside it that are examined; a folder that is not a skill can be a whole disk."""


@dataclass(frozen=True)
class SheetFile:
    """A ``SKILL.md`` that was read."""

    path: Path
    folder: str | None
    """The name of the given folder; None if the file itself was given."""
    text: str
    digest: str
    """SHA-256 of its bytes."""
    others: tuple[str, ...] = ()
    """The other files in the folder, by path."""
    inside: str = "SKILL.md"
    """Its path in the package that contained it."""


def open_sheet(place: Path) -> SheetFile:
    """Return the ``SKILL.md`` at ``place``, which is the file or its folder.

    Raises:
        UsageError: There is none, or it is a link, not a file, too large, not UTF-8, or has control characters.
    """
    is_folder = place.is_dir()
    if not is_folder and place.name.lower().endswith(ARCHIVES):
        return _in_archive(place)
    path = _in_folder(place) if is_folder else place
    if path.is_symlink():
        raise UsageError(f"{path} is a link, and links are not followed. Give the file it points to.")
    try:
        content = file_bytes(path)
    except FileNotFoundError:
        raise UsageError(f"There is no {path}. Give a SKILL.md or the folder that contains one.") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {why_not(error)}") from None
    if len(content) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES:,} bytes, but agents read all of a skill. Shorten it.")
    folder = place.resolve().name if is_folder else None
    others = tuple(sorted(_others(place))) if is_folder else ()
    return SheetFile(path, folder, _text(content, path), hashlib.sha256(content).hexdigest(), others, path.name)


def _in_archive(place: Path) -> SheetFile:
    package = open_package(place)
    files = package.own
    inside = next((name for name in _NAMES if name in files), None)
    if inside is None:
        more = sorted(path for path in files if PurePosixPath(path).name in _NAMES)
        several = f" It has {one_line(', '.join(more), 200)}: unpack it, and import one folder." if more else ""
        raise UsageError(f"{place} has no SKILL.md at its top.{several or ' Give an archive of one skill.'}")
    content, path = files[inside].content, place / files[inside].path
    if len(content) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES:,} bytes, but agents read all of a skill. Shorten it.")
    around = files[inside].path.removesuffix(inside).strip("/")
    others = tuple(sorted(files.keys() - {inside})[:_MOST_OTHERS])
    digest = hashlib.sha256(content).hexdigest()
    return SheetFile(path, around or None, _text(content, path), digest, others, files[inside].path)


def _in_folder(folder: Path) -> Path:
    try:
        present = {entry.name for entry in os.scandir(folder)}
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror or error}.") from None
    found = next((name for name in _NAMES if name in present), None)
    if found is None:
        raise UsageError(f"{folder} has no SKILL.md. Give a SKILL.md or the folder that contains one.")
    return folder / found


def _text(content: bytes, path: Path) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UsageError(f"{path}:{line}: This is not UTF-8. Save the file as UTF-8.", line=line) from None
    wrong = next((place for place, char in enumerate(text) if ord(char) < 32 and char not in "\n\r\t"), None)
    if wrong is not None:
        line = text[:wrong].count("\n") + 1
        raise UsageError(f"{path}:{line}: {text[wrong]!r} is a control character, not text.", line=line)
    return text


def _others(folder: Path) -> Iterator[str]:
    """Yield the files beside the ``SKILL.md``; links are listed and not followed."""
    count = 0
    for place, folders, files in os.walk(folder):
        for name in (*files, *(each for each in folders if (Path(place) / each).is_symlink())):
            path = (Path(place) / name).relative_to(folder).as_posix()
            if path not in _NAMES:
                count += 1
                if count > _MOST_OTHERS:
                    return
                yield "".join("?" if is_unsafe(char) else char for char in path)


@dataclass(frozen=True)
class Sheet:
    """A ``SKILL.md``."""

    fields: Mapping[str, Any]
    """The front matter."""
    title: str
    """The first-level heading at the beginning of the body, or empty."""
    opening: str
    """The text before the first section."""
    sections: tuple[Section, ...]
    body: str = ""
    """The unchanged text below the front matter."""

    @property
    def headings(self) -> list[str]:
        """Return its headings as they are written."""
        titles = [f"# {self.title}"] if self.title else []
        return [*titles, *(f"{'#' * one.level} {one.heading}" for one in self.sections)]


def read_sheet(text: str, name: str) -> Sheet:
    """Return the parts of a ``SKILL.md``, whatever its line ends.

    Raises:
        UsageError: The front matter is missing, unterminated, not a map, or unreadable; the place is named.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise UsageError(
            f"{name}:1: A SKILL.md must start with front matter between two lines of '---'.", path=name, line=1
        )
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise UsageError(f"{name}:1: The front matter does not end: a second line of '---' is missing.", path=name)
    try:
        # The extra line at the top keeps the positions in messages correct.
        fields = load_yaml("\n".join(["", *lines[1:end], ""]), name=name).data
    except YamlError as error:
        advice = " Quote a text that has ': ' in it." if "mapping values" in error.problem else ""
        raise UsageError(f"{error}{advice}", path=name, line=error.line) from None
    if not isinstance(fields, dict):
        raise UsageError(f"{name}:2: The front matter is not a map of fields such as 'name: …'.", path=name, line=2)
    sections = list(sections_of(lines[end + 1 :]))
    opening = sections.pop(0).text
    titled = not opening and sections and sections[0].level == 1
    title = sections.pop(0) if titled else Section("", 1)
    body = "\n".join(lines[end + 1 :])
    return Sheet(fields, title.heading, opening or title.text, tuple(sections), body)


def running(text: str) -> str:
    """Return running text without the escapes that keep Markdown from interpreting its lines."""
    return "\n".join(map(running_text, text.split("\n")))


_VERSION = re.compile(r"(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})")
_DEPRECATED = re.compile(r"\*\*Deprecated\*\*(?:: (?P<why>.+?)|\.)(?: Use `(?P<other>[a-z0-9][a-z0-9_-]*)` instead\.)?")
_EXAMPLE = re.compile(r"\*\*(?P<input>[^\n]+)\*\*\n(?P<approach>(?s:.+))")
_TOOL = re.compile(r"`(?P<tool>[^\n]+)`")
_OWN_NAME, _GENERATES, _TRY = "memkit-name", "memkit-generates", "memkit-try"
_GENERATED = ("virtual-memory", "hybrid-planner")
_OWN = frozenset({"name", "description", "when_to_use", "metadata"})


@dataclass
class Reading:
    """A skill as described by a ``SKILL.md``, and what it lacks."""

    data: dict[str, Any]
    """The content of the skill's file."""
    losses: list[str] = field(default_factory=list)
    """A sentence for everything that was lost or moved."""

    @property
    def skill(self) -> Skill:
        """Return the skill; its data is valid or not yet checked."""
        return read_skill(self.data)


def skill_of(sheet: Sheet, name: str) -> Reading:
    """Return the skill ``name`` that a ``SKILL.md`` describes.

    Sections written by memkit become the keys they came from. The items of a procedure become steps;
    every other section becomes a step with its heading, so that a reader gets the whole text in its order.
    """
    reading = Reading({"name": name, "description": "", "steps": []})
    _generates(sheet, reading)
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
        reading.losses.append("The text before the first section became step 1.")
    if not steps:
        steps.append(reading.data["description"])
        reading.losses.append("The body has no instructions, so the description became the only step.")
    _carried(sheet.fields, reading)
    if sheet.title and sheet.title != title(reading.skill):
        reading.losses.append(
            f"The heading {one_line(sheet.title, 60)!r} is kept only in SKILL.md; the skill's own comes from its name."
        )
    reading.data = {key: value for key, value in reading.data.items() if value}
    return reading


def sheet_name(fields: Mapping[str, Any]) -> str | None:
    """Return the name in a front matter: the one that memkit exported, if it fits, or the public one."""
    name, metadata = fields.get("name"), fields.get("metadata")
    own = metadata.get(_OWN_NAME) if isinstance(metadata, dict) else None
    if isinstance(own, str) and NAME.fullmatch(own) and kebab_case(own) == name:
        return own
    return str(name) if isinstance(name, (str, int, float)) and not isinstance(name, bool) else None


def is_same(text: str, skill: Skill, targets: Sequence[SheetTarget] = ()) -> bool:
    """Return whether a skill exports to exactly this text in some profile, so that nothing was lost."""
    return any(agent_skill(skill, profile, targets) == text for profile in PROFILES)


def _generates(sheet: Sheet, reading: Reading) -> None:
    """Read what memkit generates from the skill, if it is described as memkit writes it."""
    metadata = sheet.fields.get("metadata")
    skill = metadata.get(_GENERATES) if isinstance(metadata, dict) else None
    wired = next((one for one in sheet.sections if (one.level, one.heading) == (2, "What it wires")), None)
    wires = list_items(wired.text) if wired else None
    if skill in _GENERATED and wires:
        trial = str(metadata.get(_TRY) or "") if isinstance(metadata, dict) else ""
        reading.data["generates"] = {"skill": skill, "wires": wires, **({"try": trial} if trial.strip() else {})}


def _deprecation(opening: str, data: dict[str, Any]) -> str:
    """Remove the line that says that a skill is deprecated from a text."""
    before, _, last = opening.rpartition("\n")
    found = _DEPRECATED.fullmatch(last)
    if not found:
        return opening
    data["deprecated"] = found["why"] or True
    if found["other"]:
        data["superseded_by"] = found["other"]
    return before.rstrip("\n")


def _known_section(section: Section, reading: Reading) -> bool:
    """Read a section if it is one that memkit would write; return whether it was. A second one adds to the first."""
    items: list[Any] | None = list_items(section.text)
    key = section.heading.lower().replace(" ", "_")
    if section.level == 2 and "generates" in reading.data and section.heading.lower() in {"what it wires", *MADE_ANEW}:
        return True
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
    if items is not None and section.heading.lower() in PROCEDURE:
        yield from items
        return
    if not reads_as_section(section.step):
        reading.losses.append(f"The section {one_line(section.heading, 60)!r} became a step.")
    yield section.step


def _when_to_use(fields: Mapping[str, Any], reading: Reading) -> None:
    """Read the field for when to use a skill; memkit writes the same into the body, where it is complete."""
    given = fields.get("when_to_use")
    if isinstance(given, str) and given.strip():
        known = sentences(tuple(reading.data.get("when_to_use", ())))
        if not known.startswith(given.removesuffix("…")):
            reading.data["when_to_use"] = [given, *reading.data.get("when_to_use", ())]
    elif given is not None:
        reading.losses.append("The field when_to_use is not text and is left out.")


def _description(fields: Mapping[str, Any], opening: str, reading: Reading) -> str:
    """Read the description, from the body if that has all of it, and return the rest of the opening."""
    given = str(fields.get("description", ""))
    reading.data["description"] = opening
    if opening and given in (short_description(reading.skill), folded_description(reading.skill)):
        return ""
    when = sentences(tuple(reading.data.get("when_to_use", ())))
    reading.data["description"] = given.removesuffix(f" Use when: {when}") if when else given
    return "" if one_line(opening) == one_line(given) else opening


def _carried(fields: Mapping[str, Any], reading: Reading) -> None:
    """Read the version, and carry the fields for other tools."""
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
    reading.losses.append(f"The field {one_line(key, 60)} is neither a value nor a list of texts and is left out.")
    return False


def _metadata(fields: Mapping[str, Any], reading: Reading) -> dict[str, str]:
    value = fields.get("metadata")
    if value is None:
        return {}
    if not isinstance(value, dict):
        reading.losses.append("The field metadata is not a map and is left out.")
        return {}
    own = {_OWN_NAME, _GENERATES, _TRY} if "generates" in reading.data else {_OWN_NAME}
    others = {key: item for key, item in value.items() if key not in own}
    if value.get(_OWN_NAME, sheet_name(fields)) != sheet_name(fields):
        public = one_line(str(fields.get("name")), 60)
        reading.losses.append(f"metadata.{_OWN_NAME} does not match {public!r} and is left out.")
    kept = {key: item for key, item in others.items() if isinstance(item, (str, int, float))}
    for key in others.keys() - kept.keys():
        reading.losses.append(f"metadata.{one_line(key, 60)} is not text and is left out.")
    return {key: str(item).lower() if isinstance(item, bool) else str(item) for key, item in kept.items()}
