"""Procedural memory: skills, policies and learned methods. People keep them in files; an agent reads, and never writes.

The prompt names the skills and when to use them; the steps of one come with a tool call, when it fits. This is what the
Agent Skills format calls progressive disclosure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from .bound import BoundTool
from .errors import LoopError
from .interface import JSON, TokenCounter, ToolSpec

LISTED = 20
"""Skills that a prompt names at most."""
LONGEST = 150
"""Characters that a line on one of them may have."""
SHARE = 0.05
"""Of the prompt's budget, for the names of the skills."""
FOUND = 5


class NoSuchSkill(LoopError):
    """Report that a model asked for a skill that is not there."""

    exit_code = 1


@dataclass(frozen=True)
class Procedure:
    """Something that is known of how to do things."""

    kind: str
    """skill | policy | method"""
    name: str
    about: str
    """What it is for, and when to use it."""
    score: float = 0.0

    @property
    def line(self) -> str:
        """Return it on one line.

        >>> Procedure("skill", "brew-tea", "Makes tea.").line
        '- brew-tea: Makes tea.'
        """
        text = " ".join(f"{self.name}: {self.about}".split())
        return "- " + (text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


class Procedures(Protocol):
    """What a store knows of how to do things, as its files are now."""

    def skills(self) -> Sequence[Procedure]:
        """Return every skill that may be used."""
        ...

    def search(self, query: str, k: int = FOUND) -> Sequence[Procedure]:
        """Return the skills, policies and methods that fit ``query``, best first."""
        ...

    def show(self, name: str) -> str | None:
        """Return the steps of a skill with everything that belongs to them, or None where there is none such."""
        ...


def skills_section(procedures: Procedures, budget: int, count: TokenCounter) -> str:
    """Return what a prompt says of the skills, within its share of ``budget`` tokens; nothing where there are none."""
    known = procedures.skills()
    lines: list[str] = []
    used = 0
    for skill in known[:LISTED]:
        used += count(skill.line)
        if used > budget * SHARE:
            break
        lines.append(skill.line)
    left = len(known) - len(lines)
    more = [f"({left} more: skill_search finds them.)"] if left else []
    return "\n".join(["Skills; before you follow one, read it with skill_show:", *lines, *more]) if known else ""


def skill_tools(procedures: Procedures) -> list[BoundTool]:
    """Return the two tools by which a model reads the skills."""

    def search(args: Mapping[str, JSON]) -> str:
        query = str(args["query"]).strip()
        found = [one for one in procedures.search(query) if one.kind == "skill"] if query else procedures.skills()
        return "\n".join(one.line for one in found) or "No skill is about that."

    def show(args: Mapping[str, JSON]) -> str:
        name = str(args["name"])
        text = procedures.show(name)
        if text is None:
            known = ", ".join(skill.name for skill in procedures.skills()) or "none"
            raise NoSuchSkill(f"There is no skill {name!r:.60}. There are: {known}.")
        return text

    return [
        BoundTool(_spec("skill_search", "Find a skill; without words, list all.", "query"), search),
        BoundTool(_spec("skill_show", "Read a skill before you follow it.", "name"), show),
    ]


def _spec(name: str, description: str, argument: str) -> ToolSpec:
    properties = {argument: {"type": "string"}}
    return ToolSpec(name, description, {"type": "object", "properties": properties, "required": [argument]})
