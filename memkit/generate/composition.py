"""Put a template together: what every target shares, the target's own files, the rooms and the compiled store.

Only files whose path holds a template (``.jinja`` at the end, or a condition in the name) go through copier, which
starts git for every file that it writes. Everything else, the rooms above all, is copied byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit import __version__
from memkit.generate.content import Content, distribution_name
from memkit.generate.quoting import as_json
from memkit.generate.targets import QUESTIONS, Target, questions_of
from memkit.resources import resource

ROOMS = ("memory", "guard", "htn", "evolve", "loop")
COMPILED = "agent/compiled"
RECORD = ".memkit-gen.json"
"""The committed file that says how the project was made."""
SERVER = "tests/model_server"
"""Where a project keeps the local model server that its tests talk to."""
_PROJECT = "project"
_TEMPLATE = ".jinja"
_PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Order:
    """What to render."""

    target: Target
    content: Content
    answers: Mapping[str, str]


def compose(order: Order, template: Path, project: Path) -> None:
    """Write what has to be rendered into the empty folder ``template``, and what has not into ``project``."""
    configuration: dict[str, Any] = {}
    sources: dict[str, Path] = {}
    for layer in order.target.layers:
        folder = order.target.folder.parent / layer
        configuration |= questions_of(folder)
        sources |= {path.removesuffix(_TEMPLATE): source for path, source in _files(folder / _PROJECT)}
    for room in ROOMS:
        sources |= {f"{room}/{path}": source for path, source in _files(_PACKAGE / room)}
    sources |= {f"{SERVER}/{path}": source for path, source in _server(order.target.protocols)}
    (template / QUESTIONS).write_text(json.dumps(configuration), encoding="utf-8")
    for path, source in sources.items():
        if source.name.endswith(_TEMPLATE):
            _put(template / _PROJECT / f"{path}{_TEMPLATE}", source.read_bytes())
        else:
            _put((template / _PROJECT if "{%" in path else project) / path, source.read_bytes())
    for path, text in _compiled(order).items():
        _put(project / path, text.encode())


def _server(protocols: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield the files of the local model server that speaks ``protocols`` and no others."""
    for path, source in _files(_PACKAGE / "testing"):
        package, slash, _ = path.partition("/")
        if not slash or package in protocols:
            yield path, source


def sources() -> Iterator[Path]:
    """Yield every file of memkit's own that some project is made of, whatever the target."""
    for folder in (resource("templates"), *(_PACKAGE / name for name in (*ROOMS, "testing"))):
        yield from (path for _, path in _files(folder))


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield every file in ``folder`` by its relative path, without what only an installation needs."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
            yield path.relative_to(folder).as_posix(), path


def _put(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


def context_of(order: Order) -> dict[str, Any]:
    """Return what the templates see besides the answers and the quoting functions."""
    content, target = order.content, order.target
    return {
        "store": {
            "name": content.name,
            "distribution": distribution_name(order.answers.get("project_name", content.name)),
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
            "environment": [vars(variable) for variable in target.environment],
            "wires": list(target.wires),
        },
        "project_settings": dict(content.settings) | {"name": order.answers.get("project_name", content.name)},
        "wired": list(content.wired),
        "tools": list(content.tools),
        "plans": "plan_task" in content.tools,
        "rooms": list(ROOMS),
    }


def _compiled(order: Order) -> dict[str, str]:
    """Return the files that come from the store, by their path in the project."""
    content = order.content
    agent = {"tools": list(content.tools)}
    files = {
        f"{COMPILED}/policies.json": as_json(list(content.policies)) + "\n",
        f"{COMPILED}/domains.json": as_json(list(content.domains)) + "\n",
        f"{COMPILED}/settings.json": as_json(dict(content.settings) | {"agent": agent}) + "\n",
        RECORD: as_json(_record(order)) + "\n",
    }
    for skill in content.skills:
        files |= skill.sheets
    return files


def _record(order: Order) -> dict[str, Any]:
    """Return what is needed to make the same render again; no date and no path, so that it is reproducible."""
    return {
        "format": 1,
        "target": order.target.name,
        "templates": __version__,
        "answers": dict(order.answers),
        "skills": list(order.content.wired),
        "from_store": order.content.digests(),
    }


def _named(name: str, text: str) -> dict[str, str]:
    return {"name": name, "text": text}


def _summary(policy: Mapping[str, Any]) -> str:
    return str(policy.get("description") or policy.get("rule") or "")
