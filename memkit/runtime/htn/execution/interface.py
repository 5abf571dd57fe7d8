"""Input and output of plan execution: actions, answers, observations, and the account of every step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..interface import Reason, Result, Step
from ..language.conditions import Literal
from ..language.data import parse_value, state_texts
from ..language.domain import Domain, Problem
from ..language.forms import parse_conditions
from ..language.operators import Operator
from ..language.terms import VARIABLE, HtnError, ProblemError, Term, is_variable, term_text

PENDING = "pending"
DONE = "done"
FAILED = "failed"
DENIED = "denied"
UNKNOWN = "unknown"
"""Status of a step that was started and never reported back, and of a run that waits for somebody to settle it."""

TOOL = "tool"
FUNCTION = "function"
MANUAL = "manual"


@dataclass(frozen=True)
class Action:
    """A step of a plan together with the means of carrying it out.

    >>> def act(action: Action) -> Answer:
    ...     return Answer(f"{action.number}. {action.step} ({action.key}): {action.arguments}")
    >>> planner = HTNPlanner(operators=[Operator("ring ?bell")])
    >>> planner.executor(act).run(planner.problem("ring door", [])).steps[0].result
    "1. ring door (run:1): {'bell': 'door'}"
    """

    step: Step
    operator: Operator
    number: int
    """The number of the step among those started in this run, from 1."""
    key: str
    """Identifies this attempt of this step in this run; a tool that stores it can recognise a repetition."""

    @property
    def kind(self) -> str:
        """Return whether a tool, a Python function, or only a person carries the step out."""
        if self.operator.tool:
            return TOOL
        return FUNCTION if self.operator.function is not None else MANUAL

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the step's arguments by parameter name."""
        names = [parameter.name.lstrip("?") for parameter in self.operator.parameters]
        if len(names) != len(self.step.args):
            names = [f"argument_{number}" for number in range(1, len(self.step.args) + 1)]
        return dict(zip(names, self.step.args, strict=True))

    @property
    def tool_arguments(self) -> dict[str, str] | None:
        """Return the operator's declared arguments for its tool, or None if it declares none."""
        if not self.operator.arguments:
            return None
        values = {f"?{name}": str(value) for name, value in self.arguments.items()}
        return {name: VARIABLE.sub(lambda found: values[found[0]], text) for name, text in self.operator.arguments}


class Planner(Protocol):
    """The source of an executor's plans."""

    @property
    def domain(self) -> Domain:
        """Return the operators and methods that it plans with."""

    def solve_problem(self, problem: Problem) -> Result:
        """Return the plan for a problem, or what prevented it."""

    def over(self, domain: Domain) -> Planner:
        """Return a planner like this one over another domain."""


class Answered(Protocol):
    """The answer to an action; the loop's outcome of a tool call is one."""

    @property
    def text(self) -> str:
        """Return the tool's output, or what went wrong."""

    @property
    def error(self) -> bool:
        """Return whether the action failed."""


@dataclass(frozen=True)
class Answer:
    """The answer to an action.

    >>> planner = HTNPlanner(operators=[Operator("ring ?bell")])
    >>> broken = planner.executor(lambda action: Answer("no current", error=True))
    >>> done = broken.run(planner.problem("ring door", []))
    >>> done.outcome, done.steps[0].reason
    ('failed', 'no current')
    """

    text: str = ""
    error: bool = False


Act = Callable[[Action], Answered]
"""Carries out an action. It is called once for each step that is started, and never again for one that was done."""
Objection = Callable[[Action], str | None]
"""Returns why an action may not be carried out, or None; it may ask a person first."""
Observe = Callable[[Action, Answered], Any]
"""Returns the facts observed after an action (see ``read_observation``), or None if nobody looked."""
Settle = Callable[[Action], str | None]
"""Returns whether a step that was started before a kill is ``done`` or ``failed``; None if nobody knows."""
Tell = Callable[[Mapping[str, Any]], None]


def call_function(action: Action) -> Answer:
    """Carry out an action by the operator's own function; a step without one counts as done."""
    if action.operator.function is None:
        return Answer("no tool or function is bound to this step, so it is taken as done")
    try:
        answer = action.operator.function(*action.step.args)
    except Exception as error:  # noqa: BLE001 - a function of the caller: whatever it raises, the step failed
        return Answer(str(error) or type(error).__name__, error=True)
    # Functions in the pyhop tradition return False if they could not act.
    return Answer("the function returned False", error=True) if answer is False else Answer(str(answer or "done"))


@dataclass
class StepRecord:
    """The outcome of one attempted step."""

    number: int
    step: Step
    kind: str
    tool: str | None
    key: str
    status: str = PENDING
    """done | failed | denied | unknown"""
    result: str = ""
    """An excerpt of the tool's output."""
    reason: str = ""
    """Why it failed or was denied."""
    observed: bool = False
    """Whether somebody looked; otherwise the state after the step is the predicted one."""
    added: tuple[Term, ...] = ()
    removed: tuple[Term, ...] = ()
    numbers: Mapping[Term, int | float] = field(default_factory=dict)
    unexpected: tuple[str, ...] = ()
    """What was observed but not predicted, such as ``not at shop``."""

    def to_data(self) -> dict[str, Any]:
        """Return the record as plain data."""
        return {
            "number": self.number,
            **self.step.to_data(),
            "by": self.kind,
            "tool": self.tool,
            "key": self.key,
            "status": self.status,
            "result": self.result,
            "reason": self.reason,
            "observed": self.observed,
            "changes": changes_data(self.added, self.removed, self.numbers),
            "unexpected": list(self.unexpected),
        }


@dataclass(frozen=True)
class Execution:
    """The outcome of a run, or its progress.

    >>> planner = HTNPlanner(operators=[Operator("open ?what", [], ["open ?what"])])
    >>> done = planner.executor().run(planner.problem("open window", []))
    >>> done.succeeded, done.completed, done.state
    (True, (Step(name='open', args=('window',)),), (('open', 'window'),))
    """

    run: str
    outcome: str
    """done | failed | denied | unknown | no_plan | gave_up"""
    result: Result
    """The plan that was found first, with its tree, or why there was none."""
    steps: tuple[StepRecord, ...] = ()
    """Every attempted step, in chronological order."""
    state: tuple[Term, ...] = ()
    """The facts that hold at the end, as observed or predicted."""
    numbers: Mapping[Term, int | float] = field(default_factory=dict)
    replans: int = 0
    reasons: tuple[Reason, ...] = ()
    """What ended a run prematurely."""

    @property
    def succeeded(self) -> bool:
        """Return whether every step of the last plan is done."""
        return self.outcome == DONE

    @property
    def completed(self) -> tuple[Step, ...]:
        """Return the steps that were done."""
        return tuple(record.step for record in self.steps if record.status == DONE)

    def to_data(self) -> dict[str, Any]:
        """Return the account as plain data."""
        return {
            "run": self.run,
            "outcome": self.outcome,
            "steps": [record.to_data() for record in self.steps],
            "completed": sum(record.status == DONE for record in self.steps),
            "replans": self.replans,
            "state": sorted(state_texts(self.state, self.numbers)),
            "reasons": [reason.to_data() for reason in self.reasons],
        }


def changes_data(
    added: tuple[Term, ...], removed: tuple[Term, ...], numbers: Mapping[Term, int | float]
) -> dict[str, Any]:
    """Return the changes of a step as texts."""
    return {
        "add": [term_text(fact) for fact in added],
        "remove": [term_text(fact) for fact in removed],
        "numbers": {term_text(fluent): value for fluent, value in numbers.items()},
    }


@dataclass(frozen=True)
class Observation:
    """Observed facts; others are as predicted, unless the whole state was seen."""

    holds: tuple[Term, ...] = ()
    not_holds: tuple[Term, ...] = ()
    complete: bool = False
    """Whether ``holds`` is everything that is true."""
    numbers: Mapping[Term, int | float] = field(default_factory=dict)
    """Observed values of numeric functions."""

    def truth(self, fact: Term) -> bool | None:
        """Return whether a fact was observed to hold, or not to hold, or None if it was not observed."""
        if fact in self.holds:
            return True
        return False if self.complete or fact in self.not_holds else None


def read_observation(value: Any, domain: Domain | None = None) -> Observation | None:
    """Return an observation given as a list (``["at shop", "not at home"]``), ``{"facts": …}`` or ``{"state": …}``.

    Raises:
        ProblemError: It is none of these, or mentions predicates that the domain does not have.

    >>> read_observation(["at shop", "not at home"])
    Observation(holds=(('at', 'shop'),), not_holds=(('at', 'home'),), complete=False, numbers={})
    >>> read_observation({"state": ["at shop"]}).truth(("at", "home"))
    False
    """
    if value is None or isinstance(value, Observation):
        return value
    known = {"facts", "state"}
    if isinstance(value, Mapping) and not (set(value) <= known and len(value) == 1):
        raise ProblemError(
            'An observation must be {"facts": [what was looked at]} or {"state": [everything that holds]}.'
        )
    complete = isinstance(value, Mapping) and "state" in value
    items = next(iter(value.values())) if isinstance(value, Mapping) else value
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise ProblemError(f"{str(items)!r:.60} is not a list of facts such as ['at shop', 'not at home'].")
    seen, numbers = [], {}
    for item in items:
        value_seen = _value_seen(item)
        if value_seen is None:
            seen.append(_fact(item, domain))
        else:
            numbers[value_seen[0]] = value_seen[1]
    contradicted = [fact for fact, positive in seen if positive and (fact, False) in seen]
    if contradicted:
        raise ProblemError(f"'{term_text(contradicted[0])}' was observed both to hold and not to hold.")
    if complete and not all(positive for _, positive in seen):
        raise ProblemError("A whole state lists only what holds. Leave out the rest.")
    return Observation(
        tuple(fact for fact, positive in seen if positive),
        tuple(fact for fact, positive in seen if not positive),
        complete,
        numbers,
    )


def _value_seen(item: Any) -> tuple[Term, int | float] | None:
    try:
        return parse_value(item)
    except HtnError as error:
        raise ProblemError(error.message) from None


def _fact(item: Any, domain: Domain | None) -> tuple[Term, bool]:
    try:
        conditions = parse_conditions([item])
    except HtnError as error:
        raise ProblemError(error.message) from None
    if len(conditions) != 1 or not isinstance(conditions[0], Literal):
        raise ProblemError(f"{str(item)!r:.60} is not a fact such as 'at shop' or 'not at home'.")
    literal = conditions[0]
    if any(is_variable(part) for part in literal.atom):
        raise ProblemError(f"'{term_text(literal.atom)}' was observed; a fact names objects, not variables.")
    arity = domain.predicates.get(str(literal.atom[0])) if domain and domain.predicates else ()
    if domain and domain.predicates and (arity is None or len(arity) != len(literal.atom) - 1):
        raise ProblemError(
            f"'{term_text(literal.atom)}' was observed, which is not a fact of the domain {domain.name}."
        )
    return literal.atom, literal.positive
