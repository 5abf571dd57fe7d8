"""The suites, in the order of the report."""

from __future__ import annotations

from closure.suites.steps import load_steps
from closure.trial import Suite


def load_suites() -> dict[str, Suite]:
    """Return the suites by name."""
    return {suite.name: suite for suite in (load_steps("governance"),)}
