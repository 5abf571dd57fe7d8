"""A run's state and figures, read from its folder, whether or not a process is working on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from functools import cached_property
from typing import Any

from memkit.errors import NegativeAnswer, NotFound, UsageError
from memkit.evolution.answers import RecordedAnswers
from memkit.evolution.files import JudgedProgram, LineageStep, ancestry, by_id
from memkit.evolution.folder import RunFolder
from memkit.evolution.record import Checkpoint, RunRecord

RUNNING, FINISHED, STOPPED = "running", "finished", "stopped"
SHORT = 10
"""The characters of an id that are shown."""
_SHORTEST = 4


@dataclass(frozen=True)
class EvolutionAccount:
    """The account of a run: everything belongs to the generation of one checkpoint."""

    folder: RunFolder
    record: RunRecord
    checkpoint: Checkpoint | None
    notes: tuple[str, ...]

    @cached_property
    def judged(self) -> tuple[JudgedProgram, ...]:
        """Return every judged program in the order of judging."""
        if self.checkpoint is None:
            return ()
        return tuple(self.folder.individuals.read(size=self.checkpoint.journal_bytes))

    @cached_property
    def known(self) -> Mapping[str, JudgedProgram]:
        """Return the judged programs by id."""
        return by_id(self.judged)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Return the texts of the programs by id."""
        return self.folder.texts.all(last=self.checkpoint.generation if self.checkpoint else 0)

    @cached_property
    def state(self) -> str:
        """Return ``running``, ``finished`` or ``stopped`` (there is more to do, but no process does it)."""
        if self.folder.is_busy:
            return RUNNING
        return FINISHED if self.checkpoint is not None and self.checkpoint.stopped is not None else STOPPED

    @cached_property
    def spent(self) -> dict[str, float]:
        """Return the models' usage: tokens, and the cost if prices are stated."""
        return RecordedAnswers(self.folder.path, price=self.record.settings.price).spent

    @property
    def best(self) -> str:
        """Return the id of the best program; raise ``NegativeAnswer`` if none has a valid score."""
        if self.checkpoint is None or self.checkpoint.best is None:
            raise NegativeAnswer(f"No program of the run {self.record.name} has a score that counts yet.")
        return str(self.checkpoint.best["id"])

    @property
    def seed(self) -> str:
        """Return the id of the program that the run began with.

        Raises:
            NegativeAnswer: It has not been judged yet.
        """
        first = next(iter(self.judged), None)
        if first is None:
            raise NegativeAnswer(f"No program of the run {self.record.name} has been judged yet.")
        return first.id

    def find(self, start: str) -> JudgedProgram:
        """Return the one program whose id begins with ``start``, which may be ``best`` or ``seed``.

        Raises:
            NotFound: There is none.
            UsageError: There are several.
        """
        if start in ("best", "seed"):
            return self.known[getattr(self, start)]
        found = [id for id in self.known if id.startswith(start)] if len(start) >= _SHORTEST else []
        if not found:
            raise NotFound(
                f"The run has no program {start!r:.80}. Give the first {_SHORTEST} characters of an id or more."
            )
        if len(found) > 1:
            raise UsageError(
                f"{start!r:.80} matches {len(found)} ids, such as {found[0]} and {found[1]}. Give more of it."
            )
        return self.known[found[0]]

    def text(self, id: str) -> str:
        """Return the text of a program; raise ``NotFound`` if it is no longer in the folder."""
        if id not in self.texts:
            raise NotFound(f"The text of the program {id[:SHORT]} is not in {self.folder.path / 'programs'}.")
        return self.texts[id]

    def diff(self, before: str, after: str) -> list[str]:
        """Return the lines of the unified diff of two programs; empty if they are equal."""
        first, second = self.text(before), self.text(after)
        names = (f"{before[:SHORT]}.py", f"{after[:SHORT]}.py")
        return list(unified_diff(first.splitlines(), second.splitlines(), *names, lineterm=""))

    def ancestry(self, id: str) -> list[LineageStep]:
        """Return a program and its ancestors, oldest first."""
        return ancestry(id, self.known, minimize=self.record.settings.minimize)


def account_of(folder: RunFolder) -> EvolutionAccount:
    """Return the account of a run.

    Raises:
        NotFound: This is not a run.
        RunFault: It is damaged, or was written by a newer memkit.
    """
    found = folder.newest()
    return EvolutionAccount(folder, folder.record, found.checkpoint, found.notes)


@dataclass(frozen=True)
class Status:
    """The state of a run."""

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
    """Programs judged per second."""
    failures: Mapping[str, int]
    """Reason → how many programs have no valid score because of it, most frequent first."""
    stopped: str | None
    """Why it ended: generations, target, patience, exhausted, unscored, tokens, cost, interrupted."""
    sandbox: str
    """The confinement in effect."""
    notes: tuple[str, ...] = ()
    models: tuple[Mapping[str, Any], ...] = ()
    """Each model's contribution: ``{name, asked, better}``, where better are programs that beat the one they
    change. The more of those, the more often it is asked."""


@dataclass(frozen=True)
class Point:
    """One generation."""

    generation: int
    judged: int
    scored: int
    best: float | None
    """The best score of this generation."""
    best_so_far: float | None


def status_of(account: EvolutionAccount) -> Status:
    """Return the state of a run."""
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
    """Return each model's contribution, by name."""
    standings: Mapping[str, Any] = checkpoint.state.get("proposers", {})
    return tuple(
        {"name": name, "asked": standing["tries"], "better": standing["wins"]}
        for name, standing in sorted(standings.items())
    )


def failures_of(judged: Iterable[JudgedProgram]) -> dict[str, int]:
    """Return how many programs have no valid score, by reason, most frequent first."""
    return dict(Counter(each.reason or "no reason" for each in _once(judged) if each.score is None).most_common())


def course_of(judged: Iterable[JudgedProgram], *, minimize: bool) -> list[Point]:
    """Return the results of each generation, first one first."""
    by_generation: dict[int, list[JudgedProgram]] = {}
    for each in _once(judged):
        by_generation.setdefault(each.generation, []).append(each)
    choose, so_far, points = min if minimize else max, None, list[Point]()
    for number in sorted(by_generation):
        scores = [each.score for each in by_generation[number] if each.score is not None]
        best = choose(scores, default=None)
        so_far = best if so_far is None else so_far if best is None else choose(so_far, best)
        points.append(Point(number, len(by_generation[number]), len(scores), best, so_far))
    return points


def _once(judged: Iterable[JudgedProgram]) -> Iterator[JudgedProgram]:
    """Yield the judged programs; one that moves to another island is not judged again."""
    return (each for each in judged if each.operation != "migrate")
