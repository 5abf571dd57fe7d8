"""Change ``memkit.yaml`` as an editor would, keeping comments, quotes and the order of keys."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from memkit.errors import UsageError
from memkit.store.config import DEFAULTS, flat
from memkit.store.layout import MANIFEST
from memkit.store.schema import check, load_schema


def change_manifest(root: Path, values: Mapping[str, Any], message: str, *, unset: Sequence[str] = ()) -> str | None:
    """Set dotted keys to ``values`` in ``memkit.yaml``, commit that with ``message`` and return the commit's id.

    A missing key that is to be None stays out of the file; those in ``unset`` are removed.

    Raises:
        UsageError: The value does not fit the schema.
        EnvironmentFault: The file cannot be written or committed; it is as it was.
    """
    from memkit.store.change import change_file

    return change_file(root, MANIFEST, changed_manifest(root, values, unset=unset), message, hooks=False)


def changed_manifest(root: Path, values: Mapping[str, Any], *, unset: Sequence[str] = ()) -> str:
    """Return the text of ``memkit.yaml`` with such a change.

    Raises:
        UsageError: The value does not fit the schema.
    """
    from memkit.store.yaml import load_yaml
    from memkit.store.yaml_edit import edited, without_entries

    content = (root / MANIFEST).read_text(encoding="utf-8")
    for key, value in values.items():
        content = edited(content, partial(_set, keys=key.split("."), value=value))
        if findings := check(load_yaml(content).data, load_schema("memkit")):
            raise UsageError(f"{key} cannot be {json.dumps(value, ensure_ascii=False)}: {findings[0].message}")
    return without_entries(content, unset)


def _set(place: Any, keys: Sequence[str], value: Any) -> None:
    for name in keys[:-1]:
        place = place.setdefault(name, {})
    if value is None and place.get(keys[-1]) is None:
        return
    place[keys[-1]] = _quoted(value)


def _quoted(value: Any) -> Any:
    """Return a text such as ``off`` so that it is written in quotes: others would read a boolean."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    from memkit.store.yaml import ambiguity

    return DoubleQuotedScalarString(value) if isinstance(value, str) and ambiguity(value) else value


class Meaning(NamedTuple):
    """One setting, explained."""

    key: str
    meaning: str
    takes: str
    """Its possible values, in words."""
    default: Any


def meanings() -> list[Meaning]:
    """Return every setting with its meaning, in the order of the built-in defaults."""
    schema = load_schema("memkit")
    found = []
    for key, default in flat(DEFAULTS).items():
        place: Mapping[str, Any] = schema
        for name in key.split("."):
            place = place["properties"][name]
        found.append(Meaning(key, str(place["description"]), _values(place, schema), default))
    return found


def meaning_of(key: str) -> Meaning | None:
    """Return the meaning of one setting; None if there is none of this name."""
    return next((one for one in meanings() if one.key == key), None)


def _values(place: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return the values that a place in the schema accepts."""
    if "$ref" in place:
        return {"fraction": "0 to 1", "duration": "a number and s, m, h or d"}[str(place["$ref"]).rpartition("/")[2]]
    if "enum" in place:
        return ", ".join(map(str, place["enum"]))
    if "anyOf" in place:
        return " or ".join(str(one.get("title") or _values(one, schema)) for one in place["anyOf"])
    kinds = place["type"] if isinstance(place["type"], list) else [place["type"]]
    words = {
        "integer": "a whole number",
        "string": "text",
        "boolean": "true, false",
        "array": "a list",
        "null": "null",
        "object": "a mapping",
    }
    said = " or ".join(words[kind] for kind in kinds)
    return f"{said} from {place['minimum']}" if "minimum" in place else said
