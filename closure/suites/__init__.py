"""The suites, in the order of the report."""

from __future__ import annotations

from closure.suites import cost, crash, integrity, known_bugs, leaks, poisoning, recall
from closure.suites.steps import load_steps
from closure.trial import Suite


def load_suites() -> dict[str, Suite]:
    """Return the suites by name."""
    ordered = (load_steps("governance"), load_steps("deletion"), integrity.SUITE, poisoning.SUITE, leaks.SUITE, crash.SUITE,
               recall.SUITE, cost.SUITE, known_bugs.SUITE)  # fmt: skip
    return {suite.name: suite for suite in ordered}
