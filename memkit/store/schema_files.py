"""The schemas that a store carries, so that every editor completes its files, offline and in every clone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memkit.resources import resource

SCHEMA_FILES: Mapping[str, str] = {
    "memkit": ".memkit.schema.json",
    "skill": "skills/.schema.json",
    "policy": "policies/.schema.json",
    "domain": "domains/.schema.json",
}
"""What a file is → where its schema lies in a store: beside the files, so that all of them name it alike."""


def schema_files() -> dict[str, bytes]:
    """Return the content of each schema by its path in a store."""
    return {path: resource(f"schemas/{kind}.schema.json").read_bytes() for kind, path in SCHEMA_FILES.items()}


def schema_comment(root: Path, kind: str) -> str:
    """Return the first line of a new file, which tells editors its schema; nothing in a store that carries none."""
    place = root / SCHEMA_FILES[kind]
    return f"# yaml-language-server: $schema={place.name}\n" if place.is_file() else ""
