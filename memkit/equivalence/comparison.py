"""Tell in words where two accounts of one part differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memkit.equivalence.interface import Account

_ABSENT = "nothing"
_SHOWN = 160
"""Characters of a value that a sentence quotes."""


def differences(reference: Account, other: Account) -> list[str]:
    """Return a sentence for everything in which ``other`` is not what the reference agent showed."""
    found: list[str] = []
    for number, (expected, seen) in enumerate(zip(reference.turns, other.turns, strict=True), 1):
        if "failed" in seen and "failed" not in expected:
            found.append(f"turn {number} failed: {_quoted(seen['failed'])}")
        else:
            found += _differences(expected, seen, f"turn {number}")
    return [*found, *_differences(reference.memory, other.memory, "memory")]


def _differences(expected: Any, seen: Any, where: str) -> Iterator[str]:
    if isinstance(expected, Mapping) and isinstance(seen, Mapping):
        for key in sorted({*expected, *seen}):
            yield from _differences(expected.get(key, _ABSENT), seen.get(key, _ABSENT), f"{where}, {key}")
    elif isinstance(expected, list) and isinstance(seen, list) and len(expected) == len(seen):
        for number, (one, other) in enumerate(zip(expected, seen, strict=True), 1):
            yield from _differences(one, other, f"{where} {number}")
    elif expected != seen:
        yield f"{where}: the reference agent has {_quoted(expected)}, this target {_quoted(seen)}"


def _quoted(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
