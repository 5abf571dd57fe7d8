"""Why a task cannot be done: users' typical mistakes, and how far each method comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from memkit.domains.files import find_domain
from memkit.runtime.htn.core import (
    GAVE_UP,
    NO_PLAN,
    Budget,
    Check,
    Domain,
    ForAll,
    HTNPlanner,
    Literal,
    Method,
    Operator,
    Parameter,
    Problem,
    parse_condition,
)
from memkit.runtime.htn.explanation import LATE, Obstacle, explain_choices, explain_failure, obstacle_lines
from memkit.use_cases import plans
from memkit.use_cases.plans import explain_result, plan_lines

ERRANDS = find_domain("errands")
DEPLOYMENT = find_domain("deployment")
OBJECTS = {"home": "place", "shop": "place", "book": "parcel"}


def reasons(domain: Domain, task: str, state: list[str] | None = None, **more: Any) -> list[str]:
    """Return in words why a task cannot be done."""
    planner = HTNPlanner(domain=domain)
    problem = planner.problem(task, state, **more)
    assert not planner.solve_problem(problem).found
    return [str(reason) for each in explain_failure(planner, problem) for reason in each.reasons()]


@pytest.mark.parametrize(
    ("task", "told"),
    [
        ("delivr book shop", "delivr book shop: no operator or method is named delivr; did you mean deliver?"),
        ("deliver book shp", "shp is not a place; did you mean shop?"),
        ("deliver book moon", "moon is not a place; there is home, library, shop"),
        ("deliver shop book", "shop is not a parcel; there is book, letter"),
        ("deliver book", "takes 2 arguments, not 1"),
        ("go shop home", "go shop home: 'at shop' does not hold"),
    ],
)
def test_a_slip_of_the_hand_is_named(task: str, told: str) -> None:
    """Names, types, order and number of arguments: the first words say what to mend."""
    assert told in reasons(ERRANDS, task)[0]


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (
            ["at shop"],
            [
                "deliver book home, method walk_and_give: after go shop home: hand_over book: 'has book' does not hold",
                "deliver book home, method already_there: 'at home' does not hold",
            ],
        ),
        (
            ["has book"],
            [
                "deliver book home, method walk_and_give: nothing fits 'at ?here'",
                "deliver book home, method already_there: 'at home' does not hold",
            ],
        ),
        (
            ["at home"],
            [
                "deliver book home, method walk_and_give: 'at home' holds, then 'not = home home' does not hold",
                "deliver book home, method already_there: hand_over book: 'has book' does not hold",
            ],
        ),
    ],
)
def test_a_missing_fact_is_found_where_it_is_needed(state: list[str], told: list[str]) -> None:
    """Each method says what held, which steps could be taken, and what did not hold then."""
    assert reasons(ERRANDS, "deliver book home", state, objects=OBJECTS) == told


def test_the_way_to_what_is_missing_is_shown() -> None:
    """Three levels down a fact about the first environment is missing; the tree leads there."""
    planner = HTNPlanner(domain=DEPLOYMENT)
    problem = planner.problem("release api production", ["leads_to staging production"])

    shown = list(obstacle_lines(explain_failure(planner, problem)))

    assert shown == [
        "release api production",
        "  (test_reach_and_tell) after build api, run_tests api",
        "    reach api production",
        "      (already_healthy) 'healthy api production' does not hold",
        "      (enter) 'entry production' does not hold",
        "      (one_environment_further) 'leads_to staging production' holds",
        "        reach api staging",
        "          (already_healthy) 'healthy api staging' does not hold",
        "          (enter) 'entry staging' does not hold",
        "          (one_environment_further) nothing fits 'leads_to ?before staging'",
    ]


def test_the_second_task_is_explained_behind_the_first() -> None:
    """What the first task used up is missing for the second one."""
    planner = HTNPlanner(domain=ERRANDS)
    problem = planner.problem(["deliver book shop", "deliver book home"], ["at home", "has book"], objects=OBJECTS)

    found = explain_failure(planner, problem)

    assert {each.task for each in found} == {("deliver", "book", "home")}
    assert "'has book' does not hold" in " ".join(str(reason) for each in found for reason in each.reasons())


def test_a_goal_that_is_not_reached_is_the_obstacle() -> None:
    """All tasks can be done, and what was wanted does not hold then."""
    planner = HTNPlanner(domain=ERRANDS)
    goal = (parse_condition("at home"),)
    state = (("at", "home"), ("has", "book"))
    problem = Problem(tasks=(("deliver", "book", "shop"),), state=state, objects=OBJECTS, goal=goal)

    found = explain_failure(planner, problem)

    assert not planner.solve_problem(problem).found
    assert [each.to_data()["message"] for each in found] == ["the goal 'at home' does not hold"]


def test_numbers_say_what_they_are() -> None:
    """A comparison that fails names the values."""
    data = {
        "name": "car",
        "functions": {"fuel": []},
        "operators": [{"name": "drive", "preconditions": [">= (fuel) 5"], "effects": ["decrease (fuel) 5"]}],
        "methods": [{"name": "twice", "task": "tour", "subtasks": ["drive", "drive"]}],
    }

    told = reasons(Domain.from_data(data), "tour", ["= (fuel) 7"])

    assert told == ["tour, method twice: after drive: drive: '>= (fuel) 5' does not hold: (fuel) is 2"]


def test_variables_that_only_steps_name_are_explained_with_objects_that_fit() -> None:
    """The reason speaks of the shop where the book is, and of another place to go to, not of the first in the list."""
    data = {
        "types": {"place": "object", "parcel": "object"},
        "operators": [
            {"name": "take", "parameters": "?p - parcel ?x - place", "preconditions": ["at ?p ?x", "open ?x"]},
            {"name": "move", "parameters": "?x ?y - place", "preconditions": ["road ?x ?y", "not = ?x ?y", "fuel"]},
        ],
        "methods": [
            {"name": "fetch", "task": "get ?p - parcel", "variables": "?x - place", "subtasks": ["take ?p ?x"]},
            {"name": "drive", "task": "leave", "variables": "?x ?y - place", "subtasks": ["move ?x ?y"]},
        ],
        "objects": {"attic": "place", "home": "place", "shop": "place", "book": "parcel"},
        "state": ["at book shop", "road home home", "road home shop"],
    }
    domain = Domain.from_data(data)

    assert reasons(domain, "get book", None) == ["get book, method fetch: take book shop: 'open shop' does not hold"]
    assert reasons(domain, "leave", None) == ["leave, method drive: move home shop: 'fuel' does not hold"]


def test_what_a_step_lacks_is_told_as_data_with_the_method_it_is_a_step_of() -> None:
    """Programs read which condition of which method is not met, and whether it is one or a call that does not fit."""
    planner = HTNPlanner(
        operators=[Operator("open ?d", ["has key", "at ?d"], ["open ?d"])],
        methods=[Method("by_door", "enter ?d", [], ["open ?d"]), Method("twice", "enter ?d", [], ["open ?d ?d"])],
    )

    found = explain_failure(planner, planner.problem("enter hall", {"has key"}))

    assert [(each.code, each.task, each.method, each.condition) for way in found for each in way.reasons()] == [
        ("condition", "open hall", "by_door", "at hall"),
        ("arity", "open hall hall", "twice", None),
    ]
    assert [way.to_data()["below"][0]["condition"] for way in found] == ["at hall", None]


def test_a_task_that_leads_to_itself_is_told_once() -> None:
    """Recursion ends the explanation as it ends the search."""
    planner = HTNPlanner(methods=[Method("again", "run", [], ["walk"]), Method("back", "walk", [], ["run"])])

    found = explain_failure(planner, planner.problem("run"))

    assert [str(reason) for each in found for reason in each.reasons()] == [
        "run, method again: walk, method back: run: leads back to itself"
    ]


def test_an_explanation_takes_no_longer_than_it_may() -> None:
    """When the time is over what is left is named, and no more."""
    ticks = iter(range(1_000_000))
    planner = HTNPlanner(
        methods=[Method(f"m{n}", "t0", [], [f"t{n}"]) for n in range(1, 30)]
        + [Method(f"n{n}", f"t{n}", [], ["never"]) for n in range(1, 30)],
        operators=[Operator("never", ["x"])],
    )

    found = explain_failure(planner, planner.problem("t0"), seconds=5, clock=lambda: next(ticks))

    codes = [reason.code for each in found for reason in each.reasons()]
    assert codes.count("condition") < 10
    assert codes[-1] == "late"


def test_a_learned_method_that_misses_a_declared_effect_says_which() -> None:
    """Somebody edited it: its steps can be taken, and what should be so afterwards is not."""
    lesson = Method("learned_deliver_1", "deliver ?p ?to", [], ["go home ?to"], learned=True)
    bare = Domain.from_data({**ERRANDS.to_data(), "methods": []})
    planner = HTNPlanner(domain=bare, learned=[lesson])
    problem = planner.problem("deliver book shop", ["at home", "has book"], objects=OBJECTS)

    found = explain_failure(planner, problem)

    assert not planner.solve_problem(problem).found
    assert [str(reason) for each in found for reason in each.reasons()] == [
        "deliver book shop, method learned_deliver_1: after go home shop: 'delivered book' should hold afterwards but "
        "does not"
    ]


HUNDRED = [f"p a{n}" for n in range(100)]


def test_what_only_a_late_object_fits_is_followed_to_the_step() -> None:
    """The eightieth of a hundred objects meets the conditions; what it lacks then is the reason."""
    planner = HTNPlanner([Method("m", "t", ["p ?x", "q ?x"], ["o ?x"])], [Operator("o ?x", ["zz ?x"])])

    assert planner.generate("t", [*HUNDRED, "q a80"]) is None
    assert planner.reasons == ["t, method m: o a80: 'zz a80' does not hold"]


@pytest.mark.parametrize(
    ("conditions", "state", "told"),
    [
        (["p ?x", "q ?x"], HUNDRED, "'p ?x' holds, then nothing fits 'q ?x'"),
        (["p ?x", "q ?x"], ["p a"], "'p a' holds, then 'q a' does not hold"),
        (["p ?x", "q b"], HUNDRED, "'p ?x' holds, then 'q b' does not hold"),
        (["s ?y", "p ?x", "q ?x ?y"], ["s b", *HUNDRED], "'s b', 'p ?x' hold, then nothing fits 'q ?x b'"),
        (["p ?x", "r ?x", "q ?x"], [*HUNDRED, "r a7"], "'p a7', 'r a7' hold, then 'q a7' does not hold"),
        (["p ?a", "p ?b", "r ?a ?b ?a"], ["p x0", "p x1"], "'p ?a', 'p ?b' hold, then nothing fits 'r ?a ?b ?a'"),
    ],
)
def test_an_object_is_named_only_where_no_other_was_tried(conditions: list[str], state: list[str], told: str) -> None:
    """Of many objects none is to blame; of one that alone came so far it is said what it lacks."""
    planner = HTNPlanner([Method("m", "t", conditions, ["o"])], [Operator("o")])

    assert planner.generate("t", state) is None
    assert planner.reasons == [f"t, method m: {told}"]


def test_a_method_with_too_many_bindings_does_not_take_the_time_of_the_others() -> None:
    """It is named, without a claim about it where no condition fails alone; what stops the others is still told."""
    ways = [
        Method("wide", "t", ["p ?a", "p ?b", "p ?c", "p ?d", "q ?a ?b ?c ?d"], ["o"]),
        Method("plain", "t", ["here"], ["o"]),
    ]
    planner = HTNPlanner(ways, [Operator("o")])

    found = explain_failure(planner, planner.problem("t", [*HUNDRED, "q b b b b"]), clock=lambda: 0.0)

    assert [(each.method, each.code) for each in found] == [("wide", "late"), ("plain", "condition")]
    without = explain_failure(planner, planner.problem("t", HUNDRED), clock=lambda: 0.0)
    assert without[0].words == "nothing fits 'q ?a ?b ?c ?d'"


def _overdue_after(calls: list[str], name: str) -> Callable[[], float]:
    """Return a clock whose time is over as soon as a check of this name was asked."""
    return lambda: 100.0 if name in calls else 0.0


def test_when_the_time_ends_what_was_in_hand_is_named() -> None:
    """That is the second task and not the first, or the goal, or the step inside a method."""
    calls: list[str] = []

    def slow(state: Any) -> bool:
        calls.append("slow")
        return False

    checked = ForAll((Parameter("?x"),), Check(slow))
    operators = [Operator("easy"), Operator("hard", [checked])]
    way = Method("by_step", "task", [], ["hard"])
    planner = HTNPlanner([way], operators)

    def named(*tasks: str, goal: Any = ()) -> list[tuple[str, str]]:
        calls.clear()
        problem = Problem(tasks=tuple((each,) for each in tasks), objects={"a": "object", "b": "object"}, goal=goal)
        found = explain_failure(planner, problem, clock=_overdue_after(calls, "slow"))
        return [(reason.code, str(reason)) for each in found for reason in each.reasons()]

    assert named("easy", "hard") == [("late", f"hard: {LATE}")]
    assert named("easy", "task")[0] == ("late", f"task: {LATE}")
    assert named("easy", goal=(checked,)) == [("late", f"goal: {LATE}")]


def test_time_that_ends_while_a_plan_is_followed_ends_the_words_and_nothing_else() -> None:
    """The effects of a step may ask much; why methods were passed over is then left out."""
    domain = Domain.from_data(
        {
            "name": "much",
            "operators": [
                {
                    "name": "all",
                    "effects": [{"forall": "?x ?y ?z", "when": ["p ?x"], "add": ["q ?x ?y ?z"]}],
                }
            ],
            "methods": [{"name": "m", "task": "t", "subtasks": ["all", "all"]}],
        }
    )
    planner = HTNPlanner(domain=domain)
    problem = planner.problem("t", [f"p a{n}" for n in range(20)])
    result = planner.solve_problem(problem)
    ticks = iter(range(10**9))

    with patch("time.monotonic", lambda: next(ticks) / 100):
        passed_over = explain_choices(planner, problem, result.tree, ())

    assert result.found
    assert 0 < len(passed_over) < len(result.tree)


def test_the_words_for_a_failure_are_looked_for_once_and_none_comes_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for the explanation gets that one; that it was cut short is no bound of the search."""
    planner = HTNPlanner([Method("m", "t", ["p"], ["o"])], [Operator("o")])
    problem = planner.problem("t")
    with patch("memkit.runtime.htn.planner.explain_failure", lambda *_, **__: [Obstacle(("t",), LATE, "late")]):
        cut_short = planner.solve_problem(problem)
        unexplained = planner.solve_problem(problem, explained=False)

    assert [each.code for each in cut_short.reasons] == ["late"]
    assert unexplained.reasons == ()
    assert [each.code for each in explain_result(planner, problem, cut_short, ()).result.reasons] == ["condition"]

    looked: list[object] = []
    monkeypatch.setattr("memkit.runtime.htn.planner.explain_failure", lambda *_, **__: looked.append(1) or [])
    monkeypatch.setattr(plans, "read_request", lambda *_, **__: (planner, problem))
    assert plans.plan_task(plans.PlanRequest("x"), explain=True).obstacles
    assert looked == []


def test_a_search_that_gave_up_is_not_told_as_impossible() -> None:
    """There is a plan, which the bound forbids to find; the bound is what is told, and first."""
    ways = [Method("left", "choose", [], ["go_left"]), Method("right", "choose", [], ["go_right"])]
    steps = [Operator("go_left"), Operator("go_right", [], ["there"]), Operator("wait")]
    domain = HTNPlanner(ways, steps).domain
    problem = Problem(tasks=(("choose",), ("wait",)), goal=(Literal(("there",)),))
    planner = HTNPlanner(domain=domain, budget=Budget(nodes=3))

    result = planner.solve_problem(problem)
    planned = explain_result(planner, problem, result, ())

    assert HTNPlanner(domain=domain).solve_problem(problem).found
    assert (result.outcome, planner.reasons) == (GAVE_UP, ["gave up after 3 nodes"])
    assert planned.result.reasons[0].code == "budget"
    assert not any("does not hold" in line for line in plan_lines(planned, explain=True))
    assert "- gave up after 3 nodes" in plan_lines(planned, explain=True)


def test_of_a_search_that_gave_up_the_bound_comes_before_what_was_looked_at() -> None:
    """Whoever asks for it sees how far a short look came, under the bound."""
    planner = HTNPlanner([Method("m", "t", ["p"], ["o"])], [Operator("o")], budget=Budget(nodes=0))
    problem = planner.problem("t")
    gave_up = planner.solve_problem(problem)

    planned = explain_result(planner, problem, gave_up, ())

    assert gave_up.outcome != NO_PLAN
    assert [each.code for each in planned.result.reasons] == ["budget", "condition"]
    assert plan_lines(planned, explain=True) == [
        "Gave up; there may be a plan.",
        "- gave up after 0 nodes",
        "How far a short search came:",
        "t",
        "  (m) 'p' does not hold",
    ]
