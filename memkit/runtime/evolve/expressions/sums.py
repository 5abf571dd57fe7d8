"""Programs as sums of weighted terms, and their simplification."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import mul
from random import Random

from ..interface import NumberOpening
from ..island import solved
from .tree import (
    NUMBER,
    OPERATIONS,
    Column,
    ExpressionNode,
    PrimitiveSet,
    column,
    constant,
    crossed,
    mutated,
    name,
    number_of,
    operation,
)

ONE = constant(1)
_SMALLEST, _LARGEST = 1e-100, 1e100
"""Weights beyond these stay as written, so that no product of them is infinite or zero."""
_MOST_TERMS = 24

Terms = Mapping[ExpressionNode, float]
"""Term → weight; the term ``ONE`` carries the constant part."""


@lru_cache(maxsize=20_000)
def terms_of(node: ExpressionNode) -> Terms:
    """Return ``node`` as a weighted sum, equal terms combined, in order of occurrence."""
    found: dict[ExpressionNode, float] = {}
    stack: list[tuple[ExpressionNode, float]] = [(node, 1)]
    while stack:
        part, weight = stack.pop()
        if part.kind in ("add", "subtract"):
            left, right = part.parts
            stack += [(right, weight if part.kind == "add" else -weight), (left, weight)]
            continue
        base, factor = _factored(part)
        if factor == 0:
            continue
        if factor != 1 and _SMALLEST < abs(weight * factor) < _LARGEST:
            stack.append((base, weight * factor))
        else:
            found[part] = found.get(part, 0) + weight
    return found


def _factored(node: ExpressionNode) -> tuple[ExpressionNode, float]:
    if node.kind == "constant":
        return ONE, number_of(node)
    if node.kind == "negative":
        return node.parts[0], -1
    if node.kind == "multiply" and "constant" in (node.parts[0].kind, node.parts[1].kind):
        factor, base = node.parts if node.parts[0].kind == "constant" else reversed(node.parts)
        return base, number_of(factor)
    if node.kind == "divide" and node.parts[1].kind == "constant" and number_of(node.parts[1]) != 0:
        return node.parts[0], 1 / number_of(node.parts[1])
    return node, 1


def sum_of(terms: Terms) -> ExpressionNode:
    """Return the program that adds up ``terms``."""
    result: ExpressionNode | None = None
    for base, weight in sorted(terms.items(), key=lambda item: item[1] < 0):  # a positive term reads best in front
        if weight == 0:
            continue
        if result is None:
            result = _weighted(base, weight)
        else:
            result = operation("subtract" if weight < 0 else "add", result, _weighted(base, abs(weight)))
    return constant(0) if result is None else result


def _least_size(terms: Terms) -> int:
    """Return a lower bound on the size of ``sum_of(terms)``."""
    sizes = [base.size + (0 if base == ONE or abs(weight) == 1 else 2) for base, weight in terms.items() if weight != 0]
    return sum(sizes) + max(0, len(sizes) - 1)


def _weighted(base: ExpressionNode, weight: float) -> ExpressionNode:
    """Return ``weight * base`` in its shortest form."""
    if base == ONE:
        return constant(weight)
    if weight == 1:
        return base
    return operation("negative", base) if weight == -1 else operation("multiply", constant(weight), base)


@lru_cache(maxsize=20_000)
def simplified(node: ExpressionNode) -> ExpressionNode:
    """Return a program that is no larger, and equal wherever ``node`` has a value.

    >>> from .reading import read_program
    >>> str(simplified(read_program("x * 1 + 0 + x - 2 * (1 + 2)").body))
    'x + x - 6'
    """
    if not node.parts:
        return node
    whole = operation(node.kind, *(simplified(part) for part in node.parts))
    whole = _reduced(_folded(whole))
    if whole.kind in ("add", "subtract", "multiply", "negative"):
        terms = terms_of(whole)
        if _least_size(terms) < whole.size:
            whole = min(whole, sum_of(terms), key=lambda tree: tree.size)
    return whole if whole.size <= node.size else node


def _folded(node: ExpressionNode) -> ExpressionNode:
    if node.gives != NUMBER or not node.parts or any(part.kind != "constant" for part in node.parts):
        return node
    value = column(node, {}, {}, 1)[0]
    if value != value or abs(value) > 1e300 or (isinstance(value, int) and value.bit_length() > 53):
        return node
    return constant(value)


def _reduced(node: ExpressionNode) -> ExpressionNode:
    """Return a shorter program by the laws of one operation, if one applies."""
    if len(node.parts) == 1:
        inner = node.parts[0]
        return inner.parts[0] if node.kind in ("negative", "not") and inner.kind == node.kind else node
    if len(node.parts) != 2 or node.gives != NUMBER or node.kind not in OPERATIONS:
        return node
    left, right = node.parts
    values = [number_of(part) if part.kind == "constant" else None for part in (left, right)]
    if node.kind == "multiply" and 1 in values:
        return left if values[1] == 1 else right
    if node.kind == "add" and 0 in values:
        return left if values[1] == 0 else right
    if (node.kind == "subtract" and values[1] == 0) or (node.kind in ("divide", "power") and values[1] == 1):
        return left
    return node


Monomials = dict[tuple[ExpressionNode, ...], float]
"""Factors, in a fixed order → weight."""


def expanded(node: ExpressionNode) -> ExpressionNode | None:
    """Return ``node`` expanded, higher products first; None if that gives too many terms.

    >>> from .reading import read_program
    >>> str(expanded(read_program("(x + 1) * (x / 2 - 1) * 2").body))
    'x * x - x - 2'
    """
    monomials = _monomials(node)
    if monomials is None:
        return None
    ordered = sorted(monomials.items(), key=lambda item: (-len(item[0]), [str(factor) for factor in item[0]]))
    return sum_of({_product(factors): weight for factors, weight in ordered})


def _monomials(node: ExpressionNode) -> Monomials | None:
    """Return ``node`` as a sum of products of factors that cannot be expanded."""
    total: Monomials = {}
    for term, weight in terms_of(node).items():
        parts: Monomials | None = {(term,): 1.0}
        if term == ONE:
            parts = {(): 1.0}
        elif term.kind == "multiply":
            parts = _multiplied(_monomials(term.parts[0]), _monomials(term.parts[1]))
        if parts is None or len(total) + len(parts) > _MOST_TERMS:
            return None
        for factors, part_weight in parts.items():
            total[factors] = total.get(factors, 0) + weight * part_weight
    return total if all(abs(weight) < _LARGEST for weight in total.values()) else None


def _multiplied(left: Monomials | None, right: Monomials | None) -> Monomials | None:
    """Return the product of two sums, None if it is too long."""
    if left is None or right is None or len(left) * len(right) > _MOST_TERMS:
        return None
    product: Monomials = {}
    for factors, weight in left.items():
        for others, other_weight in right.items():
            key = tuple(sorted((*factors, *others), key=str))
            product[key] = product.get(key, 0) + weight * other_weight
    return product


def _product(factors: Sequence[ExpressionNode]) -> ExpressionNode:
    """Return the product of ``factors``, 1 if there are none."""
    result = ONE
    for factor in factors:
        result = factor if result is ONE else operation("multiply", result, factor)
    return result


def rounded(node: ExpressionNode, digits: int) -> ExpressionNode:
    """Return ``node`` with every constant rounded, and simplified."""
    if node.kind == "constant":
        return constant(round(float(number_of(node)), digits))
    if not node.parts:
        return node
    parts = [rounded(part, digits) for part in node.parts]
    return simplified(operation(node.kind, *parts))


def product_of(names: Sequence[str]) -> ExpressionNode:
    """Return the product of parameters."""
    return _product([name(text) for text in names])


_NOISE = 1e-11
_CLOSE = 1e-8
"""If this little of the wanted values is left over, a second round fits the rounding error of the first."""


def unit_of(column: Column) -> tuple[Sequence[float], float] | None:
    """Return ``column`` scaled to length 1 and its length; None if it is zero or not finite everywhere."""
    length = _length(column)
    return ([value / length for value in column], length) if 0 < length < math.inf else None  # NaN is neither


def weights_of(units: Sequence[Sequence[float]], wanted: Sequence[float]) -> list[float]:
    """Return the weight of each of ``units``, columns of length 1, in the best sum; 0 for one that adds nothing."""
    gram = [[0.0] * len(units) for _ in units]
    for row, unit in enumerate(units):
        for place in range(row + 1):
            gram[row][place] = gram[place][row] = sum(map(mul, unit, units[place]))
    right = [sum(map(mul, unit, wanted)) for unit in units]
    weights = solved(gram, right) or [0.0] * len(units)
    energy = sum(map(mul, wanted, wanted))
    if energy - sum(map(mul, weights, right)) < _CLOSE * energy:
        sums = [sum(map(mul, weights, values)) for values in zip(*units, strict=True)]
        rest = [value - found for value, found in zip(wanted, sums, strict=True)]
        moves = solved(gram, [sum(map(mul, unit, rest)) for unit in units])
        weights = weights if moves is None else [weight + move for weight, move in zip(weights, moves, strict=True)]
    least = _NOISE * max(map(abs, weights), default=0.0)
    return [weight if abs(weight) > least else 0.0 for weight in weights]


def _length(column: Column) -> float:
    """Return the length of ``column`` as a vector; infinity or NaN if that is not finite."""
    try:
        return math.sqrt(sum(map(mul, column, column)))
    except OverflowError:
        return math.inf


_DEEPEST = 10
_MEMORY = 20_000
_JOINING = 3
"""The size of a term besides itself: two operations and a weight."""
_ADDING, _DROPPING = 0.35, 0.1
"""How often a mutation adds a term, and how often it drops one; otherwise it changes one."""
_EXCHANGING = 0.6
"""How often crossover exchanges whole terms instead of parts of them."""


class Sums:
    """Varies sums with the best weights."""

    def __init__(
        self,
        wanted: Sequence[float],
        values: Callable[[ExpressionNode], Column],
        new_term: Callable[[ExpressionNode, Random], ExpressionNode],
        vocabulary: PrimitiveSet,
        max_size: int,
    ) -> None:
        self._wanted = wanted
        self._values = values
        self._new_term = new_term
        self._vocabulary = vocabulary
        self._max_size = max_size
        self._units: dict[ExpressionNode, tuple[Sequence[float], float]] = {}
        self._known: dict[tuple[ExpressionNode, ...], ExpressionNode] = {}
        """By terms in order, on which the answer depends: so it is the same in a restored search."""

    def mutated(self, genome: ExpressionNode, random: Random) -> ExpressionNode:
        """Return ``genome`` with one term added, removed or changed."""
        bases = _bases(genome)
        choice = random.random()
        if not bases or choice < _ADDING:
            return self.best([*bases, self._new_term(genome, random)])
        place = random.randrange(len(bases))
        if len(bases) > 1 and choice < _ADDING + _DROPPING:
            return self.best([*bases[:place], *bases[place + 1 :]])
        bases[place] = mutated(bases[place], self._vocabulary, random)
        return self.best(bases)

    def crossed(self, genome: ExpressionNode, other: ExpressionNode, random: Random) -> ExpressionNode:
        """Return a sum of terms from both, or ``genome`` with a part of ``other`` inside a term."""
        mine, others = _bases(genome), _bases(other)
        if not mine or random.random() < _EXCHANGING:
            return self.best([base for base in dict.fromkeys([*mine, *others]) if random.random() < 0.6])
        place = random.randrange(len(mine))
        mine[place] = crossed(mine[place], random.choice(others) if others else other, random)
        return self.best(mine)

    def best(self, bases: Iterable[ExpressionNode]) -> ExpressionNode:
        """Return the sum of ``bases`` and a constant that best fits the wanted values within the size limit.

        Terms that are undefined somewhere, too deep or useless are omitted.
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

    def _within(self, bases: Sequence[ExpressionNode]) -> dict[ExpressionNode, float]:
        """Return the best weights of ``bases``, or of those that contribute most if there is no room for all."""
        terms = self._weighted((ONE, *bases))
        left = self._max_size - 2  # the size of the constant
        kept = set()
        for base in sorted(terms, key=lambda term: -abs(terms[term]) * self._unit(term)[1]):
            if base != ONE and base.size + _JOINING <= left:
                kept.add(base)
                left -= base.size + _JOINING
        if len(kept) + (ONE in terms) == len(terms):
            return terms
        return self._weighted((ONE, *(base for base in bases if base in kept)))

    def _weighted(self, bases: Sequence[ExpressionNode]) -> dict[ExpressionNode, float]:
        """Return ``bases`` with their best weights, omitting useless ones and those undefined somewhere."""
        usable = [base for base in bases if self._unit(base)[1]]
        weights = weights_of([self._unit(base)[0] for base in usable], self._wanted)
        pairs = zip(usable, weights, strict=True)
        return {base: float(f"{weight / self._unit(base)[1]:.12g}") for base, weight in pairs if weight}  # no noise

    def _unit(self, base: ExpressionNode) -> tuple[Sequence[float], float]:
        """Return the values of ``base`` scaled to length 1, and their length; 0 if there is none."""
        known = self._units.get(base)
        if known is None:
            if len(self._units) > _MEMORY:
                self._units.clear()
            known = self._units[base] = unit_of(self._values(base)) or ((), 0.0)
        return known

    def openings(self, genome: ExpressionNode, random: Random, most: int) -> list[NumberOpening]:
        """Return the constants inside the terms; the weights of the terms follow from them."""
        bases = _bases(genome)
        places = [(index, path) for index, base in enumerate(bases) for path in constants_in(base)]
        if len(places) > most:
            places = random.sample(places, most)
        if not places:
            return []

        def build(values: Sequence[float]) -> ExpressionNode:
            moved = list(bases)
            for (index, path), value in zip(places, values, strict=True):
                moved[index] = moved[index].replaced(path, constant(value))
            return self.best(moved)

        values = tuple(float(number_of(bases[index].at(path))) for index, path in places)
        return [NumberOpening(values, tuple(0.05 * max(1.0, abs(value)) for value in values), build)]


def _bases(genome: ExpressionNode) -> list[ExpressionNode]:
    """Return the terms of ``genome`` without the constant part."""
    return [base for base in terms_of(genome) if base != ONE]


def constants_in(tree: ExpressionNode) -> list[tuple[int, ...]]:
    """Return the paths to the constants inside ``tree`` that are not exponents."""
    return [
        path for path, node in tree.walk() if node.kind == "constant" and path and tree.at(path[:-1]).kind != "power"
    ]
