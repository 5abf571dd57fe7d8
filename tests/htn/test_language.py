"""The language of domains: what can be said, in which forms, and that it means the same wherever it is written."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from languages import domains, problems

from memkit.htn.core import Domain, Problem

generous = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@generous
@given(domains())
def test_a_domain_survives_being_written_as_data(domain: Domain) -> None:
    """What a domain says is the same after a way through JSON."""
    assert Domain.from_data(json.loads(json.dumps(domain.to_data()))) == domain


@generous
@given(problems())
def test_a_problem_survives_being_written_as_data(problem: Problem) -> None:
    """What a problem says is the same after a way through JSON."""
    assert Problem.from_data(json.loads(json.dumps(problem.to_data()))) == problem
