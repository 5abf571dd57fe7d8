"""What a project takes from a store, and what reads it: skills, policies, domains and settings, as plain data."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.policies.files import FOLDER as POLICIES
from memkit.policies.files import require_own
from memkit.resources import resource
from memkit.skills.sheet import agent_skill
from memkit.skills.skill import load_skill
from memkit.store.config import DEFAULTS, flat, load_settings, tree
from memkit.store.layout import require_inside
from memkit.store.schema import check, load_schema
from memkit.store.yaml import load_yaml

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


WIRED = ("virtual-memory", "hybrid-planner")
"""The skills that choose a project's tools; both where none is named."""


def content_of(root: Path, wired: Sequence[str] = WIRED) -> Content:
    """Return what a project takes from the store at ``root``; raises ``UsageError`` for the first broken file."""
    require_own(root / POLICIES)
    # The environment of whoever renders must not end up in a project that others run.
    settings = tree({setting.key: setting.value for setting in load_settings(root, {})})
    paths = {path.stem: path for path in (root / "skills").glob("*.yaml")}
    for path in paths.values():
        require_inside(root, path, f"skills/{path.name}")
    paths |= {name: resource("skills") / f"{name}.yaml" for name in wired if name not in paths}
    return Content(
        name=str(settings["name"] or root.name or "agent"),
        settings=settings,
        skills=tuple(_sheet(paths[name]) for name in sorted(paths)),
        wired=tuple(wired),
        policies=by_name(list(_checked(root / POLICIES, "policy"))),
        domains=by_name(list(_checked(root / "domains", "domain"))),
    )


def with_defaults(content: Content) -> Content:
    """Return ``content`` with the settings that came up since it was read, at their defaults."""
    return replace(content, settings=tree(flat(DEFAULTS) | flat(content.settings)))


def _sheet(path: Path) -> SkillSheet:
    skill = load_skill(path, name=f"skills/{path.name}")
    sheets = {profile: agent_skill(skill, profile) for profile in SHEETS}
    return SkillSheet(skill.name, skill.description, skill.required_tools, digest(skill.to_data()), sheets)


def _checked(folder: Path, schema: str) -> Iterator[dict[str, Any]]:
    """Yield the data of every file in ``folder``; the schema and the name are checked, as everywhere."""
    for path in sorted(folder.glob("*.yaml")):
        require_inside(folder.parent, path, f"{folder.name}/{path.name}")
        document = load_yaml(path, name=f"{folder.name}/{path.name}")
        for finding in check(document.data, load_schema(schema)):
            line, column = finding.position(document)
            raise UsageError(f"{document.path}:{line}:{column}: {finding.message}", path=document.path, line=line)
        if document.data["name"] != path.stem:
            line, column = document.position(("name",))
            raise UsageError(
                f"{document.path}:{line}:{column}: The name is {document.data['name']!r} and the file's {path.stem!r}. "
                "Give both one name.",
                path=document.path,
                line=line,
            )
        yield json.loads(json.dumps(document.data))
