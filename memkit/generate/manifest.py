"""``.memkit-gen.json``: the data needed to repeat a project's render without the store that it came from.

It contains no date, and no path but the one to the store, so that the same store gives the same project, byte for byte.
It is committed with the project: a clone must be able to update as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.errors import EnvironmentFault
from memkit.generate.content import SHEETS, Content, SkillSheet, digest
from memkit.generate.runtime_wheel import RuntimeWheel, wheel_name
from memkit.store.layout import NAME

MANIFEST = ".memkit-gen.json"
FORMAT = 2
_FORMER_LAYOUT = 1
"""The format of projects that had the runtime's sources in their own folders."""
_VERSION = re.compile(r"[0-9A-Za-z.+]{1,64}")
RENDER_AGAIN = (
    "Render the project again beside this one with 'memkit gen', and copy archive/, .env and your edits over. "
    "Nothing was changed."
)
_ADVICE = "Restore it from version control, or render the project again with 'memkit gen' and copy your edits over."


class ProjectFault(EnvironmentFault):
    """Report a folder that is not a generated project, or whose manifest cannot be relied on."""

    code = "project"


@dataclass(frozen=True)
class Stamp:
    """The files that a render was made from."""

    version: str
    """The version of the release, with ``+unreleased`` if the files were changed since."""
    digest: str


@dataclass(frozen=True)
class Runtime:
    """The runtime of a project."""

    version: str
    digest: str
    """The digest of the wheel in ``vendor/``."""
    ejected: bool = False
    """Whether the project contains the sources instead, which belong to its owner."""

    @classmethod
    def of(cls, wheel: RuntimeWheel) -> Runtime:
        """Return a manifest's data about a wheel."""
        return cls(wheel.version, wheel.digest)

    @property
    def filename(self) -> str:
        """Return the name of the wheel."""
        return wheel_name(self.version)


@dataclass(frozen=True)
class Plugin:
    """The distribution that provided a third party's target."""

    distribution: str
    version: str
    folder: Stamp
    """Its own files that went into the render."""


@dataclass(frozen=True)
class Manifest:
    """How a project was made."""

    target: str
    templates: Stamp
    runtime: Runtime
    answers: Mapping[str, str]
    content: Content
    store: str | None = None
    """The path from the project to its store; None if that is not to be disclosed."""
    plugin: Plugin | None = None


def manifest_text(manifest: Manifest) -> str:
    """Return the file's text. The order of the settings is kept, because a project's ``memkit.yaml`` has it."""
    content, plugin = manifest.content, manifest.plugin
    data = {
        "format": FORMAT,
        "about": "How memkit made this project. 'memkit update' needs it as it is: commit it, and do not edit it.",
        "target": manifest.target,
        "templates": vars(manifest.templates),
        "runtime": vars(manifest.runtime),
        **({} if plugin is None else {"plugin": vars(plugin) | {"folder": vars(plugin.folder)}}),
        "answers": dict(manifest.answers),
        "skills": list(content.wired),
        "from_store": content.digests(),
        "store": {
            "path": manifest.store,
            "name": content.name,
            "settings": content.settings,
            "skills": [_skill_data(skill) for skill in content.skills],
            "policies": list(content.policies),
            "domains": list(content.domains),
        },
    }
    return _spelled(data | {"checksum": digest(data)}, levels=3) + "\n"


def _spelled(value: Any, levels: int, indent: str = "") -> str:
    """Return JSON with a line for each value of its outer levels; a skill, or a policy, is one line."""
    if levels == 0 or not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    inner = f"{indent}  "
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)}: {_spelled(item, levels - 1, inner)}" for key, item in value.items())
        return "{\n" + ",\n".join(inner + pair for pair in pairs) + f"\n{indent}}}"
    items = (_spelled(item, levels - 1, inner) for item in value)
    return "[\n" + ",\n".join(inner + item for item in items) + f"\n{indent}]"


def read_manifest(project: Path) -> Manifest:
    """Return how the project in a folder was made.

    Raises:
        ProjectFault: There is no manifest, or it is broken, edited, of a newer memkit, or of the former layout.
    """
    path = project / MANIFEST
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise ProjectFault(
            f"{project} is not a memkit project: it has no {MANIFEST}. Name one, or create one with 'memkit gen'."
        ) from None
    except OSError as error:
        raise ProjectFault(f"{path} cannot be read: {error.strerror or error}.") from error
    return parsed_manifest(text, str(path))


def parsed_manifest(text: bytes, called: str) -> Manifest:
    """Return the content of a manifest; raise ``ProjectFault`` as ``read_manifest`` does."""
    data = _loaded(text, called)
    if not isinstance(data.get("format"), int) or data["format"] < 1:
        raise ProjectFault(f"{called} has no format. {_ADVICE}")
    if data["format"] > FORMAT:
        raise ProjectFault(f"{called} was written by a newer memkit (format {data['format']}). Upgrade memkit-agent.")
    if data["format"] == _FORMER_LAYOUT:
        raise ProjectFault(f"{called} has the old layout with copies of the runtime. {RENDER_AGAIN}")
    recorded = data.pop("checksum", None)
    try:
        unchanged = recorded == digest(data)
        manifest = _manifest(data)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ProjectFault(f"{called} has missing or malformed fields. {_ADVICE}") from error
    if not unchanged:
        raise ProjectFault(f"{called} was edited by hand: its checksum does not match. {_ADVICE}")
    return manifest


def _loaded(text: bytes, called: str) -> dict[str, Any]:
    try:
        data = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ProjectFault(f"{called} is not JSON: {str(error)[:100]}. {_ADVICE}") from error
    if not isinstance(data, dict):
        raise ProjectFault(f"{called} is not a manifest. {_ADVICE}")
    return data


def _manifest(data: Mapping[str, Any]) -> Manifest:
    store, plugin = data["store"], data.get("plugin")
    return Manifest(
        target=_text(data["target"]),
        templates=_stamp(data["templates"]),
        runtime=_runtime(data["runtime"]),
        answers={_text(key): _text(value) for key, value in data["answers"].items()},
        content=Content(
            name=_text(store["name"]),
            settings=_map(store["settings"]) | {"persona": _text(store["settings"]["persona"])},
            skills=tuple(_skill(skill) for skill in store["skills"]),
            wired=tuple(map(_part_of_a_path, _texts(data["skills"]))),
            policies=tuple(_named(policy) for policy in store["policies"]),
            domains=tuple(_named(domain) for domain in store["domains"]),
        ),
        store=None if store["path"] is None else _text(store["path"]),
        plugin=plugin and Plugin(_text(plugin["distribution"]), _text(plugin["version"]), _stamp(plugin["folder"])),
    )


def _skill_data(skill: SkillSheet) -> dict[str, Any]:
    """Return the data about a skill that a render needs."""
    return {
        "name": skill.name,
        "description": skill.description,
        "required_tools": list(skill.required_tools),
        "digest": skill.digest,
        "sheets": dict(skill.sheets),
    }


def _skill(data: Mapping[str, Any]) -> SkillSheet:
    if not data["sheets"].keys() <= SHEETS.keys():
        raise ValueError(data["name"])
    return SkillSheet(
        _part_of_a_path(data["name"]),
        _text(data["description"]),
        _texts(data["required_tools"]),
        _text(data["digest"]),
        {_text(profile): _text(text) for profile, text in data["sheets"].items()},
    )


def _runtime(data: Mapping[str, Any]) -> Runtime:
    if not isinstance(data["ejected"], bool):
        raise TypeError(data)
    version = _text(data["version"])
    if not _VERSION.fullmatch(version):  # it is used as a file name
        raise ValueError(version)
    return Runtime(version, _text(data["digest"]), data["ejected"])


def _stamp(data: Mapping[str, Any]) -> Stamp:
    return Stamp(_text(data["version"]), _text(data["digest"]))


def _named(data: Any) -> Mapping[str, Any]:
    _text(_map(data)["name"])
    return _map(data)


def _map(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(value)
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(value)
    return tuple(_text(item) for item in value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    value.encode()  # half a surrogate pair cannot be encoded
    return value


def _part_of_a_path(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ValueError(name)
    return name


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")
