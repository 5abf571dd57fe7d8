"""Take a ``SKILL.md`` apart: its front matter as data, its body as sections and lists. Nothing is followed or run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memkit.errors import UsageError
from memkit.skills.sheet import running_text
from memkit.store.yaml import YamlError, load_yaml

_FENCE = re.compile(r"(`{3,}|~{3,})")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_ITEM = re.compile(r"(?P<mark>(?:[-*+]|\d{1,9}[.)])[ \t]+)(?P<first>\S.*)")


@dataclass
class Section:
    """A heading and what stands below it, up to the next one."""

    heading: str
    level: int
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return what stands below the heading."""
        return "\n".join(self.lines).strip("\n")


@dataclass(frozen=True)
class Sheet:
    """A ``SKILL.md``."""

    fields: Mapping[str, Any]
    """The front matter."""
    title: str
    """The heading of the first level that the body begins with, or nothing."""
    opening: str
    """What stands before the first section."""
    sections: tuple[Section, ...]


def read_sheet(text: str, name: str) -> Sheet:
    """Return the parts of a ``SKILL.md``, whatever its line ends.

    Raises:
        UsageError: There is no front matter, it does not end, is no map, or cannot be read; the place is named.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise UsageError(
            f"{name}:1: A SKILL.md begins with front matter between two lines of '---'.", path=name, line=1
        )
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise UsageError(f"{name}:1: The front matter does not end: a second line of '---' is missing.", path=name)
    try:
        # The line above it keeps every message at its place in the file.
        fields = load_yaml("\n".join(["", *lines[1:end], ""]), name=name).data
    except YamlError as error:
        advice = " Quote a text that has ': ' in it." if "mapping values" in error.problem else ""
        raise UsageError(f"{error}{advice}", path=name, line=error.line) from None
    if not isinstance(fields, dict):
        raise UsageError(f"{name}:2: The front matter is no map of fields such as 'name: …'.", path=name, line=2)
    sections = list(_sections(lines[end + 1 :]))
    opening = sections.pop(0).text
    titled = not opening and sections and sections[0].level == 1
    title = sections.pop(0) if titled else Section("", 1)
    return Sheet(fields, title.heading, opening or title.text, tuple(sections))


def _sections(lines: list[str]) -> Iterator[Section]:
    """Yield what stands before the first heading, and each section; a heading in a fence is none."""
    current, fence = Section("", 0), ""
    for line in lines:
        found = _FENCE.match(line)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and line.strip() == found[1]:
            fence = ""
        heading = None if fence else _HEADING.fullmatch(line)
        if heading:
            yield current
            current = Section(heading[2], len(heading[1]))
        else:
            current.lines.append(line.rstrip())
    yield current


def running(text: str) -> str:
    """Return running text without the escapes that keep its lines from being Markdown."""
    return "\n".join(map(running_text, text.split("\n")))


def list_items(text: str) -> list[str] | None:
    """Return the items of a text that is one list, each with the lines indented under it; None for any other text."""
    items: list[list[str]] = []
    indent = 0
    for line in text.split("\n"):
        found = _ITEM.fullmatch(line)
        if found:
            indent = len(found["mark"])
            items.append([found["first"]])
        elif items and (not line or line.startswith((" ", "\t"))):
            items[-1].append(_dedented(line, indent))
        else:
            return None
    return ["\n".join(item).strip() for item in items] or None


def _dedented(line: str, width: int) -> str:
    """Return a line without the indentation that puts it under its item, or as much of it as there is."""
    blank = len(line) - len(line.lstrip(" "))
    return line[min(width, blank) :]
