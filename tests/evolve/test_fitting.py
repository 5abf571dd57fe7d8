"""Sums with the best weights: what least squares promises, and that the sums stay within their limits."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.evolve.expressions.reading import read_program
from memkit.runtime.evolve.expressions.species import Expressions
from memkit.runtime.evolve.expressions.sums import terms_of, unit_of, weights_of
from memkit.runtime.evolve.fitness import error_of

LINE = [index / 2 for index in range(-10, 11)]
numbers = st.floats(-100, 100).map(lambda value: round(value, 3))


def sums(wanted: list[float], max_size: int = 40) -> Expressions:
    """Return the species of expressions of x towards ``wanted``."""
    return Expressions(read_program("lambda x: x"), ("sin", "exp", "log"), [LINE], max_size, wanted)


@settings(deadline=None)
@given(
    st.lists(st.lists(numbers, min_size=6, max_size=6), min_size=1, max_size=4),
    st.lists(numbers, min_size=6, max_size=6),
)
def test_what_is_left_over_has_nothing_in_common_with_any_column(
    columns: list[list[float]], wanted: list[float]
) -> None:
    """The remainder of the best sum is orthogonal to every column that has a weight; there is no better sum."""
    units = [unit[0] for column in columns if (unit := unit_of(column)) is not None]

    weights = weights_of(units, wanted)

    rest = [
        value - sum(w * unit[row] for w, unit in zip(weights, units, strict=True)) for row, value in enumerate(wanted)
    ]
    size = math.hypot(*wanted) + max(map(abs, weights), default=0.0)
    for unit, weight in zip(units, weights, strict=True):
        if weight:
            assert abs(sum(map(float.__mul__, rest, map(float, unit)))) <= 1e-5 * size


@pytest.mark.parametrize("column", [[0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0], [1e300, 1e300]])
def test_a_column_that_is_nothing_or_not_finite_has_no_unit(column: list[float]) -> None:
    """Such a term is left out of a sum."""
    assert unit_of(column) is None


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 3, 9, 40]))
def test_children_are_bounded_finite_and_no_worse_than_a_constant(seed: int, max_size: int) -> None:
    """Mutants and crossings are within the limit, defined at every point, and at least as near as the best constant."""
    random = Random(seed)
    wanted = [abs(x) ** 0.7 for x in LINE]
    species = sums(wanted, max_size)
    mean = sum(wanted) / len(wanted)
    flat = error_of([mean] * len(wanted), wanted)
    first = species.first(random, 6)
    genomes = first[1:]

    for _ in range(12):
        genomes.append(species.mutate(random.choice(genomes), random))
        genomes.append(species.cross(random.choice(genomes), random.choice(genomes), random))

    for genome in genomes:
        assert species.size(genome) <= max_size
        assert error_of(species.values(genome), wanted) <= flat * (1 + 1e-9)


def test_the_weights_of_known_terms_are_found_at_once() -> None:
    """From the right terms with wrong weights, one crossing with itself gives the function."""
    wanted = [3 * math.sin(x) - 0.25 * x * x + 7 for x in LINE]
    species = sums(wanted)

    found = species.applied(species.first(Random(0), 1)[0], "lambda x: sin(x) + x * x")
    fitted = min(
        (species.mutate(found, Random(seed)) for seed in range(30)),
        key=lambda tree: error_of(species.values(tree), wanted),
    )

    assert error_of(species.values(fitted), wanted) < 1e-20 and len(terms_of(fitted)) <= 4
