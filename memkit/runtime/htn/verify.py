"""Check a plan against domain and problem without any of the code that searches for plans.

First the steps are carried out one by one, and the goal is looked at; then it is asked whether the tasks decompose
into exactly these steps, in one of the orders that methods and problem allow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from .conditions import bound
from .domain import Domain, Method, Operator, Problem
from .errors import HtnError, PlanError
from .evaluation import Impossible, Members, StepState, arguments, shortfall
from .interface import Budget, Reason, Step
from .objects import typed_objects
from .parsing import Parser
from .terms import ROOT_TYPE, parse_term
from .wording import one_of

_UNBOUNDED = Budget(nodes=None, seconds=None)


def read_plan(value: object) -> list[Step]:
    """Return the steps of a plan given as texts, tuples, or mappings with ``name`` and ``args``."""
    items = value.get("plan") if isinstance(value, Mapping) else value
    if not isinstance(items, list | tuple):
        raise PlanError("A plan is a list of steps, such as [{name: go, args: [home, shop]}].")
    steps = []
    for number, item in enumerate(items, 1):
        try:
            name, *args = parse_term(item)
        except HtnError as error:
            raise PlanError(f"Step {number}: {error}") from None
        steps.append(Step(name, tuple(args)))
    return steps


def verify(
    domain: Domain,
    problem: Problem,
    plan: Sequence[Step],
    *,
    decomposition: bool = True,
    extra: Sequence[Method] = (),
    budget: Budget | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> list[Reason]:
    """Return what is wrong with a plan; an empty list means that it is a solution.

    ``extra`` are further methods that may be used, such as learned ones; with ``decomposition=False`` only the steps
    are carried out. Where the ``budget`` is spent, the one reason has the code ``budget``, and the plan may be a
    solution; nodes are ways to begin a task or to go on with it.
    """
    objects = typed_objects(domain, problem)
    wrong = list(_execute(domain, problem, plan, objects))
    if wrong or not decomposition:
        return wrong
    return Parser(domain, problem, plan, objects, extra, budget or _UNBOUNDED, clock).run()


def _execute(domain: Domain, problem: Problem, plan: Sequence[Step], objects: Members) -> Iterator[Reason]:
    operators = {operator.name: operator for operator in domain.operators}
    state = StepState(problem, objects)
    for number, step in enumerate(plan, 1):
        operator = operators.get(step.name)
        fault = step_fault(operator, step, state, objects)
        if operator is not None and fault is None:
            try:
                state.advance(operator, step)
            except Impossible as error:
                fault = str(error)
        if fault is not None:
            yield Reason("step", f"step {number}, {step}: {fault}", str(step))
            return
    for condition in problem.goal:
        unmet = shortfall(condition, {}, state, ())
        if unmet is not None:
            yield Reason("goal", f"the goal is not reached: {unmet}", condition=str(condition))


def step_fault(operator: Operator | None, step: Step, state: StepState, objects: Members) -> str | None:
    """Return why a step cannot be taken in a state, or None."""
    if operator is None:
        return f"no operator is called {step.name}"
    misfit = call_fault(operator, step, objects)
    if misfit is not None:
        return misfit[1]
    unmet = unmet_condition(operator, step, state)
    return None if unmet is None else unmet[1]


def call_fault(operator: Operator, step: Step, objects: Members) -> tuple[str, str] | None:
    """Return a code and words for why the arguments of a step do not fit its operator, or None where they do."""
    if operator.any_arguments:
        return None
    if len(step.args) != len(operator.parameters):
        return "arity", f"{step.name} takes {len(operator.parameters)} arguments, not {len(step.args)}"
    for parameter, arg in zip(operator.parameters, step.args, strict=True):
        if parameter.type != ROOT_TYPE and arg not in objects.get(parameter.type, {}):
            return "type", f"{arg} is not {one_of(parameter.type)}"
    return None


def unmet_condition(operator: Operator, step: Step, state: StepState) -> tuple[str, str] | None:
    """Return the first precondition that a step lacks, as text and in words, or None where it lacks none."""
    binding = arguments(operator, step)
    for condition in operator.preconditions:
        words = shortfall(condition, binding, state, step.args)
        if words is not None:
            return str(bound(condition, binding)), words
    return None
