"""Read what a project takes from a store. Broken files are refused; what lint would only advise against is rendered."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.generate.content import SHEETS, Content, SkillSheet, by_name, digest
from memkit.resources import resource
from memkit.skills.sheet import agent_skill
from memkit.skills.skill import load_skill
from memkit.store.config import DEFAULTS, flat, load_settings, tree
from memkit.store.layout import require_inside
from memkit.store.schema import check, load_schema
from memkit.store.yaml import load_yaml

WIRED = ("virtual-memory", "hybrid-planner")
"""The skills that choose a project's tools; both where none is named."""


def content_of(root: Path, wired: Sequence[str] = WIRED) -> Content:
    """Return what a project takes from the store at ``root``; raises ``UsageError`` for the first broken file."""
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
        policies=by_name(list(_checked(root / "policies", "policy"))),
        domains=by_name(list(_checked(root / "domains", "domain"))),
    )


def with_defaults(content: Content) -> Content:
    """Return ``content`` with the settings that came up since it was read, at their defaults."""
    return replace(content, settings=tree(flat(DEFAULTS) | flat(content.settings)))


def _sheet(path: Path) -> SkillSheet:
    skill = load_skill(path, name=f"skills/{path.name}")
    sheets = {profile: agent_skill(skill, profile) for profile in SHEETS}
    return SkillSheet(skill.name, skill.description, skill.required_tools, digest(asdict(skill)), sheets)


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
