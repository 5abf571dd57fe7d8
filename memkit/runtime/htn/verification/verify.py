"""Checks a plan against domain and problem without any of the code that searches for plans.

First the steps are carried out one by one, and the goal is tested. Then it is checked whether the tasks decompose into
exactly these steps, in the way a parser finds out whether a sentence has a derivation.

Every task at every position of the plan has a set of positions at which it can end, and notifies its waiters of new
ones (Earley 1970). Because the plan is given, the state at each position is known, so this works for recursion of
any shape and needs no stack. A task that calls itself last is not notified of every end of its successors one by one:
the first that can use an end is notified directly (Leo 1991), so such plans take linear time too. A variable that
occurs only in subtasks stays unbound until the first of them is to be done: a step finds its value in the plan.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from ..interface import Budget, Reason, Step
from ..language.conditions import Condition, Literal, bound, condition_variables, conjuncts
from ..language.domain import Domain, Problem, left_out
from ..language.methods import Method, Ordering, computed_subtasks, done_before
from ..language.objects import typed_objects
from ..language.operators import Operator
from ..language.terms import (
    ROOT_TYPE,
    HtnError,
    Members,
    PlanError,
    Term,
    counted,
    ground,
    one_of,
    parse_term,
    term_text,
    variables_of,
)
from .evaluation import Binding, Impossible, StepState, arguments, holds, shortfall, unified

_UNBOUNDED = Budget(nodes=None, seconds=None)


def read_plan(value: object) -> list[Step]:
    """Return the steps of a plan given as texts, tuples, or mappings with ``name`` and ``args``.

    >>> read_plan(["go home shop", {"name": "wave", "args": ["ada"]}])
    [Step(name='go', args=('home', 'shop')), Step(name='wave', args=('ada',))]
    """
    items = value.get("plan") if isinstance(value, Mapping) else value
    if not isinstance(items, list | tuple):
        raise PlanError("A plan must be a list of steps: [{name: go, args: [home, shop]}].")
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
) -> list[Reason]:
    """Return what is wrong with a plan; an empty list means that it is a solution.

    ``extra`` are additional methods that may be used, such as learned ones; with ``decomposition=False`` only the steps
    are carried out. If the ``budget`` is spent, the only reason has the code ``budget``, and the plan may be a
    solution; nodes are ways to begin or continue a task.

    >>> planner = HTNPlanner(operators=[Operator("open ?door", ["unlocked ?door"], ["open ?door"])])
    >>> problem = planner.problem("open gate", ["unlocked gate"])
    >>> verify(planner.domain, problem, read_plan(["open gate"]))
    []
    >>> [str(reason) for reason in verify(planner.domain, problem, read_plan(["open door"]))]
    ["step 1, open door: 'unlocked door' does not hold"]
    """
    objects = typed_objects(domain, problem)
    wrong = list(_execute(domain, problem, plan, objects))
    if wrong or not decomposition:
        return wrong
    return Parser(domain, problem, plan, objects, extra, budget or _UNBOUNDED).run()


def _execute(domain: Domain, problem: Problem, plan: Sequence[Step], objects: Members) -> Iterator[Reason]:
    operators = domain.steps
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
        return f"no operator is named {step.name}"
    misfit = call_fault(operator, step, objects)
    if misfit is not None:
        return misfit[1]
    unmet = unmet_condition(operator, step, state)
    return None if unmet is None else unmet[1]


def call_fault(operator: Operator, step: Step, objects: Members) -> tuple[str, str] | None:
    """Return a code and a text for why a step's arguments do not fit its operator, or None if they do."""
    if operator.any_arguments:
        return None
    if len(step.args) != len(operator.parameters):
        return "arity", f"{step.name} takes {len(operator.parameters)} arguments, not {len(step.args)}"
    for parameter, arg in zip(operator.parameters, step.args, strict=True):
        if parameter.type != ROOT_TYPE and arg not in objects.get(parameter.type, {}):
            return "type", f"{arg} is not {one_of(parameter.type)}"
    return None


def unmet_condition(operator: Operator, step: Step, state: StepState) -> tuple[str, str] | None:
    """Return the first unmet precondition of a step, as text and in words, or None if there is none."""
    binding = arguments(operator, step)
    for condition in operator.preconditions:
        words = shortfall(condition, binding, state, step.args)
        if words is not None:
            return str(bound(condition, binding)), words
    return None


Place = tuple[Term, int]
_ROOT: Place = (("", "root"), 0)
_LOOK_AT_CLOCK_EVERY = 256
_Item = TypeVar("_Item")


class _Stopped(Exception):
    """Stop because the budget is spent."""


class _Meter:
    """Counts what is examined, and stops at the limit."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._end = None if budget.seconds is None else time.monotonic() + budget.seconds
        self._count = 0

    def each(self, items: Iterable[_Item]) -> Iterator[_Item]:
        for item in items:
            self._count += 1
            if self._budget.nodes is not None and self._count > self._budget.nodes:
                raise _Stopped(f"gave up after {counted(self._budget.nodes, 'node')}")
            if self._end is not None and self._count % _LOOK_AT_CLOCK_EVERY == 0 and time.monotonic() >= self._end:
                raise _Stopped(f"gave up after {self._budget.seconds:g} seconds")
            yield item


@dataclass(eq=False)
class _Network:
    """What the subtasks of one task have in common, regardless of progress."""

    owner: Place
    before: Sequence[int] | None = None
    """For each subtask those done before it, as bits; None if they are totally ordered."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """The types of variables that may still occur in subtasks."""


@dataclass(frozen=True)
class _Row:
    """A partially completed network: the number of subtasks done in sequence, or which ones, as bits."""

    network: _Network
    subtasks: tuple[Term, ...]
    done: int = 0

    @property
    def is_complete(self) -> bool:
        return self.done == (len(self.subtasks) if self.network.before is None else (1 << len(self.subtasks)) - 1)

    def next(self) -> Iterator[tuple[Term, _Row]]:
        before, done = self.network.before, self.done
        if before is None:
            yield self.subtasks[done], _Row(self.network, self.subtasks, done + 1)
            return
        for position, subtask in enumerate(self.subtasks):
            if not done >> position & 1 and before[position] & ~done == 0:
                yield subtask, _Row(self.network, self.subtasks, done | 1 << position)

    def bound(self, binding: Binding) -> _Row:
        return _Row(self.network, tuple(ground(each, binding) for each in self.subtasks), self.done)


def _begun(
    owner: Place, subtasks: Sequence[Term], ordering: Ordering | None, kinds: Mapping[str, str] | None = None
) -> _Row:
    before = None if ordering is None else done_before(ordering, subtasks)
    return _Row(_Network(owner, before, kinds or {}), tuple(subtasks))


@dataclass
class _Entry:
    """A task at a position of the plan: where it can end, and the rows waiting for that."""

    ends: dict[int, None] = field(default_factory=dict)
    waiting: list[_Row] = field(default_factory=list)
    told: Place | None = None
    """Who is notified of ends instead of this task, once everything waiting for it is known."""


class Parser:
    """Works through a plan from its first position to its last, with the state moving along."""

    def __init__(
        self,
        domain: Domain,
        problem: Problem,
        plan: Sequence[Step],
        objects: Members,
        extra: Sequence[Method],
        budget: Budget,
    ) -> None:
        """Set up; ``budget`` limits what is examined."""
        self.operators = domain.steps
        self.left_out = partial(left_out, problem, domain, extra)
        self.methods: dict[str, list[Method]] = {}
        for method in (*domain.methods, *extra):
            self.methods.setdefault(method.task, []).append(method)
        self.root = _begun(_ROOT, problem.tasks, problem.ordering)
        self.steps = plan
        self.plan = [(step.name, *step.args) for step in plan]
        self.objects = objects
        self.state = StepState(problem, objects)
        self.entries: dict[Place, _Entry] = {_ROOT: _Entry()}
        self.agenda: list[deque[_Row]] = [deque() for _ in range(len(plan) + 1)]
        self._meter = _Meter(budget)
        self.met: set[_Row] = set()
        """Rows of unordered networks met at this position; other orders lead to the same row."""

    def run(self) -> list[Reason]:
        """Return nothing if the tasks decompose into the plan, else how far they do, or that the budget is spent."""
        tasks = ", ".join(term_text(task) for task in self.root.subtasks)
        try:
            furthest = self._furthest()
        except _Stopped as stopped:
            words = (
                f"{stopped}: every step can be done, but it is unknown whether methods decompose '{tasks}' into them"
            )
            return [Reason("budget", words, tasks)]
        if len(self.plan) in self.entries[_ROOT].ends:
            return []
        agree = f"they agree with the plan up to step {furthest}" if furthest else "not even the first step matches"
        words = f"every step can be done, but no methods decompose '{tasks}' into these steps; {agree}"
        words = "; ".join(filter(None, [words, self.left_out()]))
        return [Reason("decomposition", words, tasks)]

    def _furthest(self) -> int:
        """Work through the plan, and return the last position that some decomposition reaches."""
        furthest = 0
        self.agenda[0].append(self.root)
        for position, rows in enumerate(self.agenda):
            self.met.clear()
            for row in self._meter.each(_taken(rows)):
                furthest = position
                self._proceed(row, position)
            if position < len(self.plan):
                self.state.advance(self.operators[self.steps[position].name], self.steps[position])
        return furthest

    def _proceed(self, row: _Row, position: int) -> None:
        if row.network.before is not None:
            if row in self.met:
                return
            self.met.add(row)
        if row.is_complete:
            self._end(row.network.owner, position)
            return
        for task, following in row.next():
            for binding in self._values(task, row.network.kinds, position):
                if binding:
                    self._do(ground(task, binding), following.bound(binding), position)
                else:
                    self._do(task, following, position)

    def _values(self, task: Term, kinds: Mapping[str, str], position: int) -> Iterator[Binding]:
        """Yield values for a task's unbound variables: those of the plan's step, or all that exist."""
        names = variables_of(task)
        if not names:
            yield {}
        elif task[0] not in self.operators:
            yield from self._meter.each(self.state.assigned(names, {}, kinds))
        elif position < len(self.plan):
            binding = unified(task, self.plan[position], {})
            # Something that occurs only in the plan is not an object.
            if binding is not None and all(
                self.state.is_a(value, kinds.get(name, ROOT_TYPE)) and value in self.objects[ROOT_TYPE]
                for name, value in binding.items()
            ):
                yield binding

    def _do(self, task: Term, following: _Row, position: int) -> None:
        """Continue with ``following`` wherever ``task``, begun here, can end."""
        if task[0] in self.operators:
            if position < len(self.plan) and self.plan[position] == task:
                self.agenda[position + 1].append(following)
            return
        key = (task, position)
        if key not in self.entries:
            self.entries[key] = _Entry()
            found = self._decompositions(task, position)
            self.agenda[position].extend(_begun(key, subtasks, order, kinds) for subtasks, order, kinds in found)
        entry = self.entries[key]
        entry.waiting.append(following)
        for end in entry.ends:
            self.agenda[end].append(following)

    def _end(self, owner: Place, position: int) -> None:
        entry = self.entries[owner if position == owner[1] else self._told(owner)]
        if position not in entry.ends:
            entry.ends[position] = None
            self.agenda[position].extend(entry.waiting)

    def _told(self, place: Place) -> Place:
        """Return who is to be notified that a task ended, if each of its ends is also an end of that task.

        Only for tasks that began earlier: further waiters arrive while a task's first position is processed.
        """
        passed: dict[Place, None] = {}
        while place not in passed:
            entry = self.entries[place]
            if entry.told is not None:
                place = entry.told
                break
            passed[place] = None
            owners = {row.network.owner if row.is_complete else None for row in entry.waiting}
            owner = owners.pop() if len(owners) == 1 else None
            if owner is None:
                break
            place = owner
        for each in passed:
            self.entries[each].told = place
        return place

    def _decompositions(
        self, task: Term, position: int
    ) -> Iterator[tuple[Sequence[Term], Ordering | None, Mapping[str, str]]]:
        """Yield the subtasks of every way to do a task from here, their order, and the types of unbound variables."""
        for method in self.methods.get(task[0], ()):
            kinds = {p.name: p.type for p in method.variables}
            binding = self._with_first_steps(method, self._head_binding(method, task[1:]), position)
            for each in () if binding is None else self._bindings(method, binding, kinds, task[1:]):
                if not callable(method.subtasks):
                    yield [ground(step, each) for step in method.subtasks], method.ordering, kinds
                    continue
                given = computed_subtasks(self.state.ask(method.subtasks, task[1:]), method.name)
                if given is not None:
                    yield given, None, {}

    def _head_binding(self, method: Method, args: Term) -> Binding | None:
        if method.any_arguments:
            return {}
        if len(args) != len(method.head.args):
            return None
        binding = unified(method.head.args, args, {})
        fits = binding is not None and all(self.state.is_a(binding[p.name], p.type) for p in method.head.parameters)
        return binding if fits else None

    def _with_first_steps(self, method: Method, binding: Binding | None, position: int) -> Binding | None:
        """Return a binding with what the plan says about the first operators of a method, None if it says no."""
        if binding is None or callable(method.subtasks) or method.ordering is not None:
            return binding
        for at, subtask in enumerate(method.subtasks, position):
            if subtask[0] not in self.operators:
                break
            binding = unified(subtask, self.plan[at], binding) if at < len(self.plan) else None
            if binding is None:
                return None
        # Something that occurs only in the plan is not an object.
        return binding if all(value in self.objects[ROOT_TYPE] for value in binding.values()) else None

    def _bindings(self, method: Method, binding: Binding, kinds: Mapping[str, str], args: Term) -> Iterator[Binding]:
        """Yield every extension of a binding under which the method's preconditions hold now."""
        rows: list[Binding] = [binding]
        left = list(conjuncts(method.preconditions))
        while left and rows:
            condition = min(left, key=lambda each: _cost(each, rows[0]))
            left = [each for each in left if each is not condition]
            rows = [wider for row in rows for wider in self._meter.each(self._satisfied(condition, row, args, kinds))]
        for row in rows:
            if all(self.state.is_a(row[name], kind) for name, kind in kinds.items() if name in row):
                yield row

    def _satisfied(self, condition: Condition, row: Binding, args: Term, kinds: Mapping[str, str]) -> Iterable[Binding]:
        if isinstance(condition, Literal) and condition.positive:
            return self.state.matches(condition.atom, row)
        rows = self._meter.each(self.state.assigned(condition_variables(condition), row, kinds))
        return (wider for wider in rows if holds(condition, wider, self.state, args))


def _taken(rows: deque[_Row]) -> Iterator[_Row]:
    """Yield the first row as long as there are any; more may be added meanwhile."""
    while rows:
        yield rows.popleft()


def _cost(condition: Condition, row: Binding) -> tuple[bool, int]:
    """Return the order of evaluation: tests, then facts that bind few variables, then what holds of many objects."""
    unbound = sum(name not in row for name in dict.fromkeys(condition_variables(condition)))
    finds = isinstance(condition, Literal) and condition.positive
    return unbound > 0 and not finds, unbound
