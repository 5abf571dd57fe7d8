"""Merge two versions of a skill, a policy or a domain by what they say, and name the clauses that both changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

from memkit.store.yaml import YamlError, load_yaml
from memkit.store.yaml_edit import edited

_NAMING = ("name", "input", "text", "version")
"""Keys that tell an item of a list from the others, such as a test by its name."""
_ABSENT = object()


@dataclass(frozen=True)
class Clash:
    """A clause that both sides changed, each in its own way."""

    place: str
    """Such as ``tests[asks].expect``."""
    ours: Any
    """None where it is gone."""
    theirs: Any


def merge_yaml(base: str, ours: str, theirs: str, by_line: str | None = None) -> tuple[str | None, list[Clash]]:
    """Return the text that has the changes of both sides, or None and the clauses that are in conflict.

    Args:
        base: The text that both began with; empty where there was none.
        ours: The text whose comments and order are kept.
        theirs: The other one.
        by_line: What a merge by the line came to, where it went well: it keeps the comments of both.

    Raises:
        YamlError: One of them does not load.
    """
    old, mine, new = (load_yaml(text).data for text in (base, ours, theirs))
    clashes: list[Clash] = []
    goal = _merged({} if old is None else old, mine, new, place="", clashes=clashes)
    if clashes:
        return None, clashes
    for text in (by_line, ours, theirs):
        if text is not None and _says(text, goal):
            return text, []
    return edited(ours, lambda document: _bring(document, mine, goal)), []


def _says(text: str, goal: Any) -> bool:
    try:
        return bool(load_yaml(text).data == goal)
    except YamlError:
        return False


def _merged(base: Any, ours: Any, theirs: Any, *, place: str, clashes: list[Clash]) -> Any:
    if theirs in (base, ours):
        return ours
    if ours == base:
        return theirs
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        known = base if isinstance(base, Mapping) else {}
        return _merged_map((known, ours, theirs), place, clashes)
    if isinstance(base, list) and isinstance(ours, list) and isinstance(theirs, list):
        named = [items for side in (base, ours, theirs) if (items := _by_name(side)) is not None]
        if len(named) == 3:
            return list(_merged_map(named, place, clashes, "[{}]").values())
        together = joined(base, ours, theirs)
        if together is not None:
            return together
    clashes.append(Clash(place, *(None if side is _ABSENT else side for side in (ours, theirs))))
    return ours


def _merged_map(
    sides: Sequence[Mapping[str, Any]], place: str, clashes: list[Clash], form: str = ".{}"
) -> dict[str, Any]:
    """Return the entries of both sides in our order; what is theirs alone stands behind what it stands behind there."""
    _, ours, theirs = sides
    order = list(ours)
    for before, key in pairwise([None, *theirs]):
        if key not in ours:
            order.insert(order.index(before) + 1 if before in order else len(order), str(key))
    found = {}
    for key in order:
        inner = (place + form.format(key)).removeprefix(".")
        value = _merged(*(side.get(key, _ABSENT) for side in sides), place=inner, clashes=clashes)
        if value is not _ABSENT:
            found[key] = value
    return found


def _by_name(items: Sequence[Any]) -> dict[str, Any] | None:
    """Return items by what names each of them; None where something names none, or two."""
    if not all(isinstance(item, Mapping) for item in items):
        return None
    for key in _NAMING:
        names = [item.get(key) for item in items]
        if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
            return dict(zip(map(str, names), items, strict=True))
    return None


def joined(base: list[Any], ours: list[Any], theirs: list[Any]) -> list[Any] | None:
    """Return a list with the changes of both sides, or None where they touch each other."""
    own = _edits(base, ours)
    edits = sorted([*own, *(edit for edit in _edits(base, theirs) if edit not in own)], key=lambda edit: edit[:2])
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


def _bring(document: Any, ours: Any, goal: Any) -> None:
    """Change a document that says ``ours`` until it says ``goal``, and nothing of it that is right already."""
    for key in [key for key in ours if key not in goal]:
        del document[key]
    for key, value in goal.items():
        if key not in ours or ours[key] != value:
            if isinstance(value, Mapping) and isinstance(ours.get(key), Mapping):
                _bring(document[key], ours[key], value)
            elif isinstance(value, list) and isinstance(ours.get(key), list):
                _bring_list(document[key], ours[key], value)
            else:
                document[key] = value


def _bring_list(items: Any, ours: Sequence[Any], goal: Sequence[Any]) -> None:
    for start, stop, wanted in reversed(_edits(ours, goal)):
        del items[start:stop]
        for item in reversed(wanted):
            items.insert(start, item)
