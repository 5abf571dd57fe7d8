"""Find out how one list of texts became another: what was inserted, removed, reworded or moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

ALIKE = 0.5
"""Two texts that share at least this much are one text in other words."""
COMPARED = 200
"""So many of the first words of a text are compared; comparing all of a long one takes the square of its length."""
MOST_PAIRS = 4096
"""Pairs of texts that are compared word by word; longer stretches without an equal text are paired in order."""


@dataclass(frozen=True)
class Edit:
    """One difference between two lists."""

    kind: Literal["inserted", "removed", "reworded", "moved"]
    before: int | None
    """Where the text stood, from 0; None for one that is new."""
    after: int | None
    """Where the text stands; None for one that is gone."""


def edits(before: Sequence[str], after: Sequence[str]) -> list[Edit]:
    """Return the differences between two lists of texts, in the order of the new list; equal texts are none.

    >>> edits(["Boil water", "Pour"], ["Boil water", "Wait", "Pour"])
    [Edit(kind='inserted', before=None, after=1)]
    """
    start, stop = _common_ends(before, after)
    middle = _aligned(before[start : len(before) - stop], after[start : len(after) - stop])
    shifted = [
        (None if one is None else one + start, None if other is None else other + start) for one, other in middle
    ]
    found = [edit for pair in shifted if (edit := _edit(before, after, pair))]
    return _with_moves(before, after, found)


def _common_ends(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """Return how many texts at the start and at the end are the same."""
    shorter = min(len(before), len(after))
    start = next((place for place in range(shorter) if before[place] != after[place]), shorter)
    rest = shorter - start
    return start, next((place for place in range(rest) if before[-1 - place] != after[-1 - place]), rest)


def _edit(before: Sequence[str], after: Sequence[str], pair: tuple[int | None, int | None]) -> Edit | None:
    one, other = pair
    if one is None:
        return Edit("inserted", None, other)
    if other is None:
        return Edit("removed", one, None)
    return None if before[one] == after[other] else Edit("reworded", one, other)


def _with_moves(before: Sequence[str], after: Sequence[str], found: Sequence[Edit]) -> list[Edit]:
    """Return the edits with a removal and an insertion of the same text told as one move."""
    gone = {before[edit.before]: edit for edit in reversed(found) if edit.kind == "removed" and edit.before is not None}
    told: dict[Edit, Edit | None] = {}
    for edit in found:
        if edit.kind == "inserted" and edit.after is not None and (source := gone.pop(after[edit.after], None)):
            told[edit] = replace(edit, kind="moved", before=source.before)
            told[source] = None  # it is told where it went
    return [moved for edit in found if (moved := told.get(edit, edit)) is not None]


def _aligned(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int | None, int | None]]:
    """Yield pairs of places that belong together, by the cheapest way from one list to the other."""
    if len(before) * len(after) > MOST_PAIRS:
        yield from _roughly_aligned(before, after)
        return
    costs = _costs(before, after)
    one, other = 0, 0
    while one < len(before) or other < len(after):
        if one < len(before) and other < len(after):
            together = _distance(before[one], after[other]) + costs[one + 1][other + 1]
            if costs[one][other] == together:
                yield one, other
                one, other = one + 1, other + 1
                continue
        if one < len(before) and costs[one][other] == 1 + costs[one + 1][other]:
            yield one, None
            one += 1
        else:
            yield None, other
            other += 1


def _costs(before: Sequence[str], after: Sequence[str]) -> list[list[float]]:
    """Return what it costs to get from each rest of one list to each rest of the other."""
    costs = [[0.0] * (len(after) + 1) for _ in range(len(before) + 1)]
    for one in range(len(before), -1, -1):
        for other in range(len(after), -1, -1):
            ways = []
            if one < len(before) and other < len(after):
                ways.append(_distance(before[one], after[other]) + costs[one + 1][other + 1])
            if one < len(before):
                ways.append(1 + costs[one + 1][other])
            if other < len(after):
                ways.append(1 + costs[one][other + 1])
            costs[one][other] = min(ways, default=0.0)
    return costs


def _distance(one: str, other: str) -> float:
    """Return the cost of telling two texts as one: nothing for equals, more than both apart for strangers."""
    if one == other:
        return 0.0
    likeness = SequenceMatcher(None, _first_words(one), _first_words(other), autojunk=False).ratio()
    return 0.01 + 2 * (1 - likeness) if likeness >= ALIKE else 3.0


def _first_words(text: str) -> list[str]:
    return text[: COMPARED * 10].casefold().split()[:COMPARED]


def _roughly_aligned(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int | None, int | None]]:
    for _, start, stop, other_start, other_stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        both = min(stop - start, other_stop - other_start)
        yield from ((start + step, other_start + step) for step in range(both))
        yield from ((place, None) for place in range(start + both, stop))
        yield from ((None, place) for place in range(other_start + both, other_stop))
