"""What a project takes from a store: its skills, policies, domains and settings, as plain data."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SHEETS: Mapping[str, str] = {"agentskills": "skills"}
"""Profile of a skill's sheet → the folder of a project that it lies in."""
_NO_LETTER = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class SkillSheet:
    """One skill of the store, ready to be written into a project."""

    name: str
    description: str
    required_tools: tuple[str, ...]
    digest: str
    """Of every field of the skill."""
    sheets: Mapping[str, str]
    """Profile → the text of ``SKILL.md`` in it."""


@dataclass(frozen=True)
class Content:
    """Everything of a store that reaches a generated project."""

    name: str
    settings: Mapping[str, Any]
    """The content of ``memkit.yaml``, defaults filled in."""
    skills: tuple[SkillSheet, ...]
    wired: tuple[str, ...]
    """Names of the skills that choose the project's tools."""
    policies: tuple[Mapping[str, Any], ...]
    domains: tuple[Mapping[str, Any], ...]

    @property
    def tools(self) -> tuple[str, ...]:
        """Return the names of the tools that the wired skills ask for."""
        wanted = (tool for skill in self.skills if skill.name in self.wired for tool in skill.required_tools)
        return tuple(dict.fromkeys(wanted))

    def digests(self) -> dict[str, dict[str, str]]:
        """Return a digest of every part, so that a later run can say what changed in the store."""
        return {
            "skills": {skill.name: skill.digest for skill in self.skills},
            "policies": {str(policy["name"]): digest(policy) for policy in self.policies},
            "domains": {str(domain["name"]): digest(domain) for domain in self.domains},
            "settings": {"memkit.yaml": digest(self.settings)},
        }


def digest(data: Any) -> str:
    """Return the SHA-256 of ``data`` in canonical JSON."""
    text = json.dumps(data, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def distribution_name(name: str, target: str) -> str:
    """Return what the distribution of a project is called: after its store and its target, which are nobody else's.

    A project called as something that it requires could not be installed, so every name ends alike.

    >>> distribution_name("Ada's agent!", "react"), distribution_name("☃", "langgraph")
    ('ada-s-react-agent', 'langgraph-agent')
    """
    words = _NO_LETTER.sub("-", name.lower()).strip("-")[:60].strip("-").removesuffix("agent").strip("-")
    return "-".join(part for part in (words, _NO_LETTER.sub("-", target.lower()).strip("-"), "agent") if part)


def by_name(items: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Return ``items`` in the order of their names, so that a render does not depend on how a folder is listed."""
    return tuple(sorted(items, key=lambda item: str(item["name"])))
