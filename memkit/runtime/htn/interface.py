"""What the planner promises: steps, results, reasons, budgets, and what it asks of a model."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, Protocol

from .errors import HtnError
from .language.terms import Term, term_text

FOUND = "found"
NO_PLAN = "no_plan"
GAVE_UP = "gave_up"

TURNS = "turns"
"""Depth first, and where that turns back often, in turns with length by length, random restarts, and tables of what
each task can end in, which also show that there is no plan where a recursion never ends."""
DEPTH = "depth"
"""Depth first only, in the order of the domain."""
LENGTH = "length"
"""Depth first with few tasks waiting at a time, then with twice as many (iterative deepening)."""
CHEAPEST = "cheapest"
"""The plan whose steps cost least in all (branch and bound)."""


@dataclass(frozen=True)
class Step:
    """One action of a plan."""

    name: str
    args: Term = ()

    def __str__(self) -> str:
        return term_text((self.name, *self.args))

    def to_data(self) -> dict[str, Any]:
        """Return the step as plain data."""
        return {"name": self.name, "args": list(self.args)}


Plan = list[Step]
Node = Mapping[str, Any]
"""A node of a decomposition tree: ``id``, ``parent``, ``task``, ``name``, ``args``, and what was chosen for it."""


@dataclass(frozen=True)
class Reason:
    """Why something did not work, in words, with what it is about."""

    code: str
    """condition | type | arity | unknown | loop | budget | proposal"""
    message: str
    task: str | None = None
    method: str | None = None
    condition: str | None = None

    def __str__(self) -> str:
        return self.message

    def to_data(self) -> dict[str, Any]:
        """Return the reason as plain data without empty keys."""
        return {key: value for key, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Budget:
    """How much a search may spend before it gives up; ``None`` sets no bound."""

    nodes: int | None = 1_000_000
    depth: int | None = 200_000
    """Steps and decompositions in one line of the search."""
    seconds: float | None = 30.0
    clock: Callable[[], float] = field(default=time.monotonic, compare=False)
    """What the seconds are counted on."""

    def __post_init__(self) -> None:
        if self.seconds is not None and isnan(self.seconds):
            raise HtnError("nan is no number of seconds: no time would ever be up. Give a number, or None.")


@dataclass(frozen=True)
class Result:
    """What came of a search."""

    outcome: str
    """found | no_plan | gave_up; a search that gave up has shown nothing about whether a plan exists."""
    plan: Plan | None = None
    tree: Sequence[Mapping[str, Any]] = ()
    """The decomposition as nodes in preorder, each with ``id`` and ``parent``; flat, so that depth has no limit."""
    reasons: tuple[Reason, ...] = ()
    nodes: int = 0
    proposals: Mapping[str, int] = field(default_factory=dict)
    """How many proposals of the model were ``accepted`` and ``rejected``."""
    cost: float | None = None
    """What the plan costs, where the cheapest was looked for."""

    @property
    def found(self) -> bool:
        """Return whether there is a plan."""
        return self.outcome == FOUND

    def to_data(self) -> dict[str, Any]:
        """Return the result as plain data, with ``cost`` where the cheapest plan was looked for and one was found."""
        data: dict[str, Any] = {
            "outcome": self.outcome,
            "plan": None if self.plan is None else [step.to_data() for step in self.plan],
            "tree": [dict(node) for node in self.tree],
            "reasons": [reason.to_data() for reason in self.reasons],
        }
        return data if self.cost is None else {**data, "cost": self.cost}


@dataclass(frozen=True)
class Choice:
    """A way to do a task, as a ranking function sees it."""

    method: str
    bindings: Mapping[str, Any]
    subtasks: Sequence[Term]


class Rank(Protocol):
    """Something that says which way to do a task is to be tried first."""

    def __call__(self, task: Term, choice: Choice, state: Any, /) -> Any:
        """Return a value to sort by: the lowest first, and ways of the same value in the order of the domain."""


@dataclass(frozen=True)
class RankedStrategy:
    """A strategy that tries the ways to do a task in the order of what ``rank(task, choice, state)`` gives."""

    rank: Rank
    strategy: str = TURNS


class Decomposer(Protocol):
    """Something that proposes subtasks for a task that no method fits, such as a language model."""

    def __call__(self, task: Any, state: Any, /) -> Sequence[Any] | None:
        """Return subtasks as texts or tuples; anything that does not hold up is rejected."""
