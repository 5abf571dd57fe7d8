"""Why a task cannot be done: users' typical mistakes, and how far each method comes."""

from __future__ import annotations

from typing import Any

import pytest

from memkit.domains.files import find_domain
from memkit.runtime.htn.core import Domain, HTNPlanner, Method, Operator, Problem, parse_condition
from memkit.runtime.htn.explanation import explain_failure, obstacle_lines

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
        ("delivr book shop", "delivr book shop: no operator and no method is called delivr; did you mean deliver?"),
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
    assert codes[-1] == "budget"


def test_a_learned_method_that_misses_a_declared_effect_says_which() -> None:
    """Somebody edited it: its steps can be taken, and what should be so afterwards is not."""
    lesson = Method("learned_deliver_1", "deliver ?p ?to", [], ["go home ?to"], learned=True)
    bare = Domain.from_data({**ERRANDS.to_data(), "methods": []})
    planner = HTNPlanner(domain=bare, learned=[lesson])
    problem = planner.problem("deliver book shop", ["at home", "has book"], objects=OBJECTS)

    found = explain_failure(planner, problem)

    assert not planner.solve_problem(problem).found
    assert [str(reason) for each in found for reason in each.reasons()] == [
        "deliver book shop, method learned_deliver_1: after go home shop: "
        "'delivered book' should be so afterwards and is not"
    ]
