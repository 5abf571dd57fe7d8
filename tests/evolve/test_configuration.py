"""The search over configurations, and the fitting of numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import cycle, islice
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.evolve.configuration import Configurations
from memkit.runtime.evolve.core import EvolutionarySearcher, EvolveError, SearchSettings
from memkit.runtime.evolve.interface import NumberOpening, ProposalRequest, ProposedChange
from memkit.runtime.evolve.island import affordable, cost, lowest_point, probes, solved

SPACE = {"rate": (0.0, 1.0), "size": (1, 64), "mode": ["slow", "fast"]}


def test_the_best_configuration_is_found() -> None:
    """Bounded numbers, whole numbers and choices are searched together."""

    def loss(program: dict[str, Any]) -> float:
        return (program["rate"] - 0.3) ** 2 + abs(program["size"] - 17) + (program["mode"] == "slow")

    searcher = EvolutionarySearcher(fitness=loss, settings=SearchSettings(space=SPACE, target_fitness=1e-9))
    best = searcher.run(generations=50)

    assert best == {"rate": pytest.approx(0.3, abs=1e-4), "size": 17, "mode": "fast"}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000))
def test_every_configuration_lies_within_the_space(seed: int) -> None:
    """Nothing outside the bounds is ever judged, and whole numbers stay whole."""
    judged: list[dict[str, Any]] = []

    def loss(program: dict[str, Any]) -> float:
        judged.append(program)
        return -program["rate"] - program["size"]

    EvolutionarySearcher(
        {"rate": 0.5, "size": 2, "mode": "slow"}, loss, seed=seed, settings=SearchSettings(space=SPACE)
    ).run(6)

    assert judged[0] == {"rate": 0.5, "size": 2, "mode": "slow"}
    for program in judged:
        assert 0 <= program["rate"] <= 1 and program["mode"] in ("slow", "fast")
        assert isinstance(program["size"], int) and 1 <= program["size"] <= 64


class Guessing:
    """Proposes one vector again and again, after something that is none."""

    name = "guessing"

    def propose(self, requests: Sequence[ProposalRequest]) -> list[ProposedChange]:
        """Return answers in JSON."""
        texts = ["[0.5, 3]", '{"0": 1}', "[0.5]", "[0.25, 17, true]", "[0.25, 99]", "0.25, 17"]
        return [ProposedChange(text) for text in islice(cycle(texts), len(requests))]


def test_a_vector_is_searched_as_a_list() -> None:
    """Each place has bounds or choices; a fitness gets a list, a model answers with one, a saved run goes on."""

    def loss(program: list[float]) -> float:
        rate, size = program
        return (rate - 0.3) ** 2 + abs(size - 17)

    def search() -> EvolutionarySearcher:
        return EvolutionarySearcher(
            [0.9, 60], loss, settings=SearchSettings(space=[(0.0, 1.0), (1, 64)], proposers=[Guessing()])
        )

    straight, halting = search(), search()
    best = straight.run(generations=20)
    halting.run(generations=3)
    resumed = search()
    resumed.restore(json.dumps(halting.state()))

    assert best == [pytest.approx(0.3, abs=1e-4), 17] and isinstance(best[1], int)
    assert resumed.run(generations=17) == best
    assert {"The answer is not a JSON list of values."} < set(straight.reasons)


@pytest.mark.parametrize(
    ("space", "seed", "reason"),
    [
        ([(0, 1)], {"0": 1}, "must be a list"),
        ([(0, 1)], [1, 2], "names"),
        ([(0, 1)], [7], "does not allow"),
        ((0, 1), None, "two bounds"),
        ([], None, "at least one"),
        ("ab", None, "dictionary of names or a list"),
        (None, [1], "needs a `space`"),
    ],
)
def test_a_vector_that_makes_no_sense_is_refused(space: Any, seed: Any, reason: str) -> None:
    """Before anything is judged."""
    with pytest.raises(EvolveError, match=reason):
        EvolutionarySearcher(seed, lambda program: 1.0, settings=SearchSettings(space=space))


def test_a_small_space_is_exhausted() -> None:
    """Where every configuration was judged, the run ends and says so."""
    searcher = EvolutionarySearcher(
        fitness=lambda program: program["a"] * program["b"], settings=SearchSettings(space={"a": [1, 2], "b": (1, 3)})
    )

    assert searcher.run(generations=50) == {"a": 1, "b": 1}
    assert searcher.stopped == "exhausted" and searcher.evaluations == 6


@pytest.mark.parametrize(
    ("space", "seed", "reason"),
    [
        ({}, None, "at least one name"),
        ({"a": (1,)}, None, "two numbers"),
        ({"a": (2, 1)}, None, "the lower first"),
        ({"a": (0, float("inf"))}, None, "two numbers"),
        ({"a": (0, 10**400)}, None, "must lie within 1e+300 of zero"),
        ({"a": (-1e308, 1e308)}, None, "must lie within 1e+300 of zero"),
        ({"a": []}, None, "a list of values"),
        ({"a": 5}, None, "a list of values"),
        ({"a": [{}]}, None, "hashable"),
        ({"a": (0, 1)}, {"b": 1}, "the space names a"),
        ({"a": (0, 1)}, {"a": 2}, "does not allow"),
        ({"a": (0, 2)}, {"a": 0.5}, "does not allow"),
        ({"a": ["x"]}, {"a": "y"}, "does not allow"),
        ({"a": (0, 1)}, "lambda x: x", "must be a dictionary"),
    ],
)
def test_a_space_that_makes_no_sense_is_refused(space: Any, seed: Any, reason: str) -> None:
    """The error names what is wrong with it."""
    with pytest.raises(EvolveError) as caught:
        EvolutionarySearcher(seed, lambda program: 0.0, settings=SearchSettings(space=space))

    assert reason in str(caught.value)


weights = st.lists(st.floats(-50, 50), min_size=1, max_size=5)


@given(weights, st.data())
def test_the_lowest_point_of_a_parabola_is_found_in_one_jump(wanted: list[float], data: st.DataObject) -> None:
    """For a squared distance, seen only through scores, the jump lands on the minimum at the price that was said."""
    start = data.draw(st.lists(st.floats(-50, 50), min_size=len(wanted), max_size=len(wanted)))
    asked: list[tuple[float, ...]] = []

    def loss(values: tuple[float, ...]) -> float:
        asked.append(values)
        total = sum((value - other) ** 2 for value, other in zip(values, wanted, strict=True))
        return total + (values[0] - wanted[0] + values[-1] - wanted[-1]) ** 2

    opening = NumberOpening(tuple(start), (1.0,) * len(start), tuple)
    found = lowest_point(opening, loss(tuple(start)), [loss(values) for values in probes(opening)])

    if found is not None:
        assert found == pytest.approx(wanted, abs=1e-5)
    else:
        assert start == pytest.approx(wanted, abs=1e-5)
    assert len(asked) == cost(len(wanted))  # the start and the questions; the jump itself is judged by the caller


@given(st.integers(0, 500))
def test_what_is_affordable_fits_the_budget(budget: int) -> None:
    """Never more numbers are fitted together than the budget pays for."""
    assert affordable(budget) == 0 or cost(affordable(budget)) <= budget


@pytest.mark.parametrize(
    ("matrix", "right"),
    [([[0.0]], [1.0]), ([[-1.0]], [1.0]), ([[float("nan")]], [1.0]), ([[1.0]], [float("inf")]), ([[1.0]], [0.0])],
)
def test_a_surface_without_a_lowest_point_gives_none(matrix: list[list[float]], right: list[float]) -> None:
    """Flat, falling and broken surfaces have nowhere to jump to."""
    assert solved(matrix, right) is None


def test_a_models_numbers_are_written_as_the_space_writes_them() -> None:
    """JSON has one kind of number: 3.0 for a whole number is 3, so that a program can count with it."""
    species = Configurations({"depth": (1, 10), "size": [8, 16], "rate": (0.0, 1.0)})

    answered = species.applied((2, 8, 0.5), '{"depth": 3.0, "size": 16.0, "rate": 1}')

    assert repr(answered) == "(3, 16, 1.0)"


def test_choices_that_are_equal_and_not_the_same_are_told_apart() -> None:
    """``False`` and ``0`` are two choices, also after a search was resumed."""
    species, chance = Configurations({"cache": [False, 0]}), Random(1)

    assert repr([species.decoded(species.encoded((one,))) for one in (False, 0)]) == "[(False,), (0,)]"
    assert repr(species.mutate((False,), chance)) == "(0,)"
