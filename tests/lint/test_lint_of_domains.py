"""What lint says of a domain is never refuted by a plan."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.lint.families.dead_ends import contradiction
from memkit.lint.families.faults import domain_faults
from memkit.runtime.htn.core import GAVE_UP, Budget, Condition, Domain, HTNPlanner, Method, Operator, Problem, Term
from memkit.runtime.htn.language.objects import typed_objects
from memkit.runtime.htn.verification.evaluation import StepState, holds
from tests.htn.languages import HEAD, OBJECTS, conditions, domains, problems, states, values

FACTS = ("p a", "p b", "q a b")
NAMES = ("s", "t", "u")
BUDGET = Budget(nodes=3_000, seconds=5.0)
literals = st.sampled_from([*FACTS, *(f"not {fact}" for fact in FACTS)])
some_literals = st.lists(literals, max_size=3)


@settings(max_examples=300, deadline=None)
@given(st.lists(conditions(HEAD), min_size=1, max_size=4), states, values, st.sampled_from([*OBJECTS]), st.data())
def test_what_is_called_a_contradiction_never_holds(
    found: list[Condition], state: tuple[Term, ...], numbers: dict[Term, float], one: str, data: st.DataObject
) -> None:
    """No state and no objects make conditions hold together of which a contradiction is told."""
    if contradiction(found) is None:
        return
    problem = Problem(tasks=(), state=state, numbers=numbers, objects=OBJECTS)
    domain = Domain(types={"thing": "object"}, objects=OBJECTS)
    world = StepState(problem, typed_objects(domain, problem))
    binding = {"?x": one, "?y": data.draw(st.sampled_from([*OBJECTS]))}

    assert not all(holds(each, binding, world, ()) for each in found)


@st.composite
def small_domains(draw: st.DrawFn) -> Domain:
    """Return a domain of three tasks with several methods each, whose subtasks are steps and tasks."""
    operators = tuple(
        Operator(
            f"step{number}",
            draw(some_literals),
            effects_add=draw(st.lists(st.sampled_from(FACTS), max_size=2)),
            effects_remove=draw(st.lists(st.sampled_from(FACTS), max_size=2)),
            parameters="",
        )
        for number in range(3)
    )
    calls = st.sampled_from([*NAMES, *(operator.name for operator in operators)])
    methods = tuple(
        Method(f"m{number}", draw(st.sampled_from(NAMES)), draw(some_literals), draw(st.lists(calls, max_size=3)))
        for number in range(draw(st.integers(3, 7)))
    )
    return Domain(operators=operators, methods=methods)


def flagged(domain: Domain, code: str) -> set[int]:
    """Return the positions in the domain of what a rule says something about."""
    return {int(fault.path[1]) for fault in domain_faults(domain) if fault.code == code}


@settings(max_examples=150, deadline=None)
@given(small_domains(), st.sampled_from(NAMES), st.sets(st.sampled_from(FACTS)))
def test_no_plan_uses_what_lint_says_cannot_be_used(domain: Domain, task: str, state: set[str]) -> None:
    """Neither a method nor a step nor a task of any plan is called unreachable, impossible or endless."""
    tree = HTNPlanner(domain=domain, budget=BUDGET).solve(task, sorted(state)).tree

    used = {node["method"] for node in tree if "method" in node}
    done = {str(node["name"]) for node in tree}
    assert used.isdisjoint(domain.methods[number].name for number in flagged(domain, "MKD010"))
    assert done.isdisjoint(domain.operators[number].name for number in flagged(domain, "MKD011"))
    assert done.isdisjoint(domain.methods[number].task for number in flagged(domain, "MKD013"))


@settings(max_examples=150, deadline=None)
@given(small_domains(), st.data(), st.sampled_from(NAMES), st.sets(st.sampled_from(FACTS)))
def test_without_a_shadowed_method_as_much_can_be_done(
    domain: Domain, data: st.DataObject, task: str, state: set[str]
) -> None:
    """A domain from which shadowed methods are taken has a plan for the same tasks."""
    copied = data.draw(st.sampled_from(domain.methods))
    wider = Method("copy", copied.head, (*copied.preconditions, *data.draw(some_literals)), copied.subtasks)
    domain = replace(domain, methods=(*domain.methods, wider))
    shadowed = flagged(domain, "MKD012")
    assert len(domain.methods) - 1 in shadowed
    smaller = replace(domain, methods=tuple(m for n, m in enumerate(domain.methods) if n not in shadowed))

    one, other = (
        HTNPlanner(domain=each, budget=BUDGET).solve(task, sorted(state)).outcome for each in (domain, smaller)
    )

    assert one == other or GAVE_UP in (one, other)


@settings(max_examples=40, deadline=None)
@given(domains(), problems())
def test_lint_reads_every_domain_and_refutes_no_plan(domain: Domain, problem: Problem) -> None:
    """All of the language is looked at without an error, and what a plan uses is not called unusable."""
    faults = {fault.code for fault in domain_faults(domain)}
    result = HTNPlanner(domain=domain, budget=BUDGET).solve_problem(problem)

    if result.plan:
        assert not faults & {"MKD010", "MKD011", "MKD013"}
