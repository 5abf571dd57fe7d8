"""Which plan is looked for, and in which order: cheapest, ranked, length by length, with restarts."""

from __future__ import annotations

import heapq

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.htn.core import (
    CHEAPEST,
    DEPTH,
    FOUND,
    GAVE_UP,
    LENGTH,
    NO_PLAN,
    TURNS,
    Budget,
    Choice,
    DomainError,
    HtnError,
    HTNPlanner,
    Method,
    Operator,
    RankedStrategy,
    verify,
)

ROADS = (
    [
        Method("there", "travel ?to", ["at ?to"], []),
        Method("on", "travel ?to", ["at ?x", "not at ?to", "road ?x ?y"], ["move ?x ?y", "travel ?to"]),
    ],
    [Operator("move ?a ?b", ["at ?a", "road ?a ?b"], ["at ?b", "not at ?a"], cost=("length", "?a", "?b"))],
)
weights = st.dictionaries(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde")), st.integers(0, 9), max_size=14)


def shortest(roads: dict[tuple[str, str], int], start: str, end: str) -> int | None:
    """Return the length of the shortest way, by Dijkstra's algorithm."""
    waiting, done = [(0, start)], set()
    while waiting:
        length, place = heapq.heappop(waiting)
        if place == end:
            return length
        if place not in done:
            done.add(place)
            for (one, other), more in roads.items():
                if one == place:
                    heapq.heappush(waiting, (length + more, other))
    return None


@settings(max_examples=60, deadline=None)
@given(weights)
def test_the_cheapest_plan_is_a_shortest_way(roads: dict[tuple[str, str], int]) -> None:
    """Branch and bound finds what Dijkstra finds, with costs that depend on the state."""
    planner = HTNPlanner(*ROADS, strategy=CHEAPEST)
    state = [("at", "a"), *(("road", *pair) for pair in roads), *(("=", ("length", *p), w) for p, w in roads.items())]
    problem = planner.problem("travel e", state)

    result = planner.solve_problem(problem)

    length = shortest(roads, "a", "e")
    assert (result.outcome, result.cost) == ((NO_PLAN, None) if length is None else (FOUND, length))
    if result.plan is not None:
        assert verify(planner.domain, problem, result.plan) == []


def test_a_cheaper_plan_than_the_first_is_found_through_another_method_and_order() -> None:
    """Fixed costs bound from below what is left, and the first plan is not kept where a later one is cheaper."""
    operators = [Operator("taxi", [], ["there"], cost=9), Operator("walk", [], ["there"], cost=2), Operator("rest")]
    methods = [Method("by_taxi", "go", [], ["taxi"]), Method("on_foot", "go", [], ["walk", "rest"])]

    result = HTNPlanner(methods, operators, strategy=CHEAPEST).solve("go")

    assert ([str(step) for step in result.plan or []], result.cost) == (["walk", "rest"], 3)


def test_a_plan_that_was_not_shown_to_be_the_cheapest_says_so() -> None:
    """When the budget ends first, the best plan so far is the answer, with the bound as a reason."""
    operators = [Operator(f"o{n}", [], [f"s{n}"], cost=n + 1) for n in range(14)]
    methods = [Method(f"m{n}", "all", [f"not s{n}"], [f"o{n}", "all"]) for n in range(14)]
    methods.append(Method("end", "all", [f"s{n}" for n in range(14)], []))

    result = HTNPlanner(methods, operators, strategy=CHEAPEST, budget=Budget(nodes=500)).solve("all")

    assert (result.outcome, result.cost) == (FOUND, sum(range(1, 15)))
    assert "there may be one" in str(result.reasons[-1])


def test_a_negative_cost_is_refused() -> None:
    """Of steps that pay, no plan is the cheapest; a cost without a value is no cost."""
    for cost, state in ((("f",), ["= (f) -1"]), (("f",), [])):
        planner = HTNPlanner([Method("m", "t", [], ["o"])], [Operator("o", cost=cost)], strategy=CHEAPEST)
        with pytest.raises(DomainError, match="step 'o' costs"):
            planner.solve("t", state)


def test_a_ranking_function_decides_what_is_tried_first() -> None:
    """The lowest value comes first; the function sees method, bindings, subtasks and state."""
    seen: list[tuple[str, object, object, bool]] = []

    def far_first(task: object, choice: Choice, state: object) -> int:
        seen.append((choice.method, dict(choice.bindings), tuple(choice.subtasks), "p b" in state))  # type: ignore[operator]
        return -ord(choice.bindings["?x"])

    planner = HTNPlanner(
        [Method("m", "t", ["p ?x"], ["take ?x"])], [Operator("take ?x")], strategy=RankedStrategy(far_first)
    )

    assert [str(step) for step in planner.generate("t", ["p a", "p b", "p c"]) or []] == ["take c"]
    assert ("m", {"?x": "a"}, (("take", "a"),), True) in seen


@pytest.mark.parametrize(("strategy", "outcome"), [(DEPTH, GAVE_UP), (LENGTH, FOUND), (TURNS, FOUND)])
def test_a_line_without_end_is_left_by_those_strategies_that_can(strategy: str, outcome: str) -> None:
    """Depth first alone counts for ever; a bound on what waits, or another strategy's turn, ends that."""
    methods = [
        Method("more", "count", [], ["add", "count", "rest"]),
        Method("enough", "count", [">= (n) 3"], ["stop"]),
        Method("nothing", "rest", [], []),
    ]
    operators = [Operator("add", [], ["increase (n) 1"]), Operator("stop")]
    planner = HTNPlanner(methods, operators, strategy=strategy, budget=Budget(nodes=50_000, seconds=None))

    assert planner.solve("count", ["= (n) 0"]).outcome == outcome


@pytest.mark.parametrize(("strategy", "outcome"), [(DEPTH, GAVE_UP), (TURNS, NO_PLAN)])
def test_tasks_that_wait_for_themselves_in_ever_longer_lines_are_shown_to_lead_nowhere(
    strategy: str, outcome: str
) -> None:
    """A light goes on and off in any number of ways, and the door behind all of them stays closed."""
    operators = [Operator("on", ["not lit"], ["lit"]), Operator("off", ["lit"], ["not lit"]), Operator("open", ["key"])]
    methods = [
        Method("before", "play", [], ["play", "flip"]),
        Method("after", "play", [], ["flip", "play"]),
        Method("enough", "play", [], []),
        *(Method(way, "flip", [], [way]) for way in ("on", "off")),
    ]
    planner = HTNPlanner(methods, operators, strategy=strategy, budget=Budget(nodes=20_000, seconds=None))

    assert planner.solve(["play", "open"], set()).outcome == outcome


@pytest.mark.parametrize(("strategy", "outcome"), [(DEPTH, GAVE_UP), (TURNS, FOUND)])
def test_restarts_get_out_of_an_early_mistake(strategy: str, outcome: str) -> None:
    """Most keys are wrong, which shows only at the very end; random runs soon begin with one that is right."""
    operators = [
        Operator("take ?key", [], ["have ?key"]),
        *(Operator(f"{way}{n}", [], [f"went_{way}{n}"]) for n in range(16) for way in ("left", "right")),
        Operator("open", [{"any": ["have k7", "have k8", "have k9"]}]),
    ]
    turns = [Method(f"{way}_at_{n}", f"turn{n}", [], [f"{way}{n}"]) for n in range(16) for way in ("left", "right")]
    play = Method("play", "play", ["key ?key"], ["take ?key", *(f"turn{n}" for n in range(16)), "open"])
    planner = HTNPlanner([play, *turns], operators, strategy=strategy, budget=Budget(nodes=20_000, seconds=None))

    assert planner.solve("play", [f"key k{n}" for n in range(10)]).outcome == outcome


def test_an_unknown_strategy_is_refused() -> None:
    """The names of the strategies are given with the refusal."""
    with pytest.raises(HtnError, match="turns, depth, length or cheapest"):
        HTNPlanner(strategy="best")


def test_tasks_without_a_fixed_order_are_done_in_the_order_that_costs_least() -> None:
    """The listed order is only the first that is tried."""
    operators = [Operator("tire", [], ["increase (effort) 5"], cost=1), Operator("climb", cost=("effort",))]
    planner = HTNPlanner([Method("m", "day", [], ["tire", "climb"], ordering=[])], operators, strategy=CHEAPEST)

    result = planner.solve("day", ["= (effort) 1"])

    assert ([str(step) for step in result.plan or []], result.cost) == (["climb", "tire"], 2)
