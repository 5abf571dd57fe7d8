"""Learned methods in other problems: sound there, as general as the example allows, and written down without loss."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.htn.core import Domain, HTNPlanner, Method, Problem, verify
from memkit.runtime.htn.language.data import method_from_data, method_to_data
from memkit.runtime.htn.language.domain import declared_effects
from memkit.runtime.htn.language.objects import typed_objects
from memkit.runtime.htn.verification.evaluation import StepState, holds

PLACES = ("home", "shop", "cafe")
TRUCKS = {
    "name": "trucks",
    "types": {"place": "object", "truck": "object", "big_truck": "truck", "parcel": "object"},
    "predicates": {
        "at": ["truck", "place"],
        "lies": ["parcel", "place"],
        "inside": ["parcel", "truck"],
        "open": ["place"],
    },
    "functions": {"fuel": ["truck"], "far": ["place", "place"]},
    "constants": {"home": "place"},
    "operators": [
        {
            "name": "drive",
            "parameters": "?t - truck ?from ?to - place",
            "preconditions": ["at ?t ?from", ">= (fuel ?t) (far ?from ?to)", "not = ?from ?to"],
            "add": ["at ?t ?to"],
            "remove": ["at ?t ?from"],
            "effects": ["decrease (fuel ?t) (far ?from ?to)"],
        },
        {
            "name": "load",
            "parameters": "?p - parcel ?t - truck ?x - place",
            "preconditions": ["lies ?p ?x", "at ?t ?x", {"any": ["open ?x", "= ?x home"]}],
            "add": ["inside ?p ?t"],
            "remove": ["lies ?p ?x"],
        },
        {
            "name": "unload",
            "parameters": "?p - parcel ?t - truck ?x - place",
            "preconditions": ["inside ?p ?t", "at ?t ?x"],
            "add": ["lies ?p ?x"],
            "remove": ["inside ?p ?t"],
        },
        {
            "name": "refuel",
            "parameters": "?t - truck",
            "preconditions": ["at ?t home"],
            "effects": ["assign (fuel ?t) 10"],
        },
    ],
    "tasks": {"bring": {"parameters": "?p - parcel ?to - place", "effects": ["lies ?p ?to"]}},
}
DOMAIN = Domain.from_data(TRUCKS)
FAR = [f"= (far {one} {other}) {3 if one != other else 0}" for one in PLACES for other in PLACES]
CARRY = ["load box van home", "drive van home shop", "unload box van shop"]
LORRY = ["load bag lorry cafe", "drive lorry cafe shop", "unload bag lorry shop"]


def problem(state: list[str], task: str = "bring box shop", **objects: str) -> Problem:
    """Return a problem with two trucks and two parcels."""
    kinds = {**dict.fromkeys(PLACES, "place"), "van": "truck", "lorry": "big_truck", "box": "parcel", "bag": "parcel"}
    return Problem.from_data({"objects": {**kinds, **objects}, "state": [*state, *FAR], "tasks": [task]}, DOMAIN)


START = [
    "at van home",
    "lies box home",
    "= (fuel van) 9",
    "at lorry cafe",
    "= (fuel lorry) 9",
    "lies bag cafe",
    "open cafe",
]


def learned(answer: list[str], start: Problem) -> Method:
    """Return the method that is learned from one proposal."""
    asking = HTNPlanner(domain=DOMAIN, llm_decompose=lambda task, state: answer)
    assert asking.solve_problem(start).found, asking.reasons
    (method,) = asking.learned
    return method


def test_what_text_names_is_kept_and_numbers_become_conditions() -> None:
    """The constant stays, the truck has the type of its place in the operator, the fuel is compared."""
    method = learned(CARRY, problem(START))

    assert {"lies ?v1 home", "at ?v3 home"} <= set(method_to_data(method)["preconditions"])
    assert {variable.name: variable.type for variable in method.variables} == {"?v3": "truck"}
    assert ">= (fuel ?v3) (far home ?v2)" in method_to_data(method)["preconditions"]


def test_a_part_of_or_that_held_is_what_is_asked_for() -> None:
    """From another place the other part of the disjunction held."""
    method = learned(LORRY, problem(START, "bring bag shop"))

    assert "open ?v4" in method_to_data(method)["preconditions"]
    assert method.subtasks[0] == ("load", "?v1", "?v3", "?v4")


@pytest.mark.parametrize("answer", [CARRY, ["refuel van", *CARRY], [*CARRY, "drive van shop cafe"]])
def test_a_learned_method_is_written_down_without_loss(answer: list[str]) -> None:
    """What a file holds reads back as the same method."""
    method = learned(answer, problem(START))

    assert method_from_data(method_to_data(method)) == method


def test_an_effect_that_held_before_is_a_condition_of_the_method() -> None:
    """What the steps did not bring about must be there already, or the method does not do its task."""
    method = learned(["drive van home shop"], problem(["lies box shop", *START[:1], START[2]]))

    assert "lies ?v1 ?v2" in method_to_data(method)["preconditions"]
    later = HTNPlanner(domain=DOMAIN, learned=[method]).solve_problem(problem(START))
    assert not later.found


def test_no_decomposition_gets_around_the_declared_effects() -> None:
    """A task inside a proposal that can also be done to no purpose is done to its purpose, or there is no plan."""
    lazy: dict[str, Any] = {**TRUCKS, "methods": [
        {"name": "do_nothing", "task": "carry ?p - parcel ?to - place", "subtasks": []},
        {"name": "carry_it", "task": "carry ?p - parcel ?to - place", "preconditions": ["at ?t ?x", "lies ?p ?x"],
         "subtasks": ["load ?p ?t ?x", "drive ?t ?x ?to", "unload ?p ?t ?to"]},
    ]}  # fmt: skip
    domain = Domain.from_data(lazy)
    asking = HTNPlanner(domain=domain, llm_decompose=lambda task, state: ["carry box shop"])

    result = asking.solve_problem(problem(START))

    assert [step.name for step in result.plan or ()] == ["load", "drive", "unload"]
    assert [node.get("method") for node in result.tree][:2] == ["proposed_bring_1", "carry_it"]
    again = HTNPlanner(domain=domain, learned=asking.learned).solve_problem(problem(START))
    assert [step.name for step in again.plan or ()] == ["load", "drive", "unload"]


def test_a_method_stays_as_it_was_where_the_whole_plan_fails() -> None:
    """A sound proposal before a task that cannot be done teaches nothing."""
    start = problem(START)
    both = Problem(
        tasks=(*start.tasks, ("vanish", "box")), state=start.state, numbers=start.numbers, objects=start.objects
    )
    asking = HTNPlanner(
        domain=DOMAIN, llm_decompose=lambda task, state: CARRY if task.name == "bring" else ["no_such_step"]
    )

    assert not asking.solve_problem(both).found
    assert (asking.learned, asking.learned_here) == ([], [])


METHODS = [
    learned(CARRY, problem(START)),
    learned(
        ["load bag lorry cafe", "drive lorry cafe shop", "unload bag lorry shop"], problem(START, "bring bag shop")
    ),
    learned(["refuel van", *CARRY], problem(START)),
]
states = st.sets(
    st.sampled_from(
        [
            *(f"at {truck} {place}" for truck in ("van", "lorry") for place in PLACES),
            *(f"lies {parcel} {place}" for parcel in ("box", "bag") for place in PLACES),
            *(f"open {place}" for place in PLACES),
            "inside box van",
            "inside bag lorry",
        ]
    ),
    max_size=9,
)


@settings(max_examples=150, deadline=None)
@given(states, st.integers(0, 10), st.integers(0, 10), st.sampled_from(PLACES), st.sampled_from(["box", "bag"]))
def test_whatever_a_learned_method_does_elsewhere_is_right(
    facts: set[str], van: int, lorry: int, place: str, parcel: str
) -> None:
    """Every plan it leads to is valid, and ends in what the task declares."""
    start = problem([*sorted(facts), f"= (fuel van) {van}", f"= (fuel lorry) {lorry}"], f"bring {parcel} {place}")

    result = HTNPlanner(domain=DOMAIN, learned=METHODS).solve_problem(start)

    if result.found:
        assert verify(DOMAIN, start, result.plan or [], extra=METHODS) == []
        state = StepState(start, typed_objects(DOMAIN, start))
        operators = {operator.name: operator for operator in DOMAIN.operators}
        for step in result.plan or []:
            state.advance(operators[step.name], step)
        assert all(holds(effect, {}, state, ()) for effect in declared_effects(DOMAIN, start.tasks[0]))
