"""Versions and successors: what changed is said, and what is replaced says by what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memkit.lint.checked import Checked
from memkit.lint.collection import Collection
from memkit.lint.interface import Finding

UNCHANGED_VERSION, LOWERED, NO_ENTRY, NO_SUCCESSOR, DANGLING, CYCLIC = "401", "402", "403", "404", "405", "406"

_ABOUT_ITSELF = frozenset({"version", "changelog", "tests"})
"""What may change without a new version: it says nothing about how the skill or policy works."""
_FAMILIES = {"skill": "MKS", "policy": "MKP"}


def file_life_cycle(file: Checked, family: str) -> Iterator[Finding]:
    """Yield a version without an entry in the change log, and a file that is deprecated without a successor."""
    data = file.document.data
    version, entries = data.get("version"), data.get("changelog")
    if isinstance(version, str) and not _is_told(version, entries):
        message = f"The change log has no entry for version {version}. Say what it changed."
        yield file.found(family + NO_ENTRY, message, ("version",))
    if data.get("deprecated") and not data.get("superseded_by"):
        message = "This is deprecated, and nothing says what to use instead. Name it in superseded_by."
        yield file.found(family + NO_SUCCESSOR, message, ("deprecated",), at_key=True)


def _is_told(version: str, entries: Any) -> bool:
    """Return whether the change log tells of a version; a first version without a log has nothing to tell."""
    if not isinstance(entries, list) or not entries:
        return version in ("0.0.1", "0.1.0", "1.0.0")
    return any(isinstance(entry, Mapping) and entry.get("version") == version for entry in entries)


def life_cycle(files: Collection) -> Iterator[Finding]:
    """Yield what only the whole store and its last commit show."""
    for file, before in files.changed():
        if file.source.kind in _FAMILIES:
            yield from _since(file, before, _FAMILIES[file.source.kind], files)
    for kind, family in _FAMILIES.items():
        known = files.skills if kind == "skill" else files.policies
        yield from _successors(known, files.names(kind), kind, family)


def _since(file: Checked, before: Mapping[str, Any], family: str, files: Collection) -> Iterator[Finding]:
    now = file.data
    old, new = before.get("version"), now.get("version")
    if not isinstance(old, str):
        return
    if new is None or _number(new) < _number(old):
        if files.is_rolled_back(file):
            return
        message = f"The version was {old} in {files.since}, and is {new or 'gone'}. Versions only rise."
        yield file.found(family + LOWERED, message, ("version",))
    elif new == old and _content(before) != _content(now):
        message = (
            f"The content changed since {files.since}, and the version is still {old}. Raise it, and say what changed."
        )
        yield file.found(family + UNCHANGED_VERSION, message, ("version",))


def _content(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in _ABOUT_ITSELF}


def _number(version: Any) -> tuple[int, ...]:
    parts = str(version).split(".")
    return tuple(int(part) for part in parts) if all(part.isdecimal() for part in parts) else ()


def _successors(known: Mapping[str, Checked], names: set[str], kind: str, family: str) -> Iterator[Finding]:
    for name, file in known.items():
        successor = file.data.get("superseded_by")
        if not isinstance(successor, str):
            continue
        if successor not in names:
            message = f"There is no {kind} {successor!r} in this store."
            yield file.found(family + DANGLING, message, ("superseded_by",))
            continue
        circle = _circle(name, known)
        if circle:
            message = f"This leads in a circle: {' → '.join(circle)}. Nobody learns which one to use."
            yield file.found(family + CYCLIC, message, ("superseded_by",))


def _circle(start: str, known: Mapping[str, Checked]) -> list[str]:
    """Return the names from ``start`` back to it, or nothing when its successors end."""
    path = [start]
    while path[-1] in known:
        following = known[path[-1]].data.get("superseded_by")
        if following == start:
            return [*path, start]
        if not isinstance(following, str) or following in path:
            return []
        path.append(following)
    return []
