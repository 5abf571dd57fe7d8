"""Plan: what callers import."""

from __future__ import annotations

from .conditions import Check, Equal, Literal
from .domain import Domain, Method, Operator, Problem, Task
from .errors import DomainError, HtnError, PlanError, ProblemError
from .interface import FOUND, GAVE_UP, NO_PLAN, Budget, Plan, Reason, Result, Step
from .planner import HTNPlanner
from .state import StateView
from .terms import Parameter, Term, parse_term, term_text
from .tree import tree_text
from .verify import read_plan, verify

__all__ = [
    "FOUND",
    "GAVE_UP",
    "NO_PLAN",
    "Budget",
    "Check",
    "Domain",
    "DomainError",
    "Equal",
    "HTNPlanner",
    "HtnError",
    "Literal",
    "Method",
    "Operator",
    "Parameter",
    "Plan",
    "PlanError",
    "Problem",
    "ProblemError",
    "Reason",
    "Result",
    "StateView",
    "Step",
    "Task",
    "Term",
    "parse_term",
    "read_plan",
    "term_text",
    "tree_text",
    "verify",
]
