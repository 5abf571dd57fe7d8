"""Several islands as one population, judged together, and their plain data in which a run is saved.

The islands go in a fixed order, and all scores of a round are known before any island continues. So the order in
which workers finish has no effect.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from random import Random
from typing import Any

from .interface import (
    JSON,
    BadCheckpoint,
    DoesNotApply,
    EvolveError,
    Individual,
    ProposalRequest,
    ProposedChange,
    Proposer,
    Score,
    Species,
)
from .island import Cell, EliteArchive, Island
from .judge import SEED, Asking, Birth, Member, ProgramJudge, told

CHECKPOINT_FORMAT = 1
_PARTS: Mapping[str, type | tuple[type, ...]] = {
    "settings": dict,
    "random": list,
    "programs": dict,
    "judge": dict,
    "islands": list,
    "proposers": dict,
    "history": list,
    "tidied": (str, type(None)),
    "scored_at": int,
    "stopped": (str, type(None)),
}


def checked_checkpoint(data: Any, settings: Mapping[str, JSON]) -> Mapping[str, Any]:
    """Return ``data``, or its parsed JSON text, if a run with ``settings`` can continue from it.

    Raises:
        BadCheckpoint: It is of a newer version or of a run with other settings, damaged or truncated.
    """
    if isinstance(data, str):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError) as problem:
            raise BadCheckpoint(f"The checkpoint is damaged or truncated: {problem}.") from problem
    if not isinstance(data, Mapping) or not isinstance(data.get("format"), int):
        raise BadCheckpoint("This is not a checkpoint of a search, or it is truncated.")
    if data["format"] > CHECKPOINT_FORMAT:
        raise BadCheckpoint(
            f"The checkpoint has format {data['format']}; this version reads {CHECKPOINT_FORMAT}. Update it."
        )
    for part, kind in _PARTS.items():
        if part not in data or not isinstance(data[part], kind):
            raise BadCheckpoint(f"The checkpoint is damaged or truncated: {part!r} is missing or wrong.")
    for label, value in settings.items():
        saved = data["settings"].get(label)
        if saved != value:
            raise BadCheckpoint(
                f"The checkpoint is from a different run: its {label} is {saved!r:.60}, not {value!r:.60}."
            )
    return data


def saved_chance(random: Random) -> JSON:
    """Return the state of a random number generator, as plain data."""
    version, numbers, spare = random.getstate()
    return [version, list(numbers), spare]


def set_chance(random: Random, data: Any) -> None:
    """Restore what ``saved_chance`` returned."""
    version, numbers, spare = data
    random.setstate((version, tuple(numbers), spare))


def saved_programs(members: Iterable[Member], species: Species) -> dict[str, JSON]:
    """Return programs with their scores, by id."""
    return {
        member.id: {
            "genome": species.encoded(member.genome),
            "value": member.score.value,
            "reason": member.score.reason,
            "metrics": dict(member.score.metrics),
            "artifacts": dict(member.score.artifacts),
        }
        for member in members
    }


def programs_of(programs: Mapping[str, Any], species: Species, judge: ProgramJudge) -> dict[str, Member]:
    """Restore what ``saved_programs`` wrote; a program that does not match its id is an error."""
    members = {}
    for key, item in programs.items():
        genome = species.decoded(item["genome"])
        if judge.id_of(genome) != key:
            raise ValueError(f"program {key} does not match its id")
        score = Score(item["value"], item["reason"], item["metrics"], item["artifacts"])
        members[key] = judge.member(key, genome, score)
    return members


def plain_copy(data: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return ``data`` as JSON would restore it, so that nothing in it is shared with the run."""
    copied: dict[str, JSON] = json.loads(json.dumps(data, allow_nan=False))
    return copied


_ISLANDS = 4
_SMALLEST_ISLAND = 8
_MIGRATION = 5
"""Generations between two migrations."""
_INSPIRATIONS = 4


@dataclass(frozen=True, kw_only=True)
class Breeding:
    """How many programs there are, and how the next ones are made."""

    population_size: int
    mutation_rate: float
    grid: Mapping[str, float]
    """The features of the archives, each with the width of a cell."""
    proposals: float
    """The share of children made by the proposers."""
    islands: int | None = None


class Archipelago:
    """Owns the islands of a run."""

    def __init__(
        self, species: Species, judge: ProgramJudge, ensemble: Ensemble, random: Random, breeding: Breeding
    ) -> None:
        self._species = species
        self._judge = judge
        self._ensemble = ensemble
        self._proposals = breeding.proposals
        population_size, mutation_rate, grid = breeding.population_size, breeding.mutation_rate, breeding.grid
        count = breeding.islands or max(1, min(_ISLANDS, population_size // _SMALLEST_ISLAND))
        self.settings: dict[str, JSON] = {
            "population_size": population_size,
            "islands": count,
            "mutation_rate": mutation_rate,
            "species": type(species).__name__,
            "features": dict(grid),
        }
        """Settings that must be the same in a saved run."""
        capacity = max(2, population_size // count)
        self._chances = [Random(random.getrandbits(64)) for _ in range(count)]
        self.islands = [
            Island(
                species,
                judge.claim,
                judge.id_of,
                chance,
                EliteArchive(species, grid),
                capacity=capacity,
                mutation_rate=mutation_rate,
            )
            for chance in self._chances
        ]

    def settle(self, random: Random, budget: int) -> None:
        """Fill the islands: the seed program goes to each, the others are distributed, and models make proposals.

        These change the seed program itself, as a person wrote it; later it may have been superseded.
        """
        first, *others = self._species.first(random, budget)
        self._judge.claim(first)
        (seed,) = self._judge.judge([(0, Birth(first, SEED))], 1)
        for island in self.islands:
            island.welcome(seed)
        count, shares = len(self.islands), self._shares(budget - 1)
        births = self._proposed(1, shares, about=seed)
        self._drive(
            [(index, island.settle(others[index::count], shares[index])) for index, island in enumerate(self.islands)],
            1,
        )
        self._drive([(index, island.breed(0, births[index])) for index, island in enumerate(self.islands)], 1)

    def tune(self, generation: int, budget: int) -> None:
        """Let the islands, one per generation, fit the numbers of a program."""
        turn = generation % len(self.islands)
        self._drive([(turn, self.islands[turn].tune(budget))], generation)

    def breed(self, generation: int, budget: int) -> None:
        """Let all islands spend ``budget`` on children, some of them proposed by models."""
        shares = self._shares(budget)
        births = self._proposed(generation, shares)
        self._drive(
            [(index, island.breed(shares[index], births[index])) for index, island in enumerate(self.islands)],
            generation,
        )

    def migrate(self, generation: int) -> None:
        """Periodically send the best member of each island to the next one on the ring."""
        if generation % _MIGRATION:
            return
        guests = [island.members[0] for island in self.islands if island.members]
        for index, member in enumerate(guests):
            goal = (index + 1) % len(self.islands)
            if self.islands[goal].welcome(member):
                self._judge.move(member, goal, generation)

    def welcome(self, member: Member) -> None:
        """Take in a program that was judged outside of the islands."""
        self.islands[0].welcome(member)

    def cells(self) -> dict[Cell, tuple[int, Member]]:
        """Return the best program of each cell over all archives, with its island."""
        best: dict[Cell, tuple[int, Member]] = {}
        for index, island in enumerate(self.islands):
            for cell, member in island.archive.cells.items():
                if cell not in best or member.rank < best[cell][1].rank:
                    best[cell] = (index, member)
        return dict(sorted(best.items()))

    def members(self) -> list[Member]:
        """Return every program that an island or its archive keeps."""
        return [member for island in self.islands for member in (*island.members, *island.archive.cells.values())]

    def state(self) -> list[JSON]:
        """Return the state of the islands, as plain data that identifies programs by id."""
        pairs = zip(self.islands, self._chances, strict=True)
        return [{**island.state(), "random": saved_chance(chance)} for island, chance in pairs]

    def restore(self, data: Sequence[Mapping[str, Any]], members: Mapping[str, Member]) -> None:
        """Restore what ``state`` returned."""
        for island, chance, part in zip(self.islands, self._chances, data, strict=True):
            island.restore(part, members)
            set_chance(chance, part["random"])

    def _shares(self, budget: int) -> list[int]:
        """Return how many evaluations each island may spend."""
        count = len(self.islands)
        return [max(0, budget) // count + (index < max(0, budget) % count) for index in range(count)]

    def _drive(self, tasks: Sequence[tuple[int, Asking]], generation: int) -> None:
        """Judge what all islands ask for, send each its results, and continue until none asks."""
        asking = [(index, task, asked) for index, task in tasks if (asked := next(task, None))]
        while asking:
            births = [(index, birth) for index, _, asked in asking for birth in asked]
            members = iter(self._judge.judge(births, generation))
            told = [(index, task, list(islice(members, len(asked)))) for index, task, asked in asking]
            asking = [(index, task, asked) for index, task, answer in told if (asked := _told(task, answer))]

    def _proposed(self, generation: int, shares: list[int], about: Member | None = None) -> list[list[Birth]]:
        """Return the programs that models propose for each island; they and failures are deducted from ``shares``.

        All of them change the program ``about``; if omitted, each changes one that its island picks.
        """
        births: list[list[Birth]] = [[] for _ in self.islands]
        asked = [
            (index, about or island.pick())
            for index, island in enumerate(self.islands)
            for _ in range(round(shares[index] * self._proposals))
        ]
        requests = [self._request(f"{generation}.{index}.{place}", index, generation, member)
                    for place, (index, member) in enumerate(asked)]  # fmt: skip
        for (index, member), reply in zip(asked, self._ensemble.ask(requests), strict=True):
            if reply.text is None and not reply.failure:
                continue
            shares[index] -= 1
            birth = Birth(member.genome, MODEL + reply.name, (member.id,), reply.text)
            try:
                births[index].append(replace(birth, genome=self._changed(member, reply)))
            except DoesNotApply as problem:
                self._judge.refuse(birth, index, generation, str(problem))
        return births

    def _changed(self, member: Member, reply: ProposerReply) -> Any:
        """Return ``member`` changed according to ``reply``, or report why that is not a new program."""
        if reply.text is None:
            raise DoesNotApply(reply.failure)
        genome = self._species.applied(member.genome, reply.text)
        if not self._judge.claim(genome):
            raise DoesNotApply("The proposed program does what an earlier one did.")
        return genome

    def _request(self, key: str, index: int, generation: int, member: Member) -> ProposalRequest:
        others = self.islands[index].others(member, _INSPIRATIONS)
        return ProposalRequest(
            id=key,
            program=self._species.program(member.genome),
            score=member.score,
            inspirations=tuple((self._species.program(item.genome), item.score) for item in others),
            generation=generation,
            island=index,
            minimize=self._judge.minimize,
        )


def _told(task: Asking, answer: list[Member]) -> list[Birth] | None:
    """Send an island its results; return what it asks for next, None when it is done."""
    try:
        return task.send(answer)
    except StopIteration:
        return None


MODEL = "model:"
_REMEMBERED = 3


@dataclass(frozen=True)
class ProposerReply:
    """The result of one request."""

    name: str
    text: str | None = None
    """The answer, if any."""
    failure: str = ""
    """Why there is no answer when one was expected."""


@dataclass
class ProposerStanding:
    """What one proposer has contributed."""

    tries: int = 0
    wins: int = 0
    """How many of its programs were better than the ones they change."""
    failures: list[str] = field(default_factory=list)
    usage: Counter[str] = field(default_factory=Counter)

    @property
    def weight(self) -> float:
        """Return the share of wins, as if there had been one win and one loss before."""
        return (self.wins + 1) / (self.tries + 2)


class Ensemble:
    """Owns the proposers of a run."""

    def __init__(self, proposers: Sequence[Proposer], random: Random) -> None:
        self._proposers = {proposer.name: proposer for proposer in proposers}
        if len(self._proposers) != len(proposers):
            raise EvolveError("Two proposers have the same name, so their contributions could not be told apart.")
        self.random = random
        self.standings = {name: ProposerStanding() for name in self._proposers}

    def ask(self, requests: Sequence[ProposalRequest]) -> list[ProposerReply]:
        """Return a reply to each request, in order; the proposers work concurrently, each on all of its own."""
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
        return [self._reply(name, next(answers[name])) for name in chosen]

    def _reply(self, name: str, answer: Any) -> ProposerReply:
        """Return the reply for one answer, and count its cost."""
        if answer is None:
            return ProposerReply(name)
        if isinstance(answer, Exception):
            return ProposerReply(name, failure=f"{name} failed: {told(answer)}")
        if not isinstance(answer, ProposedChange) or not isinstance(answer.text, str):
            return ProposerReply(name, failure=f"{name} answered with {type(answer).__name__}, not a ProposedChange")
        self.standings[name].usage.update(answer.usage)
        return ProposerReply(name, answer.text)

    def learn(self, individuals: Sequence[Individual], better: Mapping[str, bool]) -> None:
        """Count the results of a generation's proposals; ``better`` tells which programs beat their parents."""
        for individual in individuals:
            standing = self.standings.get(individual.operation.removeprefix(MODEL))
            if standing is None or not individual.operation.startswith(MODEL):
                continue
            standing.tries += 1
            standing.wins += individual.program is not None and better.get(individual.id, False)
            if individual.score.value is None:
                standing.failures = [*standing.failures, individual.score.reason][-_REMEMBERED:]

    def state(self) -> dict[str, JSON]:
        """Return the contribution of each proposer, as plain data."""
        return {
            name: {"tries": item.tries, "wins": item.wins, "failures": list(item.failures), "usage": dict(item.usage)}
            for name, item in self.standings.items()
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Restore what ``state`` returned; a new proposer starts from nothing."""
        for name, item in data.items():
            if name in self.standings:
                usage = Counter(item["usage"])
                self.standings[name] = ProposerStanding(item["tries"], item["wins"], list(item["failures"]), usage)


def _answers(proposer: Proposer, requests: Sequence[ProposalRequest]) -> list[Any]:
    """Return the proposer's answers, or its failure for each request."""
    try:
        answers = list(proposer.propose(requests))
    except Exception as problem:  # noqa: BLE001 - an outage or a bug of a proposer does not end the run
        return [problem] * len(requests)
    if len(answers) != len(requests):
        return [ValueError(f"{len(answers)} answers to {len(requests)} requests")] * len(requests)
    return answers
