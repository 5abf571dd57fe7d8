"""The suites, in the order of the report."""

from __future__ import annotations

from closure.suites import access, cost, integrity, known_bugs, leaks, outages, poisoning, recall
from closure.suites.steps import load_steps
from closure.trial import Suite


def load_suites() -> dict[str, Suite]:
    """Return the suites by name."""
    steps = (load_steps("governance"), load_steps("deletion"))
    others = (integrity, poisoning, leaks, outages, recall, access, cost, known_bugs)
    ordered = (*steps, *(suite.SUITE for suite in others))
    return {suite.name: suite for suite in ordered}
