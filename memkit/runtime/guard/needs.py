"""What a value cannot do without where a condition is to hold: which policies of many are worth asking.

A condition says ``NO`` on every value that meets none of its needs, so that whoever looks values up in a table of needs
finds at least the conditions that say more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

EQUAL, PREFIX, SUFFIX, INSIDE, RANGE, PROGRAM, STATEMENT = (
    "equal",
    "prefix",
    "suffix",
    "inside",
    "range",
    "program",
    "statement",
)


class Need(NamedTuple):
    """One thing that a value can have."""

    kind: str
    """How ``text`` stands in the text of the value: the whole of it, at its start or end, or anywhere in any case; a
    range of numbers; a program that it would run as shell; the first word of a statement that it would run as SQL."""
    text: str = ""
    low: float = -math.inf
    high: float = math.inf
    """Both ends belong to the range; a value that is no number may meet every range."""


Needs = frozenset[Need]
"""Of which a value must meet one; empty where nothing is known, so that the condition is always asked."""

UNKNOWN: Needs = frozenset()

_RARITY = {EQUAL: 60, PROGRAM: 50, STATEMENT: 30, RANGE: 4}
"""How much a need tells; a part of a text tells as much as it has characters."""


def of_texts(kind: str, texts: Iterable[str]) -> Needs:
    """Return the needs of what wants one of the texts; unknown where one is empty, which every value meets."""
    found = frozenset(Need(kind, folded(text) if kind == INSIDE else text) for text in texts)
    return found if all(need.text or kind == EQUAL for need in found) else UNKNOWN


def of_any(parts: Iterable[Needs]) -> Needs:
    """Return the needs of what holds where one of its parts does."""
    known = list(parts)
    return frozenset().union(*known) if known and all(known) else UNKNOWN


def of_all(parts: Iterable[Needs]) -> Needs:
    """Return the needs of what holds where all of its parts do: those of the part that says most."""
    return max(parts, key=telling, default=UNKNOWN)


def telling(needs: Needs) -> int:
    """Return how few values meet the needs, as a number to compare."""
    return min((_RARITY.get(need.kind) or len(need.text) for need in needs), default=0)


_ODD = {0x131: "i", 0x17F: "s", 0x212A: "k"}
"""The characters beyond ASCII of which ``lower`` or ``upper`` is one letter of it."""
_FOLDS = {**{code: chr(code + 32) for code in range(ord("A"), ord("Z") + 1)}, **_ODD}


def folded(text: str) -> str:
    """Return a text in which letters that differ in case alone are the same, as far as they are those of ASCII."""
    return text.lower() if text.isascii() else text.translate(_FOLDS)
