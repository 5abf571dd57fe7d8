"""Regression: what is needed before steps is enough for them, and says no more than the example showed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.htn.core import Domain, Operator, Problem, Step
from memkit.runtime.htn.language.forms import parse_conditions
from memkit.runtime.htn.language.objects import typed_objects
from memkit.runtime.htn.learning.regression import Applied, Regressed, regress
from memkit.runtime.htn.verification.evaluation import StepState, arguments, holds

OBJECTS = ("a", "b", "c")
ATOMS = [f"{name} {one}" for name in "pq" for one in OBJECTS]


def state_of(facts: Sequence[str], numbers: dict[tuple[str, ...], float] | None = None, **objects: str) -> StepState:
    """Return a state of these facts over the objects a, b and c."""
    declared = {**dict.fromkeys(OBJECTS, "object"), **objects}
    data = {"objects": declared, "state": list(facts), "tasks": []}
    problem = Problem.from_data(data)
    problem = Problem(tasks=(), state=problem.state, numbers=numbers or {}, objects=declared)
    return StepState(problem, typed_objects(Domain(), problem))


def needs(operator: Operator, *args: str, goal: Sequence[Any] = (), start: StepState) -> Regressed:
    """Return what one step and a goal after it need."""
    return regress([Applied(operator, Step(operator.name, args))], parse_conditions(goal), start)


def texts(regressed: Regressed) -> set[str]:
    """Return the conditions as texts."""
    return {str(each) for each in regressed.conditions}


def test_what_a_step_makes_true_is_not_needed_before_it() -> None:
    """The precondition is, and so is what the goal wants and the step does not touch."""
    go = Operator("go ?x ?y", ["p ?x"], ["p ?y", "not p ?x"])

    found = needs(go, "a", "b", goal=["p b", "q c"], start=state_of(["p a", "q c"]))

    assert texts(found) == {"p a", "q c"}


def test_two_facts_that_a_step_tells_apart_must_stay_apart() -> None:
    """What another object in the same place would remove is named, and nothing else."""
    drop = Operator("drop ?x", ["p ?x"], ["not p ?x"])

    found = needs(drop, "a", goal=["p b", "q c"], start=state_of(["p a", "p b", "q c"]))

    assert texts(found) == {"p a", "p b", "q c"}
    assert found.apart == [(("p", "b"), ("p", "a"))]


def test_what_a_step_adds_wins_over_what_it_removes() -> None:
    """A fact that is added needs no distance from what is removed; the absence of one needs it from what is added."""
    move = Operator("move ?x ?y", [], ["p ?y", "not p ?x"])

    assert needs(move, "a", "b", goal=["p b"], start=state_of(["p a"])).apart == []
    assert needs(move, "a", "b", goal=["not p a"], start=state_of(["p a"])).apart == [(("p", "a"), ("p", "b"))]


@pytest.mark.parametrize(
    ("precondition", "facts", "needed"),
    [
        ({"any": ["p ?x", "q ?x"]}, ["q a"], {"q a"}),
        ({"any": ["p ?x", {"all": ["q ?x", "q b"]}]}, ["q a", "q b"], {"q a", "q b"}),
        ({"exists": "?z", "holds": ["p ?z", "q ?z"]}, ["p a", "p c", "q c"], {"p c", "q c"}),
        ({"not": {"any": ["p ?x", "q ?x"]}}, [], {"not p a", "not q a"}),
        ({"forall": "?z", "holds": ["p ?z"]}, ["p a", "p b", "p c"], {"forall (?z - object) (p ?z)"}),
    ],
)
def test_a_choice_that_the_example_made_becomes_the_condition(
    precondition: Any, facts: list[str], needed: set[str]
) -> None:
    """The part of "or" that held, the object that "exists" stood for; "for all" stays as it is."""
    assert texts(needs(Operator("s ?x", [precondition]), "a", start=state_of(facts))) == needed


def test_a_for_all_is_not_taken_back_over_what_touches_it() -> None:
    """It is left out, which is said; the step itself is tested when the method is used."""
    tell = Operator("tell ?x", [], ["p ?x"])

    found = needs(tell, "c", goal=[{"forall": "?z", "holds": ["p ?z"]}], start=state_of(["p a", "p b"]))

    assert texts(found) == set()
    assert "forall" in found.notes[0]


def test_a_conditional_effect_counts_as_far_as_it_matters() -> None:
    """One that brought the goal about is needed, one that would have spoilt it is excluded, any other says nothing."""
    pour = Operator(
        "pour ?x",
        [],
        [
            {"when": ["p ?x"], "add": ["wet ?x"]},
            {"when": ["q ?x"], "remove": ["dry b"]},
            {"when": ["q ?x"], "add": ["dull"]},
        ],
    )

    found = needs(pour, "a", goal=["wet a", "dry b"], start=state_of(["p a", "dry b"]))

    assert texts(found) == {"p a", "dry b", "not q a"}


def test_a_change_of_a_number_that_did_not_happen_must_not_happen() -> None:
    """Elsewhere the number may have no value, which would make the step impossible."""
    pay = Operator("pay ?x", effects=[{"when": ["p ?x"], "change": ["increase (owed ?x) 1"]}])

    assert texts(needs(pay, "a", start=state_of([]))) == {"not p a"}


def test_changes_of_the_numbers_of_many_objects_are_noted() -> None:
    """Whether they are all possible is not known before the step is done."""
    pay = Operator("pay", effects=[{"forall": "?x", "when": ["p ?x"], "change": ["increase (owed ?x) 1"]}])

    found = needs(pay, start=state_of([]))

    assert found.conditions == []
    assert found.notes == ["'pay' changes numbers of many objects, which must all be possible"]


def test_a_number_without_a_value_is_noted_where_it_kept_an_effect_from_happening() -> None:
    """Neither the comparison nor its negation held, so neither of them is a condition."""
    pay = Operator("pay", [], effects=[{"when": ["< (owed a) 2"], "add": ["p a"]}])

    found = needs(pay, goal=["not p a"], start=state_of([]))

    assert texts(found) == {"not p a"}
    assert found.notes == ["'< (owed a) 2' depends on a number that has no value here"]


def test_objects_that_only_an_effect_on_many_touched_are_not_named() -> None:
    """Elsewhere it touches others, so that the effect is noted and no object is told apart."""
    sweep = Operator("sweep", effects=[{"forall": "?x", "when": ["q ?x"], "remove": ["p ?x"]}])

    found = needs(sweep, goal=["p a"], start=state_of(["p a", "q b"]))

    assert (texts(found), found.apart) == ({"p a"}, [])
    assert found.notes == ["'p a' is touched by effects on many objects"]


def test_numbers_are_taken_back_exactly() -> None:
    """A comparison after two changes is one of sums before them."""
    burn = Operator("burn ?t ?d", [">= (fuel ?t) (far ?d)"], ["decrease (fuel ?t) (far ?d)"])
    start = state_of([], {("fuel", "a"): 10, ("far", "b"): 4, ("far", "c"): 5})
    steps = [Applied(burn, Step("burn", ("a", at))) for at in ("b", "c")]

    found = regress(steps, parse_conditions([">= (fuel a) 1"]), start)

    assert texts(found) == {
        ">= (fuel a) (far b)",
        ">= (- (fuel a) (far b)) (far c)",
        ">= (- (- (fuel a) (far b)) (far c)) 1",
    }


operators = st.builds(
    lambda needed, added, removed: Operator("s ?x ?y", needed, effects_add=added, effects_remove=removed),
    st.lists(st.sampled_from(["p ?x", "q ?y", "not p ?y", "not q ?x"]), max_size=2, unique=True),
    st.lists(st.sampled_from(["p ?x", "p ?y", "q ?x"]), max_size=2, unique=True),
    st.lists(st.sampled_from(["p ?x", "q ?y", "q ?x", "p a"]), max_size=2, unique=True),
)
calls = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(OBJECTS), st.sampled_from(OBJECTS)), max_size=5)


@given(
    st.lists(operators, min_size=3, max_size=3), calls, st.sets(st.sampled_from(ATOMS)), st.sets(st.sampled_from(ATOMS))
)
def test_what_is_needed_is_enough_in_every_state(
    known: list[Operator], called: list[tuple[int, str, str]], facts: set[str], others: set[str]
) -> None:
    """Where the conditions hold the steps can be done and end in the goal; where the example began they hold."""
    example, at = [], state_of(sorted(facts))
    for number, one, other in called:
        step = Step("s", (one, other))
        if all(holds(each, arguments(known[number], step), at, step.args) for each in known[number].preconditions):
            example.append(Applied(known[number], step))
            at.advance(known[number], step)
    goal = parse_conditions([*sorted(" ".join(fact) for fact in at.facts)[:2], *(
        f"not {atom}" for atom in ATOMS[:3] if tuple(atom.split()) not in at.facts
    )])  # fmt: skip

    needed = regress(example, goal, state_of(sorted(facts))).conditions

    start = state_of(sorted(facts))
    assert all(holds(each, {}, start, ()) for each in needed)
    elsewhere = state_of(sorted(others))
    if all(holds(each, {}, elsewhere, ()) for each in needed):
        for part in example:
            binding = arguments(part.operator, part.step)
            assert all(holds(each, binding, elsewhere, ()) for each in part.operator.preconditions)
            elsewhere.advance(part.operator, part.step)
        assert all(holds(each, {}, elsewhere, ()) for each in goal)
