"""The content that a project takes from a store, as plain data: skills, policies, domains and settings."""

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
from memkit.policies.files import require_whole
from memkit.resources import resource
from memkit.skills.sheet import agent_skill
from memkit.skills.skill import load_skill
from memkit.store.config import DEFAULTS, flat, load_settings, tree
from memkit.store.layout import MANIFEST, entries_of, require_inside
from memkit.store.schema import check, load_schema, require_arguments
from memkit.store.yaml import load_yaml

SHEETS: Mapping[str, str] = {"agentskills": "skills"}
"""Profile of a skill's sheet → the folder of a project for it."""
_NO_LETTER = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class SkillSheet:
    """One skill of the store, ready to be written into a project."""

    name: str
    description: str
    required_tools: tuple[str, ...]
    digest: str
    """The digest of all fields of the skill."""
    sheets: Mapping[str, str]
    """Profile → the text of ``SKILL.md`` in it."""


@dataclass(frozen=True)
class Content:
    """Everything from a store that reaches a generated project."""

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
        """Return the names of the tools that the wired skills require."""
        wanted = (tool for skill in self.skills if skill.name in self.wired for tool in skill.required_tools)
        return tuple(dict.fromkeys(wanted))

    def digests(self) -> dict[str, dict[str, str]]:
        """Return a digest of every part, so that a later run can report what changed in the store."""
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
    """Return the name of a project's distribution: derived from its store and its target, with a reserved ending.

    A project named like one of its requirements could not be installed, so every name has the same ending.

    >>> distribution_name("Ada's agent!", "react"), distribution_name("☃", "langgraph")
    ('ada-s-react-agent', 'langgraph-agent')
    """
    words = _NO_LETTER.sub("-", name.lower()).strip("-")[:60].strip("-").removesuffix("agent").strip("-")
    return "-".join(part for part in (words, _NO_LETTER.sub("-", target.lower()).strip("-"), "agent") if part)


def by_name(items: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Return ``items`` sorted by name, so that a render does not depend on the order of a folder listing."""
    return tuple(sorted(items, key=lambda item: str(item["name"])))


WIRED = ("virtual-memory", "hybrid-planner")
"""The skills that choose a project's tools; both if none is named."""


def content_of(root: Path, wired: Sequence[str] = WIRED) -> Content:
    """Return what a project takes from the store at ``root``; raise ``UsageError`` for the first broken file."""
    require_whole(root / POLICIES)
    # The environment of the person who renders must not end up in a project that others run.
    settings = tree({setting.key: setting.value for setting in load_settings(root, {})})
    require_arguments(settings["tools"], root / MANIFEST)
    paths = {path.stem: path for path in entries_of(root / "skills") if path.suffix == ".yaml"}
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
    """Return ``content`` with settings added since it was read, at their defaults."""
    return replace(content, settings=tree(flat(DEFAULTS) | flat(content.settings)))


def _sheet(path: Path) -> SkillSheet:
    skill = load_skill(path, name=f"skills/{path.name}")
    sheets = {profile: agent_skill(skill, profile) for profile in SHEETS}
    return SkillSheet(skill.name, skill.description, skill.required_tools, digest(skill.to_data()), sheets)


def _checked(folder: Path, schema: str) -> Iterator[dict[str, Any]]:
    """Yield the data of every file in ``folder``, with schema and name checked as everywhere."""
    for path in (path for path in entries_of(folder) if path.suffix == ".yaml"):
        require_inside(folder.parent, path, f"{folder.name}/{path.name}")
        document = load_yaml(path, name=f"{folder.name}/{path.name}")
        for finding in check(document.data, load_schema(schema)):
            line, column = finding.position(document)
            raise UsageError(f"{document.path}:{line}:{column}: {finding.message}", path=document.path, line=line)
        if document.data["name"] != path.stem:
            line, column = document.position(("name",))
            raise UsageError(
                f"{document.path}:{line}:{column}: The name is {document.data['name']!r}, but the file's "
                f"{path.stem!r}. Give both the same name.",
                path=document.path,
                line=line,
            )
        yield json.loads(json.dumps(document.data))
