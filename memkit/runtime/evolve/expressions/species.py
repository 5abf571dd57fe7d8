"""The species of expressions: syntax trees over parameters, constants and the listed operations."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from random import Random
from typing import Any

from ..interface import DoesNotApply, EvolveError, NumberOpening, RefusedProgram
from .reading import Expression, read_program
from .sums import ONE, Sums, Terms, constants_in, expanded, product_of, rounded, simplified, sum_of, terms_of
from .tree import (
    FUNCTIONS,
    NUMBER,
    OPERATIONS,
    TESTS,
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
    random_leaf,
    random_tree,
)

_BASIC = ("add", "subtract", "multiply", "divide")
_MEMORY = 50_000
_MAX_DEPTH = 14


class Expressions:
    """Varies expressions."""

    def __init__(
        self,
        seed: Expression,
        functions: Sequence[str],
        columns: Sequence[Sequence[float]],
        max_size: int,
        wanted: Sequence[float] | None = None,
    ) -> None:
        self._seed = seed
        self._max_size = max(max_size, seed.body.size)
        self._columns = dict(zip(seed.parameters, columns, strict=True))
        self._length = len(columns[0]) if columns else 1
        self._ten_digits = "%.9e " * self._length
        self._memory: dict[ExpressionNode, Column] = {}
        used = [node.kind for _, node in seed.body.walk() if node.parts and node.kind != "negative"]
        tests = [item.name for item in TESTS] if any(OPERATIONS[kind] in TESTS for kind in used) else []
        self._vocabulary = PrimitiveSet(seed.parameters, tuple(dict.fromkeys([*_BASIC, *functions, *used, *tests])))
        self._calls = [kind for kind in self._vocabulary.kinds if OPERATIONS[kind] in FUNCTIONS]
        self._sums = (
            None if wanted is None else Sums(wanted, self.values, self._new_term, self._vocabulary, self._max_size)
        )

    def first(self, random: Random, count: int) -> list[ExpressionNode]:
        """Return the seed program, mutants of it and random trees of several depths."""
        mutants = [self.mutate(self._seed.body, random) for _ in range(count // 3)]
        trees = [random_tree(self._vocabulary, random, 2 + index % 3) for index in range(count - len(mutants) - 1)]
        if self._sums is not None:
            return [self._seed.body, *mutants, *(self._sums.best([tree]) for tree in trees)]
        return [self._seed.body, *mutants, *(self._within(tree, self._seed.body) for tree in trees)]

    def mutate(self, genome: ExpressionNode, random: Random) -> ExpressionNode:
        """Return ``genome`` with one change, within the limits of size and depth."""
        if self._sums is not None:
            return self._sums.mutated(genome, random)
        return self._within(mutated(genome, self._vocabulary, random), genome)

    def cross(self, genome: ExpressionNode, other: ExpressionNode, random: Random) -> ExpressionNode:
        """Return ``genome`` with a part of ``other``."""
        if self._sums is not None:
            return self._sums.crossed(genome, other, random)
        return self._within(crossed(genome, other, random), genome)

    def _within(self, child: ExpressionNode, parent: ExpressionNode) -> ExpressionNode:
        """Return ``child`` without superfluous parts, or ``parent`` if it is still too large."""
        if child.size > 4 * self._max_size:
            return parent
        plain = simplified(child)
        return plain if plain.size <= self._max_size and plain.depth <= _MAX_DEPTH else parent

    def directions(self, genome: ExpressionNode, random: Random) -> NumberOpening | None:
        """Return ``genome`` plus a new term: a product of parameters, a function of a part, or a random tree.

        If there is no room for it, it replaces other terms. None if mutation already does that.
        """
        if self._sums is not None:
            return None
        term = self._new_term(genome, random)
        terms = dict(terms_of(genome))
        while terms:
            opening = _addition(genome, terms, term)
            if self._has_room(opening):
                return opening
            del terms[random.choice(list(terms))]
        return None

    def _has_room(self, opening: NumberOpening) -> bool:
        """Return whether the programs of ``opening`` are within the size limit, whatever the numbers."""
        # No number is 0 or 1 in the largest one, because these are shorter to write.
        largest: ExpressionNode = opening.build([1.5 + index for index in range(len(opening.values))])
        return largest.size <= self._max_size

    def _new_term(self, genome: ExpressionNode, random: Random) -> ExpressionNode:
        """Return a term that ``genome`` may be missing: a product, a function of a part of it, or a random tree."""
        choice = random.random()
        parameters = self._vocabulary.parameters
        if parameters and choice < 0.5:
            return product_of([random.choice(parameters) for _ in range(random.randint(1, 4))])
        if parameters and choice < 0.6:
            return simplified(operation("multiply", self._part(genome, random), name(random.choice(parameters))))
        if self._calls and choice < 0.8:
            kind = random.choice(self._calls)
            return simplified(operation(kind, *(self._part(genome, random) for _ in OPERATIONS[kind].takes)))
        return simplified(random_tree(self._vocabulary, random, 3))

    def _part(self, genome: ExpressionNode, random: Random) -> ExpressionNode:
        """Return a part of ``genome``, or occasionally a leaf."""
        place = random.randrange(genome.size + 1)
        part = genome.nth(place)[1] if place < genome.size else None
        return part if part is not None and part.gives == NUMBER else random_leaf(self._vocabulary, random)

    def openings(self, genome: ExpressionNode, random: Random, most: int) -> list[NumberOpening]:
        """Return the weights of the terms of ``genome`` and its constant part, and the constants inside the terms."""
        if self._sums is not None:
            return self._sums.openings(genome, random, most)
        terms = {**terms_of(genome), ONE: terms_of(genome).get(ONE, 0)}
        bases = list(terms)
        if len(bases) > most:
            bases = random.sample(bases, most)

        def weighted(values: Sequence[float]) -> ExpressionNode:
            return sum_of({**terms, **dict(zip(bases, values, strict=True))})

        values = tuple(float(terms[base]) for base in bases)
        opening = NumberOpening(values, tuple(max(1.0, abs(value)) for value in values), weighted)
        return [item for item in (opening, *self._inner(genome, random, most)) if self._has_room(item)]

    def _inner(self, genome: ExpressionNode, random: Random, most: int) -> list[NumberOpening]:
        """Return the constants that are not the weight of a term; exponents are left alone."""
        paths = constants_in(genome)
        if len(paths) > most:
            paths = random.sample(paths, most)
        if not paths:
            return []

        def build(values: Sequence[float]) -> ExpressionNode:
            tree = genome
            for path, value in zip(paths, values, strict=True):
                tree = tree.replaced(path, constant(value))
            return tree

        values = tuple(float(number_of(genome.at(path))) for path in paths)
        return [NumberOpening(values, tuple(0.05 * max(1.0, abs(value)) for value in values), build)]

    def tidied(self, genome: ExpressionNode) -> list[ExpressionNode]:
        """Return ``genome`` expanded and simplified, first with constants rounded to few digits."""
        wide = expanded(genome)
        forms = [rounded(form, digits) for digits in (0, 2, 6) for form in (wide, genome) if form is not None]
        return [form for form in dict.fromkeys([*forms, simplified(genome)]) if form.size <= self._max_size]

    def size(self, genome: ExpressionNode) -> int:
        """Return the number of nodes."""
        return genome.size

    def values(self, genome: ExpressionNode) -> Column:
        """Return the values of ``genome`` at the points of the search."""
        if len(self._memory) > _MEMORY:
            self._memory.clear()
        return column(genome, self._columns, self._memory, self._length)

    def behaviour(self, genome: ExpressionNode) -> Hashable:
        """Return the values at the points of the search to ten digits; the text if it has no value anywhere."""
        values = self.values(genome)
        if all(value != value for value in values):
            return str(genome)
        try:
            return self._ten_digits % tuple([value + 0.0 for value in values])  # so that there is no negative zero
        except OverflowError:  # an integer beyond all floats
            return str(values)

    def program(self, genome: ExpressionNode) -> str:
        """Return the source text."""
        return Expression(self._seed.parameters, genome, self._seed.is_lambda).source

    def applied(self, _genome: ExpressionNode, text: str) -> ExpressionNode:
        """Return the expression in ``text``, with or without a leading ``lambda``."""
        try:
            tree = simplified(self.decoded(text))
        except EvolveError as problem:
            raise DoesNotApply(str(problem)) from problem
        if tree.size > self._max_size or tree.depth > _MAX_DEPTH:
            raise DoesNotApply(f"The program has {tree.size} nodes; the limit is {self._max_size}.")
        return tree

    def features(self, genome: ExpressionNode) -> dict[str, float]:
        """Return the size of ``genome``, its depth, and its number of operations other than + and -."""
        work = sum(bool(node.parts) and node.kind not in ("add", "subtract") for _, node in genome.walk())
        return {"size": genome.size, "depth": genome.depth, "operations": work}

    def grid(self) -> dict[str, float]:
        """Return size by work: short and long programs, sums of plain terms and nested ones."""
        return {"size": 4.0, "operations": 2.0}

    def encoded(self, genome: ExpressionNode) -> str:
        """Return the source text."""
        return self.program(genome)

    def decoded(self, data: Any) -> ExpressionNode:
        """Return the body of a program's source text."""
        program = read_program(data)
        if not program.is_lambda:
            program = read_program(f"lambda {', '.join(self._seed.parameters)}: {data}")
        if program.parameters != self._seed.parameters:
            raise RefusedProgram(f"The program's parameters are not {', '.join(self._seed.parameters)}.")
        return program.body


def _addition(genome: ExpressionNode, terms: Terms, term: ExpressionNode) -> NumberOpening:
    """Return the sum of ``terms`` and ``term`` with an adjustable weight, initially 0."""
    whole = genome if terms_of(genome) == terms else sum_of(terms)
    kept = dict(terms)

    def build(values: Sequence[float]) -> ExpressionNode:
        return sum_of({**kept, term: kept.get(term, 0) + values[0]}) if values[0] else whole

    return NumberOpening((0.0,), (1.0,), build)


def probe_points(count: int) -> list[list[float]]:
    """Return the points that distinguish programs of ``count`` parameters if their fitness specifies none."""
    random = Random(20)
    return [[random.uniform(-4, 4) for _ in range(16)] for _ in range(count)]
