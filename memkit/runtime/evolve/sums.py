"""Vary a program as a sum of terms whose weights follow from the wanted values: only the terms have to be found.

So a mutation never spoils a weight, and a new term is worth at once what it can add. The terms are what "genes" are in
multi-gene genetic programming (Hinchliffe and others, 1996).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random

from .fitting import unit_of, weights_of
from .interface import Opening
from .terms import ONE, simplified, sum_of, terms_of
from .tree import Node, constant, number_of
from .values import Column
from .variation import Vocabulary, crossed, mutated

_DEEPEST = 10
_MEMORY = 20_000
_JOINING = 3
"""What a term takes beside itself: two operations and a weight."""
_ADDING, _DROPPING = 0.35, 0.1
"""How often a mutation adds a term, and how often it drops one; else it changes one."""
_EXCHANGING = 0.6
"""How often crossing deals out whole terms instead of parts of them."""


class Sums:
    """Varies sums with the best weights."""

    def __init__(
        self,
        wanted: Sequence[float],
        values: Callable[[Node], Column],
        new_term: Callable[[Node, Random], Node],
        vocabulary: Vocabulary,
        max_size: int,
    ) -> None:
        self._wanted = wanted
        self._values = values
        self._new_term = new_term
        self._vocabulary = vocabulary
        self._max_size = max_size
        self._units: dict[Node, tuple[Sequence[float], float]] = {}
        self._known: dict[tuple[Node, ...], Node] = {}
        """By terms in their order, on which the answer depends: so it is the same in a search that was restored."""

    def mutated(self, genome: Node, random: Random) -> Node:
        """Return ``genome`` with one term more, less or changed."""
        bases = _bases(genome)
        choice = random.random()
        if not bases or choice < _ADDING:
            return self.best([*bases, self._new_term(genome, random)])
        place = random.randrange(len(bases))
        if len(bases) > 1 and choice < _ADDING + _DROPPING:
            return self.best([*bases[:place], *bases[place + 1 :]])
        bases[place] = mutated(bases[place], self._vocabulary, random)
        return self.best(bases)

    def crossed(self, genome: Node, other: Node, random: Random) -> Node:
        """Return a sum of terms of both, or ``genome`` with a part of ``other`` inside a term."""
        mine, others = _bases(genome), _bases(other)
        if not mine or random.random() < _EXCHANGING:
            return self.best([base for base in dict.fromkeys([*mine, *others]) if random.random() < 0.6])
        place = random.randrange(len(mine))
        mine[place] = crossed(mine[place], random.choice(others) if others else other, random)
        return self.best(mine)

    def best(self, bases: Iterable[Node]) -> Node:
        """Return the sum of ``bases`` and a constant that is nearest to the wanted values and within the limit of size.

        Terms that are undefined somewhere, too deep or of no use are left out.
        """
        plain = dict.fromkeys(
            inner for base in bases if base.size <= self._max_size for inner in terms_of(simplified(base))
        )
        chosen = tuple(base for base in plain if base != ONE and base.depth <= _DEEPEST)
        known = self._known.get(chosen)
        if known is None:
            if len(self._known) > _MEMORY:
                self._known.clear()
            known = self._known[chosen] = sum_of(self._within(chosen))
        return known

    def _within(self, bases: Sequence[Node]) -> dict[Node, float]:
        """Return the best weights of ``bases``, or of those that contribute most where there is no room for all."""
        terms = self._weighted((ONE, *bases))
        left = self._max_size - 2  # what the constant takes
        kept = set()
        for base in sorted(terms, key=lambda term: -abs(terms[term]) * self._unit(term)[1]):
            if base != ONE and base.size + _JOINING <= left:
                kept.add(base)
                left -= base.size + _JOINING
        if len(kept) + (ONE in terms) == len(terms):
            return terms
        return self._weighted((ONE, *(base for base in bases if base in kept)))

    def _weighted(self, bases: Sequence[Node]) -> dict[Node, float]:
        """Return ``bases`` with their best weights; those of no use and those undefined somewhere are left out."""
        usable = [base for base in bases if self._unit(base)[1]]
        weights = weights_of([self._unit(base)[0] for base in usable], self._wanted)
        pairs = zip(usable, weights, strict=True)
        return {base: float(f"{weight / self._unit(base)[1]:.12g}") for base, weight in pairs if weight}  # no noise

    def _unit(self, base: Node) -> tuple[Sequence[float], float]:
        """Return the values of ``base`` scaled to length 1, and their length; 0 where there is none."""
        known = self._units.get(base)
        if known is None:
            if len(self._units) > _MEMORY:
                self._units.clear()
            known = self._units[base] = unit_of(self._values(base)) or ((), 0.0)
        return known

    def openings(self, genome: Node, random: Random, most: int) -> list[Opening]:
        """Return the constants inside the terms; the weights of the terms follow from them."""
        bases = _bases(genome)
        places = [(index, path) for index, base in enumerate(bases) for path in constants_in(base)]
        if len(places) > most:
            places = random.sample(places, most)
        if not places:
            return []

        def build(values: Sequence[float]) -> Node:
            moved = list(bases)
            for (index, path), value in zip(places, values, strict=True):
                moved[index] = moved[index].replaced(path, constant(value))
            return self.best(moved)

        values = tuple(float(number_of(bases[index].at(path))) for index, path in places)
        return [Opening(values, tuple(0.05 * max(1.0, abs(value)) for value in values), build)]


def _bases(genome: Node) -> list[Node]:
    """Return the terms of ``genome`` without the constant part."""
    return [base for base in terms_of(genome) if base != ONE]


def constants_in(tree: Node) -> list[tuple[int, ...]]:
    """Return the paths to the constants inside ``tree`` that are no exponents."""
    return [
        path for path, node in tree.walk() if node.kind == "constant" and path and tree.at(path[:-1]).kind != "power"
    ]
