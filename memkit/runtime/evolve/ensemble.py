"""Several proposers, such as models, asked the more often the more their programs were worth.

The choice is probability matching with add-one smoothing (Thierens, "Adaptive operator selection", 2005): a proposer
is drawn in proportion to how often its programs were better than those they change, so none is ever given up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from .errors import EvolveError
from .interface import JSON, Individual, ProposalRequest, ProposedChange, Proposer
from .scoring import told

MODEL = "model:"
_REMEMBERED = 3


@dataclass(frozen=True)
class Reply:
    """What became of one request."""

    request: ProposalRequest
    name: str
    text: str | None = None
    """The answer; None without one."""
    failure: str = ""
    """Why there is no answer, where there ought to be one."""


@dataclass
class Standing:
    """What one proposer has contributed."""

    tries: int = 0
    wins: int = 0
    """How many of its programs were better than those they change."""
    failures: list[str] = field(default_factory=list)
    usage: Counter[str] = field(default_factory=Counter)

    @property
    def weight(self) -> float:
        """Return the share of wins, as if one had been won and one lost before."""
        return (self.wins + 1) / (self.tries + 2)


class Ensemble:
    """Owns the proposers of a run."""

    def __init__(self, proposers: Sequence[Proposer], random: Random) -> None:
        self._proposers = {proposer.name: proposer for proposer in proposers}
        if len(self._proposers) != len(proposers):
            raise EvolveError("Two proposers have the same name; what each contributes could not be told apart.")
        self.random = random
        self.standings = {name: Standing() for name in self._proposers}

    def ask(self, requests: Sequence[ProposalRequest]) -> list[Reply]:
        """Return a reply to each request, in their order; the proposers work side by side, each on all of its own."""
        names = list(self._proposers)
        weights = [self.standings[name].weight for name in names]
        chosen = [self.random.choices(names, weights)[0] for _ in requests]
        asked: dict[str, list[ProposalRequest]] = {name: [] for name in names}
        for name, request in zip(chosen, requests, strict=True):
            asked[name].append(replace(request, failures=tuple(self.standings[name].failures)))
        busy = [name for name in names if asked[name]]
        if not busy:
            return []
        with ThreadPoolExecutor(len(busy)) as pool:
            answered = pool.map(lambda name: _answers(self._proposers[name], asked[name]), busy)
            answers = {name: iter(found) for name, found in zip(busy, answered, strict=True)}
        return [self._reply(request, name, next(answers[name])) for name, request in zip(chosen, requests, strict=True)]

    def _reply(self, request: ProposalRequest, name: str, answer: Any) -> Reply:
        """Return what one answer says, and count what it cost."""
        if answer is None:
            return Reply(request, name)
        if isinstance(answer, Exception):
            return Reply(request, name, failure=f"{name} failed: {told(answer)}")
        if not isinstance(answer, ProposedChange) or not isinstance(answer.text, str):
            return Reply(request, name, failure=f"{name} answered with {type(answer).__name__}, not a ProposedChange")
        self.standings[name].usage.update(answer.usage)
        return Reply(request, name, answer.text)

    def learn(self, individuals: Sequence[Individual], better: Mapping[str, bool]) -> None:
        """Count what the proposals of a generation came to; ``better`` tells which programs beat their parents."""
        for individual in individuals:
            standing = self.standings.get(individual.operation.removeprefix(MODEL))
            if standing is None or not individual.operation.startswith(MODEL):
                continue
            standing.tries += 1
            standing.wins += individual.program is not None and better.get(individual.id, False)
            if individual.score.value is None:
                standing.failures = [*standing.failures, individual.score.reason][-_REMEMBERED:]

    def state(self) -> dict[str, JSON]:
        """Return what each proposer has contributed, as plain data."""
        return {
            name: {
                "tries": item.tries,
                "wins": item.wins,
                "failures": list(item.failures),
                "usage": dict(item.usage),
            }
            for name, item in self.standings.items()
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Take on what ``state`` returned; a proposer that is new starts from nothing."""
        for name, item in data.items():
            if name in self.standings:
                usage = Counter(item["usage"])
                self.standings[name] = Standing(item["tries"], item["wins"], list(item["failures"]), usage)


def _answers(proposer: Proposer, requests: Sequence[ProposalRequest]) -> list[Any]:
    """Return the proposer's answers, or its failure for each request."""
    try:
        answers = list(proposer.propose(requests))
    except Exception as problem:  # noqa: BLE001 - an outage or a bug of a proposer does not end the run
        return [problem] * len(requests)
    if len(answers) != len(requests):
        return [ValueError(f"{len(answers)} answers to {len(requests)} requests")] * len(requests)
    return answers


class RecordedProposer:
    """Gives recorded answers again, and asks ``then`` only where there is none: a repeated run costs nothing.

    ``answers`` are taken from ``Individual.answer`` of the operations ``model:<name>``, in their order.
    """

    def __init__(self, name: str, answers: Sequence[str], then: Proposer | None = None) -> None:
        self.name = name
        self._answers = list(answers)
        self._then = then

    def propose(self, requests: Sequence[ProposalRequest]) -> list[ProposedChange | None]:
        """Return the next answers that were recorded, then new ones."""
        old: list[ProposedChange | None] = [ProposedChange(text) for text in self._answers[: len(requests)]]
        del self._answers[: len(requests)]
        rest = requests[len(old) :]
        if self._then is None or not rest:
            return [*old, *(None for _ in rest)]
        return [*old, *self._then.propose(rest)]
