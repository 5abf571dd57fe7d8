"""Recall and reciprocal rank, per way to search, granularity and type of question."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from memkit.bench.interface import Dialogue
from memkit.bench.modes import Ranker

ALL = "all"
GRANULARITIES = ("turn", "session")
MakeRanker = Callable[[str, Dialogue], Ranker]


@dataclass(frozen=True)
class Row:
    """What one way to search reached on one type of question."""

    mode: str
    granularity: str
    """turn | session"""
    kind: str
    """A type of question, or ``all``."""
    questions: int
    recall: dict[int, float]
    """By k: the mean share of a question's evidence that is among the first k."""
    mrr: float
    """The mean of one over the rank of the first piece of evidence; 0 where none was found."""


@dataclass(frozen=True)
class Measurement:
    """Every row, and what the figures rest on."""

    rows: tuple[Row, ...]
    dialogues: int
    questions: int
    """Those with evidence."""
    skipped: int
    """Those without any: nothing can be recalled for them."""
    candidates: dict[str, int]
    """By granularity: how many there are to choose from, the median over the questions."""


def measure(dialogues: Iterable[Dialogue], modes: Sequence[str], ks: Sequence[int], make: MakeRanker) -> Measurement:
    """Ask every question of every dialogue in every mode and return what came back."""
    ranks: defaultdict[tuple[str, str, str], list[list[int | None]]] = defaultdict(list)
    pools: defaultdict[str, list[int]] = defaultdict(list)
    count = questions = skipped = 0
    for dialogue in dialogues:
        count += 1
        asked = [one for one in dialogue.questions if one.turns or one.sessions]
        questions, skipped = questions + len(asked), skipped + len(dialogue.questions) - len(asked)
        pools["turn"] += [len(dialogue.turns)] * len(asked)
        pools["session"] += [len({turn.session for turn in dialogue.turns})] * len(asked)
        for mode in modes if asked else ():
            ranker = make(mode, dialogue)
            for one in asked:
                for granularity, wanted, found in (
                    ("turn", one.turns, ranker.turns(one.text, one.today) if one.turns else []),
                    ("session", one.sessions, ranker.sessions(one.text, one.today) if one.sessions else []),
                ):
                    if wanted:
                        for kind in (ALL, one.kind):
                            ranks[mode, granularity, kind].append(_ranks(wanted, found))
    rows = tuple(_row(key, ranks[key], ks) for key in sorted(ranks, key=lambda key: _order(key, modes)))
    candidates = {name: int(median(pools[name])) for name in GRANULARITIES if pools[name]}
    return Measurement(rows, count, questions, skipped, candidates)


def _ranks(wanted: Collection[Hashable], found: Sequence[Hashable]) -> list[int | None]:
    """Return the rank of each piece of evidence, counted from one; None for what was not found."""
    places = {one: rank for rank, one in enumerate(found, 1)}
    return [places.get(one) for one in wanted]


def _row(key: tuple[str, str, str], ranks: list[list[int | None]], ks: Sequence[int]) -> Row:
    recall = {k: _mean(sum(rank is not None and rank <= k for rank in one) / len(one) for one in ranks) for k in ks}
    first = (min((rank for rank in one if rank is not None), default=None) for one in ranks)
    return Row(*key, len(ranks), recall, _mean(1 / rank if rank else 0.0 for rank in first))


def _mean(values: Iterable[float]) -> float:
    given = list(values)
    return math.fsum(given) / len(given)


def _order(key: tuple[str, str, str], modes: Sequence[str]) -> tuple[int, int, bool, str]:
    mode, granularity, kind = key
    return GRANULARITIES.index(granularity), modes.index(mode), kind != ALL, kind
