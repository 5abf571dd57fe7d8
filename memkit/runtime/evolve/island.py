"""A population that breeds by itself, with occasional guests from its neighbour.

Its methods are generators: they yield programs to be judged and receive the results. So a caller with several islands
can judge what all of them yield together, while each proceeds as if it were alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from random import Random
from typing import Any

from .interface import JSON, EvolveError, Genome, NumberOpening, Species, is_score
from .judge import START, TUNE, Asking, Birth, Member

_TRIES = 20
_TOURNAMENT = 3
_MOST_MUTATIONS = 3
_EXPLORING = 0.3
_EXPLORATION = 4
"""The maximum cost of exploring: the program without the new term, with it, with less of it, and the jump."""
_CROSSING = 0.3
_FROM_ARCHIVE = 0.1
"""How often a parent is a dissimilar program instead of a tournament winner."""


@dataclass(frozen=True)
class _Exploration:
    """A member, and something new for it."""

    parent: Member
    opening: NumberOpening

    def births(self) -> list[Birth]:
        """Return the programs to judge: without the new part, with it, and with less of it."""
        genomes = [self.opening.build([0.0]), *probes(self.opening)]
        return [Birth(genome, TUNE, (self.parent.id,)) for genome in genomes]


class Island:
    """Keeps the best programs that it breeds, and an archive of dissimilar ones."""

    def __init__(
        self,
        species: Species,
        claim: Callable[[Genome], bool],
        id_of: Callable[[Genome], str],
        random: Random,
        archive: EliteArchive,
        *,
        capacity: int,
        mutation_rate: float,
    ) -> None:
        self._species = species
        self._claim = claim
        self._id_of = id_of
        self._random = random
        self._capacity = capacity
        self._mutation_rate = mutation_rate
        self._tuned: set[str] = set()
        self._tuning_failures = 0
        self._tuning_pause = 0
        self.archive = archive
        self.members: list[Member] = []

    def settle(self, genomes: Sequence[Genome], budget: int) -> Asking:
        """Take in the first programs, and mutants of them up to the number in ``budget``."""
        births: list[Birth] = []
        waiting, models = list(genomes), [*genomes, *(member.genome for member in self.members)]
        here = {member.id for member in self.members}
        for _ in range(_TRIES * budget):
            if len(births) >= budget:
                break
            if waiting:
                birth = Birth(waiting.pop(0), START)
            else:
                parent = self._random.choice(models)
                parents = here & {self._id_of(parent)}  # programs that only another island had are not ancestors
                child = self._species.mutate(parent, self._random)
                birth = Birth(child, "mutate" if parents else START, tuple(parents))
            if self._claim(birth.genome):
                births.append(birth)
                models.append(birth.genome)
                here.add(self._id_of(birth.genome))
        if births:
            self._take((yield births))

    def breed(self, budget: int, proposed: Sequence[Birth] = ()) -> Asking:
        """Have the ``proposed`` programs and ``budget`` new ones judged, and keep the best."""
        births, explorations = self._litter(budget)
        births = [*proposed, *births]
        trials = [exploration.births() for exploration in explorations]
        asked = births + [birth for trial in trials for birth in trial]
        if not asked:
            return
        told = yield asked
        self._take(told[: len(births)])
        jumps: list[Birth] = []
        for index, exploration in enumerate(explorations):
            start, *losses = [member.loss for member in told[len(births) + 3 * index :][:3]]
            found = lowest_point(exploration.opening, start, losses)
            if found is not None and self._claim(found):
                jumps.append(Birth(found, TUNE, (exploration.parent.id,)))
        if jumps:
            self._take((yield jumps))

    def _litter(self, budget: int) -> tuple[list[Birth], list[_Exploration]]:
        """Return new programs and explorations that together cost ``budget`` evaluations."""
        births: list[Birth] = []
        explorations: list[_Exploration] = []
        left = budget
        for _ in range(_TRIES * budget):
            if left <= 0:
                break
            if left >= _EXPLORATION and self._random.random() < _EXPLORING:
                exploration = self._exploration()
                if exploration is not None:
                    explorations.append(exploration)
                    left -= _EXPLORATION
                continue
            child = self._child()
            if self._claim(child.genome):
                births.append(child)
                left -= 1
        return births, explorations

    def tune(self, budget: int) -> Asking:
        """Fit the numbers of the best member not fitted yet, as far as ``budget`` allows.

        If fitting does not help (for example, with a stepped fitness), it is tried less and less often.
        """
        if self._tuning_pause:
            self._tuning_pause -= 1
            return
        member = next((item for item in self.members if item.id not in self._tuned), None)
        if member is None or member.loss == math.inf or not affordable(budget):
            return
        self._tuned.add(member.id)
        better = False
        for opening in self._species.openings(member.genome, self._random, affordable(budget)):
            price = cost(len(opening.values))
            if price > budget:
                continue
            budget -= price
            around = yield [Birth(genome, TUNE, (member.id,)) for genome in probes(opening)]
            found = lowest_point(opening, member.loss, [probe.loss for probe in around])
            if found is None or not self._claim(found):
                continue
            (lowest,) = yield [Birth(found, TUNE, (member.id,))]
            if lowest.loss < member.loss:
                self._tuned.add(lowest.id)
                self._take([lowest])
                better = True
        self._tuning_failures = 0 if better else self._tuning_failures + 1
        self._tuning_pause = 2 ** min(self._tuning_failures, 5) - 1 if self._tuning_failures > 2 else 0

    def welcome(self, member: Member) -> bool:
        """Take in a program that was judged elsewhere; return whether it was new here."""
        if any(item.id == member.id for item in self.members):
            return False
        self._take([member])
        return True

    def pick(self) -> Member:
        """Return the winner of a tournament, or occasionally a dissimilar program."""
        if self.archive.cells and self._random.random() < _FROM_ARCHIVE:
            return self._random.choice(list(self.archive.cells.values()))
        rivals = [self._random.choice(self.members) for _ in range(_TOURNAMENT)]
        return min(rivals, key=lambda member: member.rank)

    def others(self, member: Member, count: int) -> list[Member]:
        """Return at most ``count`` programs besides ``member``: half of them the best, the others the most distinct."""
        best = [item for item in self.members if item.id != member.id][: (count + 1) // 2]
        known = {member.id, *(item.id for item in best)}
        different = [item for item in self.archive.cells.values() if item.id not in known]
        return [*best, *self._random.sample(different, min(count - len(best), len(different)))]

    def _take(self, members: Sequence[Member]) -> None:
        """Keep those of ``members`` that are among the best, or the best in their cell."""
        known = {member.id for member in self.members}
        for member in members:
            self.archive.place(member)
            if member.id not in known:
                known.add(member.id)
                self.members.append(member)
        self.members.sort(key=lambda member: member.rank)
        del self.members[self._capacity :]

    def _child(self) -> Birth:
        """Return a new program by crossover, mutation or both, with one to three successive mutations."""
        parent = self.pick()
        genome, operation = parent.genome, "mutate"
        parents: tuple[str, ...] = (parent.id,)
        if self._random.random() < _CROSSING:
            other = self.pick()
            genome = self._species.cross(genome, other.genome, self._random)
            parents, operation = tuple(dict.fromkeys((parent.id, other.id))), "cross"
            if self._random.random() < 0.5:
                return Birth(genome, operation, parents)
        for _ in self._mutations():
            genome = self._species.mutate(genome, self._random)
        return Birth(genome, operation, parents)

    def _mutations(self) -> Iterator[int]:
        """Yield once, and again with the probability of the mutation rate."""
        for count in range(_MOST_MUTATIONS):
            if count and self._random.random() >= self._mutation_rate:
                return
            yield count

    def _exploration(self) -> _Exploration | None:
        """Return something new for a member, whose weight is to be found; None if it is not new."""
        parent = self.pick()
        opening = self._species.directions(parent.genome, self._random)
        if opening is None or not self._claim(opening.build([1.0])):
            return None
        return _Exploration(parent, opening)

    def state(self) -> dict[str, JSON]:
        """Return the state of the island, as plain data that identifies programs by id."""
        return {
            "members": [member.id for member in self.members],
            "archive": [member.id for member in self.archive.cells.values()],
            "tuned": sorted(self._tuned),
            "tuning_failures": self._tuning_failures,
            "tuning_pause": self._tuning_pause,
        }

    def restore(self, data: Mapping[str, Any], members: Mapping[str, Member]) -> None:
        """Restore what ``state`` returned."""
        self.members = [members[key] for key in data["members"]]
        self.archive.cells = {}
        for key in data["archive"]:
            self.archive.place(members[key])
        self._tuned = set(data["tuned"])
        self._tuning_failures = int(data["tuning_failures"])
        self._tuning_pause = int(data["tuning_pause"])


Cell = tuple[int, ...]
_SCORES = ("combined_score", "fitness", "loss", "score", "value")


class EliteArchive:
    """Keeps the best member of each cell."""

    def __init__(self, species: Species, grid: Mapping[str, float]) -> None:
        self._species = species
        self._grid = checked_grid(grid)
        self.cells: dict[Cell, Member] = {}

    def place(self, member: Member) -> None:
        """Keep ``member`` if it is the best in its cell."""
        cell = self.cell(member) if member.loss < math.inf else None
        if cell is not None and (cell not in self.cells or member.rank < self.cells[cell].rank):
            self.cells[cell] = member

    def cell(self, member: Member) -> Cell | None:
        """Return the cell of ``member``, or None if it lacks one of the features."""
        known = {**member.score.metrics, **self._species.features(member.genome)}
        if any(label not in known for label in self._grid):
            return None
        return tuple(math.floor(known[label] / width) for label, width in self._grid.items())


def checked_grid(grid: Mapping[str, float]) -> dict[str, float]:
    """Return ``grid`` if it is valid for an archive."""
    for label, width in grid.items():
        if label in _SCORES:
            raise EvolveError(f"The feature {label!r} is the score, which says nothing about how programs differ.")
        if not is_score(width) or width <= 0:
            raise EvolveError(f"The cells of the feature {label!r} are {width!r:.40} wide; give a number above 0.")
    return dict(grid)


_FURTHEST = 1e50
_FITTED = 7
"""Numbers fitted together; with more, the cost exceeds the gain."""


def cost(count: int) -> int:
    """Return how many programs must be judged to fit ``count`` numbers: the probes and the minimum."""
    return 2 * count + count * (count - 1) // 2 + 1


def affordable(budget: int) -> int:
    """Return how many numbers can be fitted together within ``budget`` evaluations."""
    count = 0
    while count < _FITTED and cost(count + 1) <= budget:
        count += 1
    return count


def probes(opening: NumberOpening) -> list[Genome]:
    """Return the programs around ``opening`` whose losses reveal the curvature of the fitness."""
    count = len(opening.values)

    def at(*moved: int) -> Genome:
        values = list(opening.values)
        for index in moved:
            values[abs(index) - 1] += math.copysign(opening.steps[abs(index) - 1], index)
        return opening.build(values)

    singles = [at(sign * index) for sign in (1, -1) for index in range(1, count + 1)]
    return singles + [at(row, other) for row in range(1, count + 1) for other in range(1, row)]


def lowest_point(opening: NumberOpening, start: float, losses: Sequence[float]) -> Genome | None:
    """Return the program at the minimum of the parabola through ``losses``, those of the ``probes``.

    ``start`` is the loss of the current program. None if the fitness is not convex or undefined there.
    """
    count = len(opening.values)
    up, down, both = losses[:count], losses[count : 2 * count], iter(losses[2 * count :])
    if not all(map(math.isfinite, [start, *losses])):
        return None
    slope = [(high - low) / 2 for high, low in zip(up, down, strict=True)]
    curve = [[0.0] * count for _ in range(count)]
    for row in range(count):
        curve[row][row] = up[row] - 2 * start + down[row]
        for other in range(row):
            curve[row][other] = curve[other][row] = next(both) - up[row] - up[other] + start
    moves = solved(curve, [-value for value in slope])
    if moves is None:
        return None
    values = [value + move * step for value, move, step in zip(opening.values, moves, opening.steps, strict=True)]
    return opening.build(values) if all(abs(value) < _FURTHEST for value in values) else None


def solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float] | None:
    """Return the solution of a symmetric system, or None if it is not positive definite or not finite.

    Numbers without effect (an all-zero row) are not moved.
    """
    scale = max((abs(value) for row in matrix for value in row), default=0.0)
    if not math.isfinite(scale) or not all(map(math.isfinite, right)):
        return None
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    solid: list[tuple[int, list[float]]] = []
    for index in range(len(rows)):
        lead = rows[index]  # what is left of it begins at its own pivot
        if lead[0] > 1e-12 * max(scale, 1e-300):
            solid.append((index, lead))
        elif lead[0] < -1e-9 * scale:
            return None
        for other in range(index + 1, len(rows)):
            row = rows[other]
            factor = row[0] / lead[0] if solid and solid[-1][0] == index else 0.0
            rows[other] = [value - factor * above for value, above in zip(row[1:], lead[1:], strict=True)]
    moves = [0.0] * len(rows)
    for index, row in reversed(solid):
        rest = sum(map(mul, row[1:-1], moves[index + 1 :]))
        moves[index] = (row[-1] - rest) / row[0]
    return moves if all(map(math.isfinite, moves)) and any(moves) else None
