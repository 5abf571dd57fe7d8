"""Change ``memkit.yaml`` as an editor would: comments, quotes and the order of keys stay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.store.change import change_file
from memkit.store.layout import MANIFEST
from memkit.store.schema import check, load_schema
from memkit.store.yaml import load_yaml
from memkit.store.yaml_edit import edited


def change_manifest(root: Path, key: str, value: Any, message: str) -> str | None:
    """Set the dotted ``key`` to ``value`` in ``memkit.yaml``, commit that with ``message`` and return the commit's id.

    Raises:
        UsageError: The value does not fit the schema.
        EnvironmentFault: The file cannot be written or committed; it is as it was.
    """
    content = _with_value((root / MANIFEST).read_text(encoding="utf-8"), key.split("."), value)
    findings = check(load_yaml(content).data, load_schema("memkit"))
    if findings:
        raise UsageError(f"{key} cannot be {json.dumps(value, ensure_ascii=False)}: {findings[0].message}")
    return change_file(root, MANIFEST, content, message, hooks=False)


def _with_value(content: str, keys: Sequence[str], value: Any) -> str:
    def change(document: Any) -> None:
        place = document
        for name in keys[:-1]:
            place = place.setdefault(name, {})
        place[keys[-1]] = value

    return edited(content, change)
