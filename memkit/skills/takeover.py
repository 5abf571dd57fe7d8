"""Bring a newer text of an imported skill into the one that its owner has changed since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

_NOT_THEIRS = frozenset({"name", "version", "changelog", "checks", "generates"})
"""What the owner alone decides."""


@dataclass(frozen=True)
class Conflict:
    """A field that both sides changed, each in its own way."""

    field: str
    imported: Any
    """As it was imported before."""
    ours: Any
    theirs: Any


@dataclass(frozen=True)
class Takeover:
    """What has to change in the owner's file."""

    changes: Mapping[str, Any]
    """Field → its new value; None takes it out."""
    conflicts: tuple[Conflict, ...]


def take_over(imported: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Takeover:
    """Return how ``ours`` becomes what it is with everything that ``theirs`` changed since it was ``imported``.

    A field that only one side changed is that side's. In a list that both changed, changes that do not touch each other
    come together; anything else is a conflict, and the owner's words are never replaced.

    >>> take_over({"steps": ["a", "b"]}, {"steps": ["A", "b"]}, {"steps": ["a", "b", "c"]}).changes
    {'steps': ['A', 'b', 'c']}
    """
    changes: dict[str, Any] = {}
    conflicts = []
    for key in dict.fromkeys((*theirs, *imported)):
        base, mine, new = imported.get(key), ours.get(key), theirs.get(key)
        if key in _NOT_THEIRS or new in (base, mine):
            continue
        joined = new if mine == base else _joined(base, mine, new)
        if joined is None and mine != base:
            conflicts.append(Conflict(key, base, mine, new))
        else:
            changes[key] = joined
    return Takeover(changes, tuple(conflicts))


def _joined(base: Any, mine: Any, new: Any) -> list[Any] | None:
    """Return a list with the changes of both sides, or None where they touch each other."""
    if not (isinstance(base, list) and isinstance(mine, list) and isinstance(new, list)):
        return None
    own = _edits(base, mine)
    edits = sorted([*own, *(edit for edit in _edits(base, new) if edit not in own)], key=lambda edit: edit[:2])
    for (_, stop, _), (start, _, _) in pairwise(edits):
        if start <= stop:
            return None
    result: list[Any] = []
    place = 0
    for start, stop, items in edits:
        result += [*base[place:start], *items]
        place = stop
    return [*result, *base[place:]]


def _edits(before: Sequence[Any], after: Sequence[Any]) -> list[tuple[int, int, list[Any]]]:
    """Return what stretches of ``before`` were replaced by, as (from, to, items)."""
    matcher = SequenceMatcher(None, list(map(repr, before)), list(map(repr, after)), autojunk=False)
    return [(a, b, list(after[c:d])) for kind, a, b, c, d in matcher.get_opcodes() if kind != "equal"]
