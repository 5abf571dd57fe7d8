"""The planning room's public names."""

from __future__ import annotations

from .compiling.state import StateView
from .execution.course import Journal
from .execution.executor import Executor
from .execution.interface import Action, Answer, Execution
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
    RankedStrategy,
    Reason,
    Result,
    Step,
)
from .language.conditions import Check, Compare, Condition, Equal, Every, Exists, ForAll, Literal, Some
from .language.domain import Domain, Problem
from .language.forms import parse_condition
from .language.methods import Method, Task
from .language.operators import Change, Effect, Operator, When, parse_effect
from .language.terms import (
    Arithmetic,
    DomainError,
    HtnError,
    Number,
    Parameter,
    PlanError,
    ProblemError,
    Term,
    parse_number,
    parse_term,
    term_text,
)
from .learning.proposals import Consultation
from .planner import HTNPlanner, llm_decompose
from .search.search import tree_text
from .verification.verify import read_plan, verify

__all__ = [
    "CHEAPEST", "DEPTH", "FOUND", "GAVE_UP", "LENGTH", "NO_PLAN", "TURNS", "Action", "Answer", "Arithmetic", "Budget",
    "Change", "Check", "Choice", "Compare", "Condition", "Consultation", "Domain", "DomainError", "Effect", "Equal",
    "Every", "Execution", "Executor", "Exists", "ForAll", "HTNPlanner", "HtnError", "Journal", "Literal", "Method",
    "Number", "Operator", "Parameter", "Plan", "PlanError", "Problem", "ProblemError", "RankedStrategy", "Reason",
    "Result", "Some", "StateView", "Step", "Task", "Term", "When", "llm_decompose", "parse_condition", "parse_effect",
    "parse_number", "parse_term", "read_plan", "term_text", "tree_text", "verify",
]  # fmt: skip
