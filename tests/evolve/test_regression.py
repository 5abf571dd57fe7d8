"""The public Nguyen functions, found from 20 points within 20,000 evaluations."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial

import pytest

from memkit.runtime.evolve.core import EvolutionarySearcher, SearchSettings, fitness_mean_squared_error, read_program

PLANE = [(chance.random(), chance.random()) for chance in [random.Random(2)] for _ in range(20)]


def line(low: float, high: float) -> list[tuple[float]]:
    """Return 20 points between two others."""
    return [(low + (high - low) * index / 19,) for index in range(20)]


@pytest.mark.parametrize(
    ("target", "points"),
    [
        (lambda x: x**3 + x**2 + x, line(-1, 1)),
        (lambda x: x**5 + x**4 + x**3 + x**2 + x, line(-1, 1)),
        (lambda x: math.sin(x * x) * math.cos(x) - 1, line(-1, 1)),
        (lambda x: math.log(x + 1) + math.log(x * x + 1), line(0, 2)),
        (math.sqrt, line(0, 4)),
        (lambda x, y: x**4 - x**3 + y * y / 2 - y, PLANE),
    ],
    ids=["1", "3", "5", "7", "8", "12"],
)
def test_the_nguyen_functions_are_found(target: Callable[..., float], points: list[tuple[float, ...]]) -> None:
    """The largest error is below 0.01 at every point, also where the function is not in the vocabulary (sqrt)."""
    searcher = EvolutionarySearcher(
        f"lambda {', '.join('xy'[: len(points[0])])}: x * 2",
        partial(fitness_mean_squared_error, target=[(point, target(*point)) for point in points]),
        population_size=200,
        seed=1,
        settings=SearchSettings(functions=("sin", "cos", "exp", "log"), target_fitness=1e-6),
    )

    found = read_program(searcher.run(generations=100))

    assert max(abs(found(*point) - target(*point)) for point in points) < 0.01
    assert searcher.stopped == "target" and searcher.evaluations < 20_000
