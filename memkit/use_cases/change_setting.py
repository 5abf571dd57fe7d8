"""Change one setting of a store in ``memkit.yaml``."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from memkit.errors import UsageError
from memkit.privacy.sealer import MISSING, has_cryptography
from memkit.store.manifest import change_manifest
from memkit.store.scalars import resolve_plain
from memkit.workspace import Workspace


@dataclass(frozen=True)
class Change:
    """What became of a setting."""

    before: Any
    after: Any
    commit: str | None
    missing: str = ""
    """What has to be installed here before the setting works."""


def change_setting(workspace: Workspace, key: str, text: str) -> Change:
    """Set the dotted ``key`` to ``text``, read as YAML 1.2 reads a plain scalar, and commit the file.

    The file keeps its comments and its order; it is replaced only by one that passes the schema.

    Raises:
        UsageError: There is no such setting, or the value does not fit it.
    """
    settings = {item.key: item.value for item in workspace.settings if _changeable(item.key, item.value)}
    if key not in settings:
        near = difflib.get_close_matches(key, settings, n=1)
        advice = f"Did you mean {near[0]!r}?" if near else "'memkit config show' lists them."
        raise UsageError(f"{key!r} is no setting with one value. {advice}")
    try:
        before, after = settings[key], resolve_plain(text)
    except ValueError as error:
        raise UsageError(f"{key} cannot be {text!r:.60}: {error}") from None
    commit = change_manifest(workspace.root, key, after, f"Set {key}")
    return Change(
        before, after, commit, MISSING if (key, after) == ("privacy.seal", "user") and not has_cryptography() else ""
    )


def _changeable(key: str, value: Any) -> bool:
    """Return whether a person sets it with one value; the format is what memkit makes of the files."""
    return key != "format" and not isinstance(value, list | dict)
