"""What ``memkit plan`` prints of a plan, or of what stood in its way, and what ``--explain`` adds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from memkit.cli.output import Diagnostic, diagnostic
from memkit.runtime.htn.core import FOUND, GAVE_UP, Reason
from memkit.runtime.htn.explanation import choice_lines, obstacle_lines
from memkit.use_cases.plan_task import Planned

_MOST_LINES = 20
"""Reasons that are printed; ``--json`` has more."""


def explanation_data(planned: Planned) -> list[dict[str, Any]]:
    """Return how far each method came, or for each node of the tree which methods were passed over, and why."""
    if planned.obstacles is not None:
        return [obstacle.to_data() for obstacle in planned.obstacles]
    passed_over = (planned.passed_over or {}).items()
    return [{"id": id, "passed_over": [each.to_data() for each in found]} for id, found in passed_over if found]


def reason_findings(reasons: Iterable[Reason]) -> list[Diagnostic]:
    """Return the reasons of a negative answer as diagnostics."""
    return [diagnostic(reason.code, str(reason)) for reason in reasons]


def plan_lines(planned: Planned, explain: bool) -> list[str]:
    """Return the steps of a plan, or its tree where that was asked for; without a plan what stood in its way."""
    result = planned.result
    if result.outcome == FOUND and result.plan is not None:
        steps = [f"{number}. {step}" for number, step in enumerate(result.plan, 1)]
        shown = list(choice_lines(result.tree, planned.passed_over or {})) if explain and result.tree else steps
        return shown or ["Nothing needs to be done."]
    head = "Gave up; there may be a plan." if result.outcome == GAVE_UP else "No plan."
    if planned.obstacles:
        return [head, *obstacle_lines(planned.obstacles)]
    told = [f"- {reason}" for reason in result.reasons]
    more = [f"and {len(told) - _MOST_LINES} more; --explain shows them as a tree"] * (len(told) > _MOST_LINES)
    return [head, *told[:_MOST_LINES], *more]
