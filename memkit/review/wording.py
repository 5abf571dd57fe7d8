"""How texts and values of a store stand in a sentence, and sentences that kinds of files share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memkit.review.interface import SubjectChange
from memkit.runtime.memory.gate.secrets import mask as masked
from memkit.skills.changes import version_key
from memkit.terminal import one_line

WIDTH = 100
"""Characters of a text that a sentence shows."""

_OWN_MARKS = str.maketrans("“”", '""')


def quoted(text: str, width: int = WIDTH) -> str:
    """Return a text of the store as it is quoted: on one line, cut, harmless, without secrets, between “ and ”."""
    # Only the marks around it may be these, so that whoever reads the sentence knows where the foreign text ends.
    return f"“{one_line(masked(text[: width * 8]), width).translate(_OWN_MARKS)}”"


def value(data: Any, width: int = WIDTH) -> str:
    """Return a value of a file as it is quoted, a text without quotation marks of its own."""
    return quoted(data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, sort_keys=True), width)


def listed(values: list[Any], most: int = 4) -> str:
    """Return some values as a list in words, and how many more there are."""
    shown = ", ".join(value(each, 60) for each in values[:most])
    more = len(values) - most
    return f"{shown} and {more} more" if more > 0 else shown


def reworded(field: str, before: str | None, after: str | None) -> Iterator[SubjectChange]:
    """Yield that a text came, went or has other words."""
    if before != after:
        kind = "added" if before is None else "removed" if after is None else "reworded"
        yield SubjectChange(field, kind, f"{field} {kind}: {quoted(after or before or '')}", before, after)


def list_changes(
    field: str, noun: str, before: Sequence[Any], after: Sequence[Any], *, losing: bool = False
) -> Iterator[SubjectChange]:
    """Yield what came into a list and what went, where order means nothing; ``losing`` an item may need attention."""
    for item in after:
        if item not in before:
            yield SubjectChange(field, "added", f"{noun} added: {value(item)}", None, item)
    for item in before:
        if item not in after:
            yield SubjectChange(field, "removed", f"{noun} removed: {value(item)}", item, None, losing)


def life_cycle_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[SubjectChange]:
    """Yield what changed of version, change log, deprecation and successor."""
    one, other = before.get("version"), after.get("version")
    if one != other and one and other:
        kind = "raised" if version_key(other) > version_key(one) else "lowered"
        said = f"version {kind} from {one} to {other}"
        yield SubjectChange("version", kind, said, one, other, attention=kind == "lowered")
    elif one != other:
        kind = "removed" if one else "added"
        yield SubjectChange("version", kind, f"version {one or other} {kind}", one, other, attention=bool(one))
    if before.get("deprecated", False) != after.get("deprecated", False):
        now = after.get("deprecated")
        reason = f": {quoted(now)}" if isinstance(now, str) else ""
        said = f"deprecated{reason}" if now else "no longer deprecated"
        yield SubjectChange("deprecated", "changed", said, before.get("deprecated"), now)
    successor = after.get("superseded_by")
    if before.get("superseded_by") != successor:
        said = f"superseded by {quoted(successor)}" if successor else "no longer superseded"
        yield SubjectChange("superseded_by", "changed", said, before.get("superseded_by"), successor)
    yield from _log(before.get("changelog", ()), after.get("changelog", ()))


def _log(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Iterator[SubjectChange]:
    one, other = ({entry["version"]: _told(entry["changes"]) for entry in log} for log in (before, after))
    for version in [*other, *(version for version in one if version not in other)]:
        if one.get(version) != other.get(version):
            kind = "added" if version not in one else "removed" if version not in other else "reworded"
            said = f"change log of {quoted(version)} {kind}: {quoted(other.get(version) or one.get(version) or '')}"
            yield SubjectChange("changelog", kind, said, one.get(version), other.get(version))


def _told(changes: str | Sequence[str]) -> str:
    return changes if isinstance(changes, str) else "; ".join(changes)
