"""Say what a lint rule checks."""

from __future__ import annotations

from memkit.lint.interface import Rule
from memkit.lint.reports import rule_page
from memkit.lint.rules import get_rule


def explain_rule(code: str) -> tuple[Rule, str]:
    """Return the rule ``code`` and its page; raises ``UsageError`` with the nearest code."""
    rule = get_rule(code)
    return rule, rule_page(rule)
