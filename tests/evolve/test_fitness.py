"""The mean squared error of a program against a function or pairs."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.evolve.core import EvolveError, RefusedProgram, fitness_mean_squared_error
from memkit.runtime.evolve.fitness import cases_of


def test_a_perfect_program_has_no_error() -> None:
    """Equal to the function everywhere is exactly 0."""
    assert fitness_mean_squared_error("lambda x: x ** 2 + 2 * x + 1", target=lambda x: (x + 1) ** 2) == 0


@given(st.integers(-50, 50))
def test_a_constant_offset_is_squared(offset: int) -> None:
    """A program that is off by the same amount everywhere has the square of it as its error."""
    assert fitness_mean_squared_error(f"lambda x: x + {offset}", target=lambda x: x) == offset**2


def test_pairs_are_a_target() -> None:
    """Pairs of argument and value are compared at their own points; several arguments are a tuple."""
    assert fitness_mean_squared_error("lambda x: x * 2", target=[(1, 2), (2, 6)]) == 2
    assert fitness_mean_squared_error("lambda x, y: x * y", target=[((1, 2), 2), ((2, 3), 7)]) == 0.5
    assert fitness_mean_squared_error("lambda x: x", target=iter([(1, 1.0)])) == 0


def test_points_may_be_chosen() -> None:
    """A function is compared where the caller says."""
    assert fitness_mean_squared_error("lambda x: 0", target=lambda x: x, points=[3, 4]) == 12.5


def test_functions_of_several_arguments_have_points_of_their_own() -> None:
    """Two and three arguments are compared on a grid."""
    assert fitness_mean_squared_error("lambda a, b: a + b", target=lambda a, b: b + a) == 0
    assert fitness_mean_squared_error("lambda a, b, c: a", target=lambda a, b, c: a + c) > 0


def test_where_the_target_has_no_value_nothing_is_compared() -> None:
    """Points outside the function's domain do not count against a program."""
    assert fitness_mean_squared_error("lambda x: sqrt(x)", target=math.sqrt) == 0
    assert len(cases_of(math.sqrt).wanted) == 11


@pytest.mark.parametrize("program", ["lambda x: 1 / x", "lambda x: log(x)", "lambda x: exp(exp(exp(x)))"])
def test_a_program_without_a_value_has_infinite_error(program: str) -> None:
    """A program that fails at a point is worse than any that does not."""
    assert fitness_mean_squared_error(program, target=lambda x: x) == math.inf


def test_a_program_that_is_not_allowed_is_refused() -> None:
    """Nothing of it runs, and the error names the part."""
    with pytest.raises(RefusedProgram, match="Attribute"):
        fitness_mean_squared_error("lambda x: x.real", target=lambda x: x)


@pytest.mark.parametrize(
    ("target", "points", "reason"),
    [
        (None, None, "needs a target"),
        (5, None, "function, or pairs"),
        ("lambda x: x", None, "function, or pairs"),
        ([], None, "without pairs"),
        ([(1, 2, 3)], None, "function, or pairs"),
        ([(1, "a")], None, "are numbers"),
        ([(1, math.nan)], None, "finite"),
        ([((1, 2), 3), (1, 2)], None, "same number of arguments"),
        ([(1, 2)], [1], "leave out"),
        (lambda x: "a", None, "must return a number"),
        (lambda x: True, None, "must return a number"),
        (lambda x: 1 / 0, None, "fewer than two"),
        (lambda x: 10**9999, None, "fewer than two"),
        (lambda a, b, c, d: a, None, "takes 4 arguments"),
        (lambda a, b: a, None, "takes 1 arguments (x) and the target 2"),
    ],
)
def test_a_target_that_cannot_be_used_says_why(target: Any, points: Any, reason: str) -> None:
    """A wrong question is the caller's error, and never a score."""
    with pytest.raises(EvolveError) as caught:
        fitness_mean_squared_error("lambda x: x", target=target, points=points)

    assert reason in str(caught.value) and not isinstance(caught.value, RefusedProgram)
