"""The planner's interface: steps, results, reasons, budgets, and what it asks of a model."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, Protocol

from .language.terms import HtnError, Term, term_text

FOUND = "found"
"""The outcome of a search that found a plan.

>>> HTNPlanner(operators=[Operator("wave")]).solve("wave").outcome == FOUND
True
"""
NO_PLAN = "no_plan"
"""The outcome of a search that has proved that there is no plan.

>>> result = HTNPlanner(operators=[Operator("open ?door", ["unlocked ?door"])]).solve("open gate", [])
>>> result.outcome == NO_PLAN, str(result.reasons[0])
(True, "open gate: 'unlocked gate' does not hold")
"""
GAVE_UP = "gave_up"
"""The outcome of a search that exhausted its budget; there may be a plan.

>>> result = HTNPlanner(operators=[Operator("wave")], budget=Budget(nodes=2)).solve(["wave", "wave", "wave"])
>>> result.outcome == GAVE_UP, str(result.reasons[0])
(True, 'gave up after 2 nodes')
"""

TURNS = "turns"
"""Depth first; if that backtracks often, alternating with iterative deepening, random restarts, and tables of what
each task can end in, which also prove that there is no plan if a recursion never ends.

>>> endless = Method("around", "rest", [], ["circle", "rest"])
>>> ways = [endless, Method("sit", "rest", [], ["sit_down"])]
>>> planner = HTNPlanner(ways, [Operator("circle"), Operator("sit_down")])
>>> [str(step) for step in planner.generate("rest")]
['sit_down']
"""
DEPTH = "depth"
"""Depth first only, in the order of the domain.

>>> ways = [Method("by_taxi", "go ?to", [], ["taxi ?to"]), Method("by_foot", "go ?to", [], ["walk ?to"])]
>>> str(HTNPlanner(ways, [Operator("taxi ?to"), Operator("walk ?to")], strategy=DEPTH).generate("go park")[0])
'taxi park'
"""
LENGTH = "length"
"""Depth first with few pending tasks, then with twice as many (iterative deepening).

>>> endless = Method("around", "rest", [], ["circle", "rest"])
>>> ways = [endless, Method("sit", "rest", [], ["sit_down"])]
>>> planner = HTNPlanner(ways, [Operator("circle"), Operator("sit_down")], strategy=LENGTH)
>>> [str(step) for step in planner.generate("rest")]
['sit_down']
"""
CHEAPEST = "cheapest"
"""The plan with the lowest total cost (branch and bound).

>>> ways = [Method("by_taxi", "go ?to", [], ["taxi ?to"]), Method("by_foot", "go ?to", [], ["walk ?to"])]
>>> steps = [Operator("taxi ?to", cost=12), Operator("walk ?to", cost=1)]
>>> HTNPlanner(ways, steps).generate("go park"), HTNPlanner(ways, steps, strategy=CHEAPEST).generate("go park")
([Step(name='taxi', args=('park',))], [Step(name='walk', args=('park',))])
"""


@dataclass(frozen=True)
class Step:
    """One action of a plan.

    >>> str(Step("go", ("home", "shop"))), Step("go", ("home", "shop")).to_data()
    ('go home shop', {'name': 'go', 'args': ['home', 'shop']})
    """

    name: str
    args: Term = ()

    def __str__(self) -> str:
        return term_text((self.name, *self.args))

    def to_data(self) -> dict[str, Any]:
        """Return the step as plain data."""
        return {"name": self.name, "args": list(self.args)}


Plan = list[Step]
"""The steps that do a task, in order.

>>> plan: Plan = HTNPlanner(operators=[Operator("wave ?to")]).generate("wave ada")
>>> plan
[Step(name='wave', args=('ada',))]
"""
Node = Mapping[str, Any]
"""A node of a decomposition tree: ``id``, ``parent``, ``task``, ``name``, ``args``, and what was chosen for it."""


@dataclass(frozen=True)
class Reason:
    """Why something did not work, in words, with the task and condition concerned.

    >>> planner = HTNPlanner(operators=[Operator("open ?door", ["unlocked ?door"])])
    >>> planner.generate("open gate", [])
    >>> reason = planner.last_result.reasons[0]
    >>> reason.code, reason.task, reason.condition
    ('condition', 'open gate', 'unlocked gate')
    """

    code: str
    """condition | type | arity | unknown | loop | budget | proposal | order"""
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
    """How much a search may spend before it gives up; ``None`` means no limit.

    >>> for nodes in (2, 20):
    ...     planner = HTNPlanner(operators=[Operator("wave")], budget=Budget(nodes=nodes))
    ...     planner.solve(["wave", "wave", "wave"]).outcome
    'gave_up'
    'found'
    """

    nodes: int | None = 1_000_000
    depth: int | None = 200_000
    """Limit on steps and decompositions in one line of the search."""
    seconds: float | None = 30.0
    clock: Callable[[], float] = field(default=time.monotonic, compare=False)
    """The clock for the seconds."""

    def __post_init__(self) -> None:
        if self.seconds is not None and isnan(self.seconds):
            raise HtnError("nan is not a number of seconds: the time would never be up. Give a number, or None.")


@dataclass(frozen=True)
class Result:
    """The result of a search.

    >>> planner = HTNPlanner([Method("greet", "meet ?who", [], ["wave ?who"])], [Operator("wave ?who")])
    >>> result = planner.solve("meet ada")
    >>> result.found, [(node["task"], node.get("method")) for node in result.tree]
    (True, [('meet ada', 'greet'), ('wave ada', None)])
    """

    outcome: str
    """found | no_plan | gave_up; a search that gave up has proved nothing about whether a plan exists."""
    plan: Plan | None = None
    tree: Sequence[Mapping[str, Any]] = ()
    """The decomposition as nodes in preorder, each with ``id`` and ``parent``; flat, so that depth is unlimited."""
    reasons: tuple[Reason, ...] = ()
    nodes: int = 0
    proposals: Mapping[str, int] = field(default_factory=dict)
    """How many proposals of the model were ``accepted`` and ``rejected``."""
    cost: float | None = None
    """The cost of the plan, if the cheapest was searched for."""

    @property
    def found(self) -> bool:
        """Return whether there is a plan."""
        return self.outcome == FOUND

    def to_data(self) -> dict[str, Any]:
        """Return the result as plain data, with ``cost`` if the cheapest plan was searched for and found."""
        data: dict[str, Any] = {
            "outcome": self.outcome,
            "plan": None if self.plan is None else [step.to_data() for step in self.plan],
            "tree": [dict(node) for node in self.tree],
            "reasons": [reason.to_data() for reason in self.reasons],
        }
        return data if self.cost is None else {**data, "cost": self.cost}


@dataclass(frozen=True)
class Choice:
    """A way to do a task, as passed to a ranking function.

    >>> def fewest_subtasks(task: Term, choice: Choice, state: object) -> int:
    ...     return len(choice.subtasks)
    >>> ways = [Method("long", "greet", [], ["bow", "wave"]), Method("short", "greet", [], ["wave"])]
    >>> planner = HTNPlanner(ways, [Operator("bow"), Operator("wave")], strategy=RankedStrategy(fewest_subtasks))
    >>> [str(step) for step in planner.generate("greet")]
    ['wave']
    """

    method: str
    bindings: Mapping[str, Any]
    subtasks: Sequence[Term]


class Rank(Protocol):
    """Decides which way to do a task is tried first."""

    def __call__(self, task: Term, choice: Choice, state: Any, /) -> Any:
        """Return a sort key: the lowest is tried first, ways with equal keys in the order of the domain."""


@dataclass(frozen=True)
class RankedStrategy:
    """A strategy that tries the ways to do a task in the order of ``rank(task, choice, state)``.

    >>> ways = [Method("by_taxi", "go ?to", [], ["taxi ?to"]), Method("by_foot", "go ?to", [], ["walk ?to"])]
    >>> by_foot_first = RankedStrategy(lambda task, choice, state: choice.method != "by_foot", strategy=DEPTH)
    >>> planner = HTNPlanner(ways, [Operator("taxi ?to"), Operator("walk ?to")], strategy=by_foot_first)
    >>> [str(step) for step in planner.generate("go park")]
    ['walk park']
    """

    rank: Rank
    strategy: str = TURNS


class Decomposer(Protocol):
    """Proposes subtasks for a task that no method fits, for example a language model."""

    def __call__(self, task: Any, state: Any, /) -> Sequence[Any] | None:
        """Return subtasks as texts or tuples; invalid ones are rejected."""
