"""Assemble a template: the shared files of all targets, the target's own files, the runtime and the compiled store.

Only files whose path holds a template (``.jinja`` at the end, or a condition in the name) go through copier, which
starts git for every file that it writes. Everything else is copied byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import memkit
from memkit.generate.content import SHEETS, Content, distribution_name
from memkit.generate.manifest import MANIFEST, Manifest, Plugin, Runtime, Stamp, manifest_text
from memkit.generate.quoting import as_json
from memkit.generate.runtime_wheel import RuntimeWheel
from memkit.generate.targets import (
    QUESTIONS,
    RELEASES,
    Releases,
    Target,
    digest_of,
    files_of,
    installed_releases,
    questions_of,
)
from memkit.skills.sheet import kebab_case

COMPILED = "agent/compiled"
VENDOR = "vendor"
"""The folder of a project that holds the runtime."""
_PROJECT = "project"
_TEMPLATE = ".jinja"


@dataclass(frozen=True)
class Order:
    """What to render."""

    target: Target
    content: Content
    answers: Mapping[str, str]
    runtime: Runtime
    wheel: RuntimeWheel | None = None
    """The wheel to put into ``vendor/``; None if only the owner's files are wanted."""
    store: str | None = None
    """The path from the project to the store."""
    templates: Stamp | None = None
    """The name of the templates' version; None for the release that they belong to."""

    @property
    def chosen(self) -> Target:
        """The target adjusted to the answers."""
        return self.target.answered(self.answers)


def compose(order: Order, template: Path, project: Path) -> None:
    """Write the files to render into the empty folder ``template``, and the others into ``project``."""
    configuration: dict[str, Any] = {}
    sources: dict[str, Path] = {}
    for folder in order.target.layers:
        configuration |= questions_of(folder)
        sources |= {path.removesuffix(_TEMPLATE): source for path, source in files_of(folder / _PROJECT)}
    (template / QUESTIONS).write_text(json.dumps(configuration), encoding="utf-8")
    for path, source in sources.items():
        if source.name.endswith(_TEMPLATE):
            _put(template / _PROJECT / f"{path}{_TEMPLATE}", source.read_bytes())
        else:
            _put((template / _PROJECT if "{%" in path else project) / path, source.read_bytes())
    for path, text in _compiled(order).items():
        _put(project / path, text.encode())
    if order.wheel is not None:
        _put(project / VENDOR / order.wheel.filename, order.wheel.content)


def _put(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


def context_of(order: Order) -> dict[str, Any]:
    """Return the templates' variables besides the answers and the quoting functions."""
    content, target = order.content, order.chosen
    return {
        "store": {
            "name": content.name,
            "distribution": distribution_name(order.answers.get("project_name", content.name), target.name),
            "settings": dict(content.settings),
            "persona": content.settings["persona"],
            "skills": [_named(skill.name, skill.description) for skill in content.skills],
            "policies": [_named(policy["name"], _summary(policy)) for policy in content.policies],
            "domains": [_named(domain["name"], str(domain.get("description", ""))) for domain in content.domains],
        },
        "target": {
            "name": target.name,
            "title": target.title,
            "requires": list(target.requires),
            "environment": [variable._asdict() for variable in target.environment],
            "wires": list(target.wires),
            "protocol": target.protocols[0] if target.protocols else "chat",
            "readme": list(target.readme),
            "notes": list(target.notes),
        },
        "project_settings": dict(content.settings) | {"name": order.answers.get("project_name", content.name)},
        "wired": list(content.wired),
        "tools": list(content.tools),
        "plans": "plan_task" in content.tools,
        "runtime": {**vars(order.runtime), "filename": order.runtime.filename},
    }


def _compiled(order: Order) -> dict[str, str]:
    """Return the files generated from the store, by their path in the project."""
    content = order.content
    agent = {"tools": list(content.tools)}
    files = {
        f"{COMPILED}/policies.json": as_json([_decided_by(policy) for policy in content.policies]) + "\n",
        f"{COMPILED}/domains.json": as_json(list(content.domains)) + "\n",
        f"{COMPILED}/settings.json": as_json(dict(content.settings) | {"agent": agent}) + "\n",
        MANIFEST: manifest_text(manifest_of(order)),
    }
    for skill in content.skills:
        name = kebab_case(skill.name)
        files |= {f"{SHEETS[profile]}/{name}/SKILL.md": text for profile, text in skill.sheets.items()}
    return files


def _decided_by(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return the deciding part of a policy: without its tests, which are run where they are written."""
    return {key: value for key, value in policy.items() if key != "tests"}


def manifest_of(order: Order) -> Manifest:
    """Return the data needed to repeat the same render."""
    target = order.target
    templates = order.templates or _stamp_of(target.source.digest, installed_releases(), memkit.__version__)
    return Manifest(target.name, templates, order.runtime, order.answers, order.content, order.store, plugin_of(target))


def _stamp_of(digest: str, releases: Releases, newest: str) -> Stamp:
    return Stamp(releases.version(digest, newest), digest)


def plugin_of(target: Target) -> Plugin | None:
    """Return the record of the plug-in that provided ``target``, None for one of memkit's own."""
    if target.origin is None:
        return None
    own = digest_of({path: place.read_bytes() for path, place in target.own_files.items()})
    folder = _stamp_of(own, Releases(target.folder / RELEASES), target.origin.version)
    return Plugin(target.origin.distribution, target.origin.version, folder)


def _named(name: str, text: str) -> dict[str, str]:
    return {"name": name, "text": text}


def _summary(policy: Mapping[str, Any]) -> str:
    return str(policy.get("description") or policy.get("rule") or "")
