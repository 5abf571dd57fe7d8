"""A population that breeds by itself, and now and then gets a guest from its neighbour."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from .interface import Genome, Species
from .judge import Judge
from .tuning import affordable, cost, lowest_point

_TRIES = 20
_TOURNAMENT = 3
_MOST_MUTATIONS = 3
_EXPLORING = 0.3
_EXPLORATION = 4
"""What exploring costs at most: the program without the new term, with it, without as much of it, and the jump."""
_CROSSING = 0.3


@dataclass(frozen=True)
class Member:
    """One program of a population."""

    loss: float
    size: int
    genome: Genome

    @property
    def rank(self) -> tuple[float, int]:
        """Return what members are compared by: the loss, then the size."""
        return self.loss, self.size


class Island:
    """Keeps the best of what it breeds."""

    def __init__(self, species: Species, judge: Judge, random: Random, *, capacity: int, mutation_rate: float) -> None:
        self._species = species
        self._judge = judge
        self._random = random
        self._capacity = capacity
        self._mutation_rate = mutation_rate
        self._tuned: set[Genome] = set()
        self._tuning_failures = 0
        self._tuning_pause = 0
        self.members: list[Member] = []

    def settle(self, genomes: Sequence[Genome], budget: int) -> None:
        """Take in the first programs, and random ones until ``budget`` were judged."""
        end = self._judge.evaluations + budget
        waiting = list(genomes)
        for _ in range(_TRIES * budget):
            if self._judge.evaluations >= end:
                return
            genome = waiting.pop(0) if waiting else self._species.mutate(self._pick(), self._random)
            if self._judge.is_new(genome):
                self._take(genome)

    def breed(self, budget: int) -> None:
        """Judge up to ``budget`` new programs and keep the best."""
        end = self._judge.evaluations + budget
        for _ in range(_TRIES * budget):
            left = end - self._judge.evaluations
            if left <= 0:
                return
            if left >= _EXPLORATION and self._random.random() < _EXPLORING:
                self._explore()
                continue
            child = self._child()
            if self._judge.is_new(child):
                self._take(child)

    def tune(self, budget: int) -> None:
        """Fit the numbers of the best member that was not fitted yet, as far as ``budget`` allows.

        Where fitting does not help (a fitness with steps, say), it is tried less and less often.
        """
        if self._tuning_pause:
            self._tuning_pause -= 1
            return
        member = next((item for item in self.members if item.genome not in self._tuned), None)
        if member is None or member.loss == math.inf or not affordable(budget):
            return
        self._tuned.add(member.genome)
        better = False
        for opening in self._species.openings(member.genome, self._random, affordable(budget)):
            price = cost(len(opening.values))
            if price > budget:
                continue
            budget -= price
            found = lowest_point(opening, self._judge.loss, member.loss)
            if found is not None and self._judge.loss(found) < member.loss:
                self._tuned.add(found)
                self._take(found)
                better = True
        self._tuning_failures = 0 if better else self._tuning_failures + 1
        self._tuning_pause = 2 ** min(self._tuning_failures, 5) - 1 if self._tuning_failures > 2 else 0

    def welcome(self, genome: Genome) -> None:
        """Take in a program that was judged elsewhere."""
        if all(member.genome != genome for member in self.members):
            self._take(genome)

    def _take(self, genome: Genome) -> None:
        """Judge ``genome`` and keep it if it is among the best."""
        loss = self._judge.loss(genome)
        self.members.append(Member(loss, self._species.size(genome), genome))
        self.members.sort(key=lambda member: member.rank)
        del self.members[self._capacity :]

    def _pick(self) -> Genome:
        """Return the winner of a tournament."""
        rivals = [self._random.choice(self.members) for _ in range(_TOURNAMENT)]
        return min(rivals, key=lambda member: member.rank).genome

    def _child(self) -> Genome:
        """Return a new program: crossover, mutation or both, one to three mutations on top of each other."""
        child = self._pick()
        if self._random.random() < _CROSSING:
            child = self._species.cross(child, self._pick(), self._random)
            if self._random.random() < 0.5:
                return child
        for _ in self._mutations():
            child = self._species.mutate(child, self._random)
        return child

    def _mutations(self) -> Iterator[int]:
        """Yield once, and again with the probability of the mutation rate."""
        for count in range(_MOST_MUTATIONS):
            if count and self._random.random() >= self._mutation_rate:
                return
            yield count

    def _explore(self) -> None:
        """Add something new to a member, with the weight that suits it best."""
        opening = self._species.directions(self._pick(), self._random)
        if opening is None or not self._judge.is_new(opening.build([1.0])):
            return
        found = lowest_point(opening, self._judge.loss, self._judge.loss(opening.build([0.0])))
        if found is not None:
            self._take(found)
