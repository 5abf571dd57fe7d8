"""What changed in the fields that files of several kinds have: texts, lists of texts, versions and successors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memkit.review.interface import Change
from memkit.review.quoting import quoted, value
from memkit.skills.changes import version_key


def reworded(field: str, before: str | None, after: str | None, *, attention: bool = False) -> Iterator[Change]:
    """Yield that a text came, went or has other words."""
    if before != after:
        kind = "added" if before is None else "removed" if after is None else "reworded"
        yield Change(field, kind, f"{field} {kind}: {quoted(after or before or '')}", before, after, attention)


def list_changes(
    field: str, noun: str, before: Sequence[Any], after: Sequence[Any], *, losing: bool = False, gaining: bool = False
) -> Iterator[Change]:
    """Yield what came into a list and what went, where order means nothing.

    Args:
        field: The key of the list.
        noun: What an item of it is called.
        before: The items before.
        after: The items after.
        losing: Whether an item that goes needs attention.
        gaining: Whether one that comes does.
    """
    for item in after:
        if item not in before:
            yield Change(field, "added", f"{noun} added: {value(item)}", None, item, gaining)
    for item in before:
        if item not in after:
            yield Change(field, "removed", f"{noun} removed: {value(item)}", item, None, losing)


def life_cycle_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """Yield what changed of version, change log, deprecation and successor."""
    one, other = before.get("version"), after.get("version")
    if one != other and one and other:
        kind = "raised" if version_key(other) > version_key(one) else "lowered"
        said = f"version {kind} from {one} to {other}"
        yield Change("version", kind, said, one, other, attention=kind == "lowered")
    elif one != other:
        kind = "removed" if one else "added"
        yield Change("version", kind, f"version {one or other} {kind}", one, other, attention=bool(one))
    if before.get("deprecated", False) != after.get("deprecated", False):
        now = after.get("deprecated")
        reason = f": {quoted(now)}" if isinstance(now, str) else ""
        said = f"deprecated{reason}" if now else "no longer deprecated"
        yield Change("deprecated", "changed", said, before.get("deprecated"), now)
    successor = after.get("superseded_by")
    if before.get("superseded_by") != successor:
        said = f"superseded by {quoted(successor)}" if successor else "no longer superseded"
        yield Change("superseded_by", "changed", said, before.get("superseded_by"), successor)
    yield from _log(before.get("changelog", ()), after.get("changelog", ()))


def _log(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Iterator[Change]:
    one, other = ({entry["version"]: _told(entry["changes"]) for entry in log} for log in (before, after))
    for version in [*other, *(version for version in one if version not in other)]:
        if one.get(version) != other.get(version):
            kind = "added" if version not in one else "removed" if version not in other else "reworded"
            said = f"change log of {quoted(version)} {kind}: {quoted(other.get(version) or one.get(version) or '')}"
            yield Change("changelog", kind, said, one.get(version), other.get(version))


def _told(changes: str | Sequence[str]) -> str:
    return changes if isinstance(changes, str) else "; ".join(changes)
