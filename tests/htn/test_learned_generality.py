"""A learned method is never too general: where its conditions hold, its subtasks work and bring its effects about."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from memkit.runtime.htn.core import Domain, HTNPlanner, Method, Problem
from memkit.runtime.htn.language.conditions import condition_variables
from memkit.runtime.htn.language.domain import declared_effects
from memkit.runtime.htn.language.objects import typed_objects
from memkit.runtime.htn.language.terms import ROOT_TYPE, Term, is_variable
from memkit.runtime.htn.verification.evaluation import Binding, StepState, holds

VEHICLES = {
    "types": {"vehicle": "object", "truck": "vehicle"},
    "predicates": {"near": ["vehicle"], "used": ["vehicle"]},
}
USE = {"name": "use", "parameters": "?v - vehicle", "preconditions": ["near ?v"], "add": ["used ?v"]}
FLEET = {"lorry": "truck", "bike": "vehicle"}
VANS = {"types": {"van": "object"}, "predicates": {"done": ["van", "van"]}, "functions": {"n": ["van"], "m": ["van"]}}

CASES: dict[str, tuple[dict[str, Any], dict[str, str], list[str], str, list[str]]] = {
    "a known task is for a narrower type than its steps": (
        {
            **VEHICLES,
            "operators": [USE],
            "methods": [{"name": "haul", "task": "haul ?t - truck", "subtasks": ["use ?t"]}],
            "tasks": {"top": {"parameters": "?v - vehicle", "effects": ["used ?v"]}},
        },
        FLEET,
        ["near lorry"],
        "top lorry",
        ["haul lorry"],
    ),
    "a known task looks for a narrower type than its steps": (
        {
            **VEHICLES,
            "operators": [USE],
            "methods": [
                {
                    "name": "m",
                    "task": "haul",
                    "variables": "?t - truck",
                    "preconditions": ["near ?t"],
                    "subtasks": ["use ?t"],
                }
            ],
            "tasks": {"top": {"parameters": "?v - vehicle", "effects": ["used ?v"]}},
        },
        FLEET,
        ["near lorry"],
        "top lorry",
        ["haul"],
    ),
    "a step wants that there is one of a narrower type": (
        {
            **VEHICLES,
            "operators": [
                USE,
                {
                    "name": "go",
                    "preconditions": [{"exists": "?t - truck", "holds": ["near ?t"]}],
                    "remove": ["near bike"],
                },
            ],
            "constants": {"bike": "vehicle"},
            "tasks": {"top": {"parameters": "?v - vehicle", "effects": ["used ?v"]}},
        },
        FLEET,
        ["near lorry"],
        "top lorry",
        ["use lorry", "go"],
    ),
    "an effect on many objects is for a narrower type": (
        {
            **VEHICLES,
            "operators": [
                {"name": "all", "effects": [{"forall": "?t - truck", "when": ["near ?t"], "add": ["used ?t"]}]}
            ],
            "tasks": {"top": {"parameters": "?v - vehicle", "effects": ["used ?v"]}},
        },
        FLEET,
        ["near lorry"],
        "top lorry",
        ["all"],
    ),
    "a number that is changed has no value": (
        {
            **VANS,
            "operators": [
                {
                    "name": "use",
                    "parameters": "?a ?b - van",
                    "add": ["done ?a ?b"],
                    "effects": ["increase (n ?a) (m ?b)"],
                }
            ],
            "tasks": {"top": {"parameters": "?a ?b - van", "effects": ["done ?a ?b"]}},
        },
        {"one": "van", "two": "van"},
        ["= (n one) 1", "= (m two) 1"],
        "top one two",
        ["use one two"],
    ),
    "a number is divided by zero": (
        {
            **VANS,
            "operators": [
                {
                    "name": "use",
                    "parameters": "?a ?b - van",
                    "add": ["done ?a ?b"],
                    "effects": ["assign (n ?a) (/ 6 (m ?b))"],
                },
                {"name": "more", "parameters": "?b - van", "effects": ["decrease (m ?b) 1"]},
            ],
            "tasks": {"top": {"parameters": "?a ?b - van", "effects": ["done ?a ?b"]}},
        },
        {"one": "van", "two": "van"},
        ["= (m two) 3"],
        "top one two",
        ["more two", "use one two"],
    ),
    "a number would be changed twice": (
        {
            **VANS,
            "operators": [
                {
                    "name": "use",
                    "parameters": "?a ?b - van",
                    "add": ["done ?a ?b"],
                    "effects": ["assign (n ?a) 1", "assign (n ?b) 2"],
                }
            ],
            "tasks": {"top": {"parameters": "?a ?b - van", "effects": ["done ?a ?b"]}},
        },
        {"one": "van", "two": "van"},
        [],
        "top one two",
        ["use one two"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_wherever_its_conditions_hold_it_works(case: str) -> None:
    """In 150 random states, for every way to put objects in the places of the variables."""
    data, objects, state, task, answer = CASES[case]
    domain = Domain.from_data({"name": "generality", **data})
    planner = HTNPlanner(domain=domain, llm_decompose=lambda task, state: answer)
    assert planner.generate(task, state, objects=objects)
    method = planner.learned_here[0].method

    used = 0
    for start in random_states(domain, objects, 150):
        for binding in bindings(method, domain, start):
            used += 1
            assert can_be_done(method, binding, domain, start), f"{method} with {binding} in {start}"

    assert used > 20


def random_states(domain: Domain, objects: dict[str, str], count: int) -> Iterator[Problem]:
    """Yield states in which every fact holds or not, and every number has one of a few values or none."""
    chance = random.Random(0)
    members = typed_objects(domain, Problem(tasks=(), state=(), objects=objects))
    facts = list(grounded(domain.predicates or {}, members))
    fluents = list(grounded(domain.functions or {}, members))
    for _ in range(count):
        numbers = {fluent: chance.choice([0, 1, 2]) for fluent in fluents if chance.random() < 0.8}
        state = tuple(fact for fact in facts if chance.random() < 0.5)
        yield Problem(tasks=(), state=state, objects={**domain.objects, **objects}, numbers=numbers)


def grounded(declared: Any, members: Any) -> Iterator[Term]:
    """Yield every fact, or fluent, that the objects allow."""
    for name, kinds in declared.items():
        for row in product(*(members[kind] for kind in kinds)):
            yield (name, *row)


def bindings(method: Method, domain: Domain, start: Problem) -> Iterator[Binding]:
    """Yield the ways in which a method applies."""
    members = typed_objects(domain, start)
    types = {**(method.head.types or {}), **{variable.name: variable.type for variable in method.variables}}
    assert not callable(method.subtasks)
    mentioned = [part for term in (method.head.args, *method.subtasks) for part in term if is_variable(part)]
    mentioned += [name for condition in method.preconditions for name in condition_variables(condition)]
    names = list(dict.fromkeys(mentioned))
    for row in product(*(members[types.get(name, ROOT_TYPE)] for name in names)):
        binding = dict(zip(names, row, strict=True))
        if all(holds(condition, binding, StepState(start, members), ()) for condition in method.preconditions):
            yield binding


def can_be_done(method: Method, binding: Binding, domain: Domain, start: Problem) -> bool:
    """Return whether the subtasks can be carried out and the declared effects hold then."""
    assert not callable(method.subtasks)
    task, *steps = (
        tuple(binding.get(part, part) for part in term)
        for term in ((method.head.name, *method.head.args), *method.subtasks)
    )
    wanted = Problem(
        tasks=tuple(steps),
        state=start.state,
        objects=start.objects,
        numbers=start.numbers,
        goal=declared_effects(domain, task),
    )
    return HTNPlanner(domain=domain).solve_problem(wanted).found
