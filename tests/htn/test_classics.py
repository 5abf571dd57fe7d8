"""Known problems have their known plans, and the verifier agrees."""

from __future__ import annotations

from typing import Any

import pytest
from classics import BLOCKS, ERRANDS, LOGISTICS, SOLVED, SUSSMAN, TRAVEL, TWO_CITIES

from memkit.runtime.htn.core import FOUND, NO_PLAN, Domain, HTNPlanner, Problem, verify


@pytest.mark.parametrize(("domain", "data", "steps"), SOLVED)
def test_the_known_plan_is_found_and_verified(domain: Domain, data: dict[str, Any], steps: str) -> None:
    """A classic problem has the plan that anybody would write down."""
    problem = Problem.from_data(data)

    result = HTNPlanner(domain=domain).solve_problem(problem)

    assert result.outcome == FOUND
    assert "|".join(str(step) for step in result.plan or []) == steps
    assert verify(domain, problem, result.plan or []) == []


@pytest.mark.parametrize("domain", [BLOCKS, LOGISTICS, ERRANDS, TRAVEL])
def test_a_domain_survives_being_written_as_data(domain: Domain) -> None:
    """What to_data writes, from_data reads back without loss."""
    assert Domain.from_data(domain.to_data()) == domain


def test_a_missing_fact_leaves_no_plan_and_names_the_condition() -> None:
    """Without its last fact the problem has no plan, and the reason names what was missing."""
    data = {**TWO_CITIES, "state": [fact for fact in TWO_CITIES["state"] if fact != "at jet south"]}

    result = HTNPlanner(domain=LOGISTICS).solve_problem(Problem.from_data(data))

    assert result.outcome == NO_PLAN
    assert any("at ?plane ?x" in str(reason) for reason in result.reasons)


@pytest.mark.parametrize("removed", range(6))
def test_a_plan_with_a_step_missing_is_refused(removed: int) -> None:
    """Every step of the known plan is needed."""
    problem = Problem.from_data(SUSSMAN)
    plan = HTNPlanner(domain=BLOCKS).solve_problem(problem).plan or []

    assert verify(BLOCKS, problem, plan[:removed] + plan[removed + 1 :]) != []
