"""Merge a newer text of an imported skill into the one that its owner has changed since, and write a skill as YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memkit.runtime.host.terminal import is_unsafe
from memkit.store.yaml_edit import joined

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_/-]*(?: [A-Za-z0-9(][A-Za-z0-9_/().,;'-]*)*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def skill_text(data: Mapping[str, Any]) -> str:
    r"""Return the text of a skill's file, in the order of ``data``; invisible characters become escapes.

    >>> print(skill_text({"name": "tea", "steps": ["Boil water.", "Pour:\nslowly"], "version": "1.0.0"}), end="")
    name: tea
    steps:
      - Boil water.
      - |-
        Pour:
        slowly
    version: "1.0.0"
    """
    return "".join(f"{line}\n" for key, value in data.items() for line in _entry(key, value, ""))


def _entry(key: str, value: Any, indent: str) -> Iterator[str]:
    name = indent + _scalar(key, "")[0]
    if isinstance(value, Mapping):
        yield f"{name}:"
        for inner, item in value.items():
            yield from _entry(inner, item, f"{indent}  ")
    elif isinstance(value, list):
        yield f"{name}:"
        for item in value:
            yield from _item(item, f"{indent}  ")
    else:
        first, *rest = _scalar(value, f"{indent}  ")
        yield f"{name}: {first}"
        yield from rest


def _item(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        lines = [line for key, item in value.items() for line in _entry(key, item, f"{indent}  ")]
        yield f"{indent}- {lines[0].strip()}"
        yield from lines[1:]
        return
    first, *rest = _scalar(value, f"{indent}  ")
    yield f"{indent}- {first}"
    yield from rest


def _scalar(value: Any, indent: str) -> list[str]:
    """Return a scalar's lines: plain if it cannot be misread, as a block for several lines, or else quoted."""
    if not isinstance(value, str):
        return [json.dumps(value)]
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return [value]
    if "\n" in value and indent and not value.startswith((" ", "\t", "\n")) and not any(map(_is_hidden, value)):
        lines = value.rstrip("\n").split("\n")
        kept = len(value) - len(value.rstrip("\n"))
        if kept == 0 and not any(line != line.rstrip() for line in lines):
            return ["|-", *(indent + line if line else "" for line in lines)]
    return [_quoted(value)]


def _is_hidden(char: str) -> bool:
    return is_unsafe(char) or char in "\t\x85\ufeff"


def _quoted(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    return "".join(f"\\U{ord(char):08x}" if is_unsafe(char) else char for char in written)


_NOT_THEIRS = frozenset({"name", "version", "changelog", "checks", "generates"})
"""Fields that the owner alone decides."""


@dataclass(frozen=True)
class FieldConflict:
    """A field that both sides changed differently."""

    field: str
    imported: Any
    """Its value at the last import."""
    ours: Any
    theirs: Any


@dataclass(frozen=True)
class Takeover:
    """The changes to make in the owner's file."""

    changes: Mapping[str, Any]
    """Field → its new value; None removes it."""
    conflicts: tuple[FieldConflict, ...]


def take_over(imported: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Takeover:
    """Return the changes to ``ours`` that add everything that ``theirs`` changed since it was ``imported``.

    A field that only one side changed is that side's. In a list that both changed, non-overlapping changes are
    combined; anything else is a conflict, and the owner's words are never replaced.

    >>> take_over({"steps": ["a", "b"]}, {"steps": ["A", "b"]}, {"steps": ["a", "b", "c"]}).changes
    {'steps': ['A', 'b', 'c']}
    """
    changes: dict[str, Any] = {}
    conflicts = []
    for key in dict.fromkeys((*theirs, *imported)):
        base, mine, new = imported.get(key), ours.get(key), theirs.get(key)
        if key in _NOT_THEIRS or new in (base, mine):
            continue
        lists = [side for side in (base, mine, new) if isinstance(side, list)]
        together = new if mine == base else joined(*lists) if len(lists) == 3 else None
        if together is None and mine != base:
            conflicts.append(FieldConflict(key, base, mine, new))
        else:
            changes[key] = together
    return Takeover(changes, tuple(conflicts))
