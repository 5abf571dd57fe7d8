"""Where a program comes from: its ancestors, and what each step changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memkit.evolution.runs.individuals import Judged


@dataclass(frozen=True)
class Step:
    """One ancestor."""

    judged: Judged
    change: float | None
    """The score against that of its best parent; None for a seed, and where one of them does not count."""


def by_id(judged: Iterable[Judged]) -> dict[str, Judged]:
    """Return the journal by id; what came to another island later is the program that was judged first."""
    found: dict[str, Judged] = {}
    for each in judged:
        found.setdefault(each.id, each)
    return found


def ancestry(id: str, known: Mapping[str, Judged], *, minimize: bool) -> list[Step]:
    """Return the program and all of its ancestors, the oldest first."""
    found: dict[str, Judged] = {}
    waiting = [id]
    while waiting:
        judged = known.get(waiting.pop())
        if judged is not None and judged.id not in found:
            found[judged.id] = judged
            waiting += judged.parents
    order = {id: place for place, id in enumerate(known)}
    return [
        Step(each, _change(each, known, minimize))
        for each in sorted(found.values(), key=lambda each: (each.generation, order[each.id]))
    ]


def _change(judged: Judged, known: Mapping[str, Judged], minimize: bool) -> float | None:
    scores = [known[parent].score for parent in judged.parents if parent in known]
    counted = [score for score in scores if score is not None]
    if judged.score is None or not counted:
        return None
    return judged.score - (min(counted) if minimize else max(counted))
