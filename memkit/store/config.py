"""Settings: built-in defaults, then ``memkit.yaml``, then ``MEMKIT_*``, each value with its origin."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from memkit.errors import StoreFault, UsageError
from memkit.store.layout import MANIFEST, parsed, schema_path


def _defaults(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: said["default"] if "default" in said else _defaults(said["properties"])
        for name, said in properties.items()
    }


DEFAULT = "default"
"""The origin of a setting that nobody set."""
DEFAULTS: Mapping[str, Any] = _defaults(json.loads(schema_path("memkit").read_bytes())["properties"])
"""What each setting is if nobody sets it, as the schema of ``memkit.yaml`` says it beside its meaning."""
FORMAT: int = DEFAULTS["format"]
"""The store format that this version writes; a store with a higher number needs a newer memkit."""

WHOLE = {"core.sections"}
"""A mapping whose keys its owner chooses, and which counts as one setting."""
_OF_THE_STORE = {"format", "name", "tools", "privacy.key_id"}
"""Properties of the store itself, which no variable of a run can change."""


class SettingValue(NamedTuple):
    """One value with its origin."""

    key: str
    value: Any
    origin: str
    """``default``, ``memkit.yaml``, the name of an environment variable, or ``flag``."""


class Settings:
    """Every setting of one run, by dotted key."""

    def __init__(self, values: Mapping[str, SettingValue]) -> None:
        self.values = values

    def __getitem__(self, key: str) -> Any:
        """Return the value of a dotted key such as ``context.max_tokens``."""
        return self.values[key].value

    def is_chosen(self, key: str) -> bool:
        """Return whether the store chose the value, and not the person who runs this."""
        return self.values[key].origin == MANIFEST

    def section(self, name: str) -> dict[str, Any]:
        """Return one section as a nested mapping, such as ``retrieval`` with its ``weights``."""
        return tree(
            {key[len(name) + 1 :]: setting.value for key, setting in self.values.items() if key.startswith(name + ".")}
        )

    def __iter__(self) -> Iterator[SettingValue]:
        """Yield the settings in the order of the built-in defaults."""
        return iter(self.values.values())


def load_settings(root: Path | None, environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of the store at ``root``, or the built-in ones without a store.

    Raises:
        StoreFault: The store was written by a newer memkit.
        EnvironmentFault: Git is in the middle of a merge or the like, which left its markers in ``memkit.yaml``.
        UsageError: ``memkit.yaml`` or a variable is wrong; the message names the place.
    """
    values = {key: SettingValue(key, value, DEFAULT) for key, value in flat(DEFAULTS).items()}
    if root is not None:
        data = read_manifest(root)
        if isinstance(data.get("format"), int) and data["format"] > FORMAT:
            raise StoreFault(
                f"{root / MANIFEST} has format {data['format']}, and this memkit reads up to {FORMAT}. "
                "Upgrade memkit-agent."
            )
        values |= {key: SettingValue(key, value, MANIFEST) for key, value in flat(data).items()}
    values |= _from_environment(values, os.environ if environment is None else environment)
    return Settings(values)


def read_manifest(root: Path) -> dict[str, Any]:
    """Return the checked content of ``memkit.yaml``, from a cache while the file is unchanged."""
    path = root / MANIFEST
    try:
        path.stat()
    except OSError as error:
        raise StoreFault(f"{path} cannot be read: {error.strerror}.") from error
    data: dict[str, Any] = parsed(root, "manifest", {MANIFEST: path}, lambda _: _parsed_manifest(path))[MANIFEST]
    return data


def tree(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return dotted keys as nested mappings."""
    nested: dict[str, Any] = {}
    for key, value in flat.items():
        *parents, leaf = key.split(".")
        place = nested
        for parent in parents:
            place = place.setdefault(parent, {})
        place[leaf] = value
    return nested


def _parsed_manifest(path: Path) -> dict[str, Any]:
    from memkit.store.schema import check, load_schema
    from memkit.store.yaml import YamlError, load_yaml

    try:
        document = load_yaml(path)
    except YamlError:
        _refuse_unfinished(path.parent)  # conflict markers are not the file's mistake
        raise
    for finding in check(document.data, load_schema("memkit")):
        line, column = finding.position(document)
        raise UsageError(f"{path}:{line}:{column}: {finding.message}", path=str(path), line=line)
    data: dict[str, Any] = document.data
    return data


def _refuse_unfinished(root: Path) -> None:
    from memkit.store.git import Git

    git = Git(root)
    if git.is_repository():
        git.require_quiet()


def flat(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested mappings as one, by dotted key; the inverse of ``tree``."""
    found: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, Mapping) and value and f"{prefix}{key}" not in WHOLE:
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found


def _from_environment(known: Mapping[str, SettingValue], environment: Mapping[str, str]) -> dict[str, SettingValue]:
    found: dict[str, SettingValue] = {}
    for key, setting in known.items():
        variable = "MEMKIT_" + key.upper().replace(".", "_")
        if variable in environment and key not in _OF_THE_STORE:
            found[key] = SettingValue(key, _converted(environment[variable], setting.value, variable), variable)
    if found:
        _check_variables(found)
    return found


def _check_variables(found: Mapping[str, SettingValue]) -> None:
    """Raise ``UsageError`` for a variable whose value ``memkit.yaml`` would not be allowed to have."""
    from memkit.store.schema import check, load_schema

    data = {"name": None, "format": FORMAT} | tree({key: setting.value for key, setting in found.items()})
    for finding in check(data, load_schema("memkit")):
        place = ".".join(map(str, finding.path))
        variables = [setting.origin for key, setting in found.items() if key == place or key.startswith(place + ".")]
        raise UsageError(f"{variables[0] if variables else 'A MEMKIT_ variable'}: {finding.message}")


def _converted(text: str, like: Any, variable: str) -> Any:
    """Return ``text`` converted to the type of the present value; raise ``UsageError`` if that fails."""
    try:
        if isinstance(like, bool):
            return {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}[text.lower()]
        if isinstance(like, int):
            return int(text)
        if isinstance(like, float):
            return _finite(float(text))
    except (KeyError, ValueError):
        wanted = {bool: "true or false", int: "a whole number"}.get(type(like), "a number")
        raise UsageError(f"{variable} must be {wanted}, not {text!r:.60}.") from None
    return text


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError(number)
    return number


OUTBOX = ("tee", "-a", "outbox.jsonl")
"""The command of the starter's tool: memkit ships it, so it needs nobody's trust."""


def own_tools(root: Path, tools: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the declared tools that are the store's own, and not shipped with memkit."""
    # The starter appends to a file of the store; through a link out of it, it could append to anything.
    links_out = os.path.lexists(root / OUTBOX[-1]) and (root / OUTBOX[-1]).is_symlink()
    return [tool for tool in tools if links_out or not is_shipped(tool.get("run"))]


def is_shipped(run: Any) -> bool:
    """Return whether a tool runs exactly what the starter's tool does."""
    return isinstance(run, list | tuple) and tuple(run) == OUTBOX
