"""Keep a planner from a step that failed in the very state it failed in."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..conditions import Check, Compare, Condition, Some
from ..domain import Domain, Operator
from ..interface import Step
from ..state import StateView
from .course import Failure
from .world import Snapshot

GUARD = "not_failed_before(state)"
"""How the condition that is added reads in the reasons of a search."""


def without_failures(domain: Domain, failures: Sequence[Failure]) -> Domain:
    """Return the domain with one more precondition for each operator that failed: that it is tried in another state."""
    failed = {step.name for step, _ in failures}
    operators = (_guarded(each, failures) if each.name in failed else each for each in domain.operators)
    return replace(domain, operators=tuple(operators))


def _guarded(operator: Operator, failures: Sequence[Failure]) -> Operator:
    guarded = copy.copy(operator)
    guards = tuple(_guard(*failure) for failure in failures if failure[0].name == operator.name)
    object.__setattr__(guarded, "preconditions", (*operator.preconditions, *guards))
    return guarded


def _guard(step: Step, seen: Snapshot | None) -> Condition:
    facts, numbers = seen or (None, ())

    def not_failed_before(state: StateView, *args: Any) -> bool:
        return step.args != args or (facts is not None and not _same(state, facts))

    # A function sees facts; other values of numbers make another state as well.
    others = tuple(Compare("=", fluent, value, positive=False) for fluent, value in sorted(numbers, key=str))
    return Some((Check(not_failed_before), *others)) if others else Check(not_failed_before)


def _same(state: StateView, facts: frozenset[Any]) -> bool:
    return len(state) == len(facts) and all(fact in state for fact in facts)
