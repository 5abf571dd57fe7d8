"""The search against a planner that tries everything: the same answer on small problems in all of the language."""

from __future__ import annotations

from unittest.mock import patch

from brute_force import FOUND as SOLVABLE
from brute_force import NONE, RandomProblem, solve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memkit.runtime.htn.core import FOUND, GAVE_UP, NO_PLAN, Budget, HTNPlanner, verify
from memkit.runtime.htn.search import solver

FEW = Budget(nodes=5_000, seconds=None)
many = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@many
@given(st.integers(0, 2**32))
def test_search_and_brute_force_give_the_same_answer(seed: int) -> None:
    """A plan is found where there is one, none where there is none, and every plan is a solution."""
    drawn = RandomProblem(seed)
    domain, problem = drawn.domain(), drawn.problem()

    result = HTNPlanner(domain=domain, budget=FEW).solve_problem(problem)

    truth = solve(domain, problem)
    if result.plan is not None:
        assert truth != NONE
        assert verify(domain, problem, result.plan) == []
    if result.outcome == NO_PLAN:
        assert truth != SOLVABLE
    if truth == SOLVABLE:
        assert result.outcome in (FOUND, GAVE_UP)


@settings(many, max_examples=60)
@given(st.integers(0, 2**32))
def test_tables_of_what_tasks_end_in_give_the_same_answer_and_always_give_one(seed: int) -> None:
    """Where almost every turn is theirs, small problems are solved or shown to have no plan; none is given up."""
    drawn = RandomProblem(seed)
    domain, problem = drawn.domain(), drawn.problem()

    with patch.object(solver, "_FAILURES_ALONE", -1), patch.object(solver, "_TURNS", (1, 1, 1, 5_000)):
        result = HTNPlanner(domain=domain, budget=FEW).solve_problem(problem)

    truth = solve(domain, problem)
    assert result.outcome in {SOLVABLE: [FOUND], NONE: [NO_PLAN]}.get(truth, [FOUND, NO_PLAN, GAVE_UP])
    if result.plan is not None:
        assert verify(domain, problem, result.plan) == []
