"""Plan: what callers import."""

from __future__ import annotations

from .conditions import Check, Compare, Condition, Equal, Every, Exists, ForAll, Literal, Some
from .domain import Domain, Method, Operator, Problem, Task
from .effects import Change, Effect, When, parse_effect
from .errors import DomainError, HtnError, PlanError, ProblemError
from .execution import Action, Answer, Execution, Executor, Journal
from .forms import parse_condition
from .interface import (
    CHEAPEST,
    DEPTH,
    FOUND,
    GAVE_UP,
    LENGTH,
    NO_PLAN,
    TURNS,
    Budget,
    Choice,
    Plan,
    Reason,
    Result,
    Step,
)
from .numbers import Arithmetic, Number, parse_number
from .planner import HTNPlanner
from .state import StateView
from .terms import Parameter, Term, parse_term, term_text
from .tree import tree_text
from .verify import read_plan, verify

__all__ = [
    "CHEAPEST",
    "DEPTH",
    "FOUND",
    "GAVE_UP",
    "LENGTH",
    "NO_PLAN",
    "TURNS",
    "Action",
    "Answer",
    "Arithmetic",
    "Budget",
    "Change",
    "Check",
    "Choice",
    "Compare",
    "Condition",
    "Domain",
    "DomainError",
    "Effect",
    "Equal",
    "Every",
    "Execution",
    "Executor",
    "Exists",
    "ForAll",
    "HTNPlanner",
    "HtnError",
    "Journal",
    "Literal",
    "Method",
    "Number",
    "Operator",
    "Parameter",
    "Plan",
    "PlanError",
    "Problem",
    "ProblemError",
    "Reason",
    "Result",
    "Some",
    "StateView",
    "Step",
    "Task",
    "Term",
    "When",
    "parse_condition",
    "parse_effect",
    "parse_number",
    "parse_term",
    "read_plan",
    "term_text",
    "tree_text",
    "verify",
]
