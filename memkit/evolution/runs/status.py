"""How a run stands, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memkit.evolution.runs.account import Account
from memkit.evolution.runs.checkpoints import Checkpoint
from memkit.evolution.runs.individuals import Judged


@dataclass(frozen=True)
class Status:
    """How a run stands."""

    run: str
    path: str
    state: str
    """running | finished | stopped"""
    generation: int
    generations: int
    best: Mapping[str, Any] | None
    """``{id, score, metrics}``"""
    evaluations: int
    rate: float | None
    """Programs judged in a second."""
    failures: Mapping[str, int]
    """Reason → how many programs have no score that counts for it, the most frequent first."""
    stopped: str | None
    """Why it ended: generations, target, patience, exhausted, unscored, tokens, cost, interrupted."""
    sandbox: str
    """Which means of confinement hold."""
    notes: tuple[str, ...] = ()
    models: tuple[Mapping[str, Any], ...] = ()
    """What each model has contributed: ``{name, asked, better}``, where better are programs that beat the one they
    change. The more of those, the more often it is asked."""


@dataclass(frozen=True)
class Point:
    """One generation."""

    generation: int
    judged: int
    scored: int
    best: float | None
    """Of this generation."""
    best_so_far: float | None


def status_of(account: Account) -> Status:
    """Return how a run stands."""
    checkpoint, settings = account.checkpoint, account.record.settings
    if checkpoint is None:
        return Status(
            account.record.name, str(account.folder.path), account.state, 0, settings.generations, None, 0, None, {},
            None, account.record.sandbox, account.notes,
        )  # fmt: skip
    best = checkpoint.best and {name: value for name, value in checkpoint.best.items() if name != "program"}
    return Status(
        account.record.name,
        str(account.folder.path),
        account.state,
        checkpoint.generation,
        settings.generations,
        best,
        checkpoint.evaluations,
        round(checkpoint.evaluations / checkpoint.seconds, 2) if checkpoint.seconds else None,
        failures_of(account.judged),
        checkpoint.stopped,
        account.record.sandbox,
        account.notes,
        models_of(checkpoint),
    )


def models_of(checkpoint: Checkpoint) -> tuple[Mapping[str, Any], ...]:
    """Return what each model has contributed, by name."""
    standings: Mapping[str, Any] = checkpoint.state.get("proposers", {})
    return tuple(
        {"name": name, "asked": standing["tries"], "better": standing["wins"]}
        for name, standing in sorted(standings.items())
    )


def failures_of(judged: Iterable[Judged]) -> dict[str, int]:
    """Return how many programs have no score that counts, by reason, the most frequent first."""
    return dict(Counter(each.reason or "no reason" for each in _once(judged) if each.score is None).most_common())


def course_of(judged: Iterable[Judged], *, minimize: bool) -> list[Point]:
    """Return how each generation did, the first one first."""
    by_generation: dict[int, list[Judged]] = {}
    for each in _once(judged):
        by_generation.setdefault(each.generation, []).append(each)
    choose, so_far, points = min if minimize else max, None, list[Point]()
    for number in sorted(by_generation):
        scores = [each.score for each in by_generation[number] if each.score is not None]
        best = choose(scores, default=None)
        so_far = best if so_far is None else so_far if best is None else choose(so_far, best)
        points.append(Point(number, len(by_generation[number]), len(scores), best, so_far))
    return points


def _once(judged: Iterable[Judged]) -> Iterator[Judged]:
    """Yield what was judged; a program that moves to another island is not judged again."""
    return (each for each in judged if each.operation != "migrate")
