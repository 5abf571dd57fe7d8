"""Explains why a task cannot be done: how far each of its methods gets, and what is missing there.

This is computed after a search has failed, by plain evaluation independent of the search: method by method, the
conditions in the order in which they are written, then the subtasks one after the other.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from itertools import chain, islice
from typing import Any, Protocol, Self

from .interface import Budget, Node, Reason, Result, Step
from .language.conditions import Check, Condition, Equal, Literal, bound, condition_variables
from .language.domain import Domain, Problem, declared_effects
from .language.methods import Method, computed_subtasks, predecessors, tasks_with_end
from .language.objects import typed_objects
from .language.terms import (
    ROOT_TYPE,
    HtnError,
    Members,
    Term,
    counted,
    ground,
    is_variable,
    one_of,
    term_text,
    variables_of,
)
from .search.search import tree_text
from .verification.evaluation import Binding, Impossible, StepState, holds, shortfall, unified
from .verification.verify import call_fault, unmet_condition

ROWS = 50
"""The bindings of a step's open variables that are compared; the best is used."""
TRIED = 5
"""The bindings under which the subtasks are tried."""
MOST_ROWS = 20_000
"""The bindings tried for one method's variables, so that one method does not take all of the time."""
DEEPEST = 8
"""The levels of subtasks that are explained."""
EFFORT = Budget(nodes=5_000, seconds=0.5)
"""The budget for finding out whether a subtask can be done."""
MOST_REASONS = 100
"""Limit for one failure; a domain with many methods has more ways to fail than anybody reads."""
LATE = "working out how far this gets would take too long"


class KnowingPlanner(Protocol):
    """The planner to be explained, with its methods."""

    domain: Domain

    @property
    def usable(self) -> Sequence[Method]:
        """Return the learned methods that plans may use."""

    def known_only(self, budget: Budget) -> Self:
        """Return a planner with the same methods that asks nobody and spends at most ``budget``."""

    def solve_problem(self, problem: Problem, *, explained: bool = True) -> Result:
        """Return the plan for a problem, or what prevented it; ``explained`` adds how far each method gets."""


@dataclass
class Obstacle:
    """How far a task gets in one way, and what stops it there."""

    task: Term
    words: str
    """What stops it; empty if the obstacles below it say so."""
    code: str = "condition"
    method: str | None = None
    condition: str | None = None
    held: tuple[str, ...] = ()
    """Conditions that hold, with the values found for their variables."""
    done: tuple[str, ...] = ()
    """Steps that could be taken before it."""
    below: list[Obstacle] = field(default_factory=list)

    @property
    def progress(self) -> int:
        """Return how much could be done before it stopped."""
        return len(self.held) + 100 * (len(self.done) + sum(bool(each.done) for each in self.below)) + bool(self.below)

    def reasons(self, outer: str = "", within: str | None = None) -> Iterator[Reason]:
        """Yield what is missing, each with the way that leads to it; a step's is that of the method ``within``."""
        about = f"{term_text(self.task)}, method {self.method}" if self.method else term_text(self.task)
        held = f"{_all_hold(self.held)}, then " * bool(self.held)
        after = f"after {', '.join(self.done)}: " * bool(self.done)
        if self.words:
            told = f"{outer}{about}: {held}{after}{self.words}"
            yield Reason(self.code, told, term_text(self.task), self.method or within, self.condition)
        inner = f"{outer}{about}: {after}" if self.method else outer
        for each in self.below:
            yield from each.reasons(inner, self.method)

    def to_data(self) -> dict[str, Any]:
        """Return the obstacle, and those below it, as plain data."""
        return {
            "task": term_text(self.task),
            "method": self.method,
            "code": self.code,
            "message": self.words,
            "condition": self.condition,
            "held": list(self.held),
            "done": list(self.done),
            "below": [each.to_data() for each in self.below],
        }


def explain_failure(
    planner: KnowingPlanner,
    problem: Problem,
    *,
    gave_up: bool = False,
    seconds: float = 3.0,
    clock: Callable[[], float] = time.monotonic,
) -> list[Obstacle]:
    """Return what prevents solving a problem: for its first task that cannot be done, or for its goal.

    After this many ``seconds`` the rest is named but not explained. If the search ``gave_up`` there may be a plan,
    so only failing conditions and calls are reported, and not that what comes after them, or the goal, cannot be
    reached.
    """
    found = _Explainer(planner, problem, seconds, clock).run()
    return _unproven(found) if gave_up else found


def _unproven(obstacles: Sequence[Obstacle]) -> list[Obstacle]:
    kept = [replace(each, below=_unproven(each.below)) for each in obstacles if each.code not in ("goal", "after")]
    return [each for each in kept if each.words or each.below]


def with_obstacles(result: Result, obstacles: Sequence[Obstacle]) -> Result:
    """Return a failure with how far each method gets among its reasons.

    A limit that the search reached is named before, a model's part in it and what was not searched afterwards.
    """
    told = tuple(islice(chain.from_iterable(each.reasons() for each in obstacles), MOST_REASONS))
    bounds = tuple(reason for reason in result.reasons if reason.code == "budget")
    others = tuple(reason for reason in result.reasons if reason.code in ("proposal", "order"))
    return replace(result, reasons=(*bounds, *told, *others)) if told else result


def explain_choices(
    planner: KnowingPlanner, problem: Problem, tree: Sequence[Node], learned: Sequence[Method]
) -> dict[Any, list[Obstacle]]:
    """Return, for each node of a plan's tree, why the methods before the chosen one were passed over.

    ``learned`` are the learned methods that could be chosen, excluding those learned from this plan. If explaining a
    tree takes longer than three seconds, only the first nodes are explained.
    """
    return dict(_Explainer(planner, problem, 3.0, time.monotonic, learned).passed_over(tree))


def choice_lines(tree: Sequence[Node], passed_over: Mapping[Any, Sequence[Obstacle]]) -> Iterator[str]:
    """Yield a tree like ``tree_text``, with the values found and the methods passed over."""
    for node, line in zip(tree, tree_text(tree).splitlines(), strict=True):
        found = {name: value for name, value in node.get("bindings", {}).items() if value not in node["args"]}
        values = ", ".join(f"{name} = {value}" for name, value in found.items())
        yield f"{line}  with {values}" if values else line
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        for rival in passed_over.get(node["id"], ()):
            held = f"{_all_hold(rival.held)}, but " * bool(rival.held)
            yield f"{indent}not {rival.method}: {held}{rival.words}"


def obstacle_lines(obstacles: Sequence[Obstacle], depth: int = 0) -> Iterator[str]:
    """Yield obstacles as an indented text: a task, and below it each method and how far it gets."""
    task: Term | None = None
    for each in obstacles:
        indent = "  " * depth
        if each.task != task:
            task = each.task
            yield f"{indent}{term_text(task)}"
        after = f"after {', '.join(each.done)}" * bool(each.done)
        told = "; ".join(part for part in (_all_hold(each.held), after, each.words) if part)
        yield f"{indent}  ({each.method}) {told}".rstrip() if each.method else f"{indent}  {told}"
        yield from obstacle_lines(each.below, depth + 2)


_GOAL: Term = ("goal",)


class _Late(Exception):
    """Stop because the time for explanations is over."""


class _Explainer:
    def __init__(
        self,
        planner: KnowingPlanner,
        problem: Problem,
        seconds: float,
        clock: Callable[[], float],
        learned: Sequence[Method] | None = None,
    ) -> None:
        self._clock, self._deadline = clock, clock() + seconds
        self._planner = planner.known_only(EFFORT)
        self._domain = planner.domain
        self._problem = problem
        self._objects: Members = typed_objects(planner.domain, problem)
        self._operators = planner.domain.steps
        self._methods = [*planner.domain.methods, *(planner.usable if learned is None else learned)]

    def run(self) -> list[Obstacle]:
        """Go through the tasks until one cannot be done."""
        state = self._start(self._problem)
        in_hand: Term = _GOAL
        try:
            for in_hand in _in_order(self._problem):
                steps = self._solved(in_hand, state)
                if steps is None:
                    return self._task(in_hand, state, ())
                state.follow(steps, self._operators)
            in_hand = _GOAL
            unmet = ((goal, shortfall(goal, {}, state, ())) for goal in self._problem.goal)
            return [Obstacle(_GOAL, f"the goal {words}", "goal", condition=str(goal)) for goal, words in unmet if words]
        except _Late:
            return [Obstacle(in_hand, LATE, "late")]

    def _task(self, task: Term, state: StepState, above: tuple[Term, ...]) -> list[Obstacle]:
        """Return why a task cannot be done from a state, one obstacle for each way, as time permits."""
        found: list[Obstacle] = []
        try:
            for each in self._ways(task, state, above):
                found.append(each)  # earlier results are kept when the time is over
        except _Late:
            found.append(Obstacle(task, LATE, "late"))
        return found

    def _ways(self, task: Term, state: StepState, above: tuple[Term, ...]) -> Iterator[Obstacle]:
        if task[0] in self._operators:
            yield self._step(task, state)
            return
        methods = [method for method in self._methods if method.task == task[0]]
        if not methods:
            known = sorted({*self._operators, *(method.task for method in self._methods)})
            near = difflib.get_close_matches(str(task[0]), known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            yield Obstacle(task, f"no operator or method is named {task[0]}{hint}", "unknown")
        elif task in above:
            yield Obstacle(task, "leads back to itself", "loop")
        elif len(above) >= DEEPEST or self._clock() > self._deadline:
            ends = task[0] in tasks_with_end(self._operators, self._methods)
            yield Obstacle(task, LATE, "late") if ends else Obstacle(task, "never ends in steps", "loop")
        else:
            yield from (self._way(method, task, state, above) for method in methods)

    def _step(self, task: Term, state: StepState) -> Obstacle:
        operator, step = self._operators[task[0]], Step(str(task[0]), task[1:])
        misfit = call_fault(operator, step, self._objects)
        if misfit is not None:
            return Obstacle(task, misfit[1], misfit[0])
        unmet = unmet_condition(operator, step, state)
        if unmet is not None:
            return Obstacle(task, unmet[1], condition=unmet[0])
        try:
            self._copy(state).follow([step], self._operators)
        except Impossible as error:
            return Obstacle(task, str(error))
        return Obstacle(task, "could be taken here, but nothing after it works out", "after")

    def passed_over(self, tree: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Any, list[Obstacle]]]:
        """Yield each node of a tree with the methods before the chosen one, and why they did not apply."""
        state = self._start(self._problem)
        try:
            for node in tree:
                self._tick()
                task: Term = (node["name"], *node["args"])
                yield node["id"], self._earlier(node, task, state)
                if "operator" in node:
                    state.follow([Step(str(task[0]), task[1:])], self._operators)
        except _Late:
            return

    def _earlier(self, node: Mapping[str, Any], task: Term, state: StepState) -> list[Obstacle]:
        if "operator" in node:
            return []
        rivals = [method for method in self._methods if method.task == task[0]]
        names = [method.name for method in rivals]
        earlier = rivals[: names.index(node["method"])] if node["method"] in names else rivals
        return [self._rival(method, task, state) for method in earlier]

    def _rival(self, method: Method, task: Term, state: StepState) -> Obstacle:
        entered = self._entered(method, task, state)
        if isinstance(entered, Obstacle):
            return entered
        return Obstacle(task, "its conditions hold, but it led to no plan, or to none as good", "after", method.name)

    def _way(self, method: Method, task: Term, state: StepState, above: tuple[Term, ...]) -> Obstacle:
        entered = self._entered(method, task, state)
        if isinstance(entered, Obstacle):
            return entered
        ways = [self._subtasks(method, task, row, method.types, state, (*above, task)) for row in entered]
        best = max(ways, key=lambda way: way.progress)
        return replace(best, held=_texts(method.preconditions, entered[ways.index(best)]))

    def _entered(self, method: Method, task: Term, state: StepState) -> Obstacle | list[Binding]:
        """Return bindings under which all conditions of a method hold, or how far any binding gets."""
        misfit = self._misfit(method, task)
        if misfit is not None:
            return Obstacle(task, misfit[1], misfit[0], method.name)
        start: Binding = {} if method.any_arguments else dict(zip(method.head.args, task[1:], strict=False))
        found: list[Binding] = []
        furthest, shared = -1, dict(start)
        for tried, (depth, row) in enumerate(self._chained(method, start, state, task)):
            if depth > furthest:
                furthest, shared = depth, dict(row)
            elif depth == furthest:
                shared = {name: value for name, value in shared.items() if row[name] == value}
            if depth == len(method.preconditions):
                found.append(row)
            if len(found) == TRIED:
                break
            if tried > MOST_ROWS:
                return found or self._unfitting(method, start, state, task)
        if found:
            return found
        words, unmet = self._unmet(method.preconditions[furthest], shared, state, task)
        return Obstacle(task, words, "condition", method.name, unmet, _texts(method.preconditions[:furthest], shared))

    def _chained(self, method: Method, start: Binding, state: StepState, task: Term) -> Iterator[tuple[int, Binding]]:
        """Yield, depth first, every binding under which a prefix of the conditions holds, with the prefix length."""
        waiting: list[Iterator[Binding]] = [iter([start])]
        while waiting:
            row = next(waiting[-1], None)
            if row is None:
                waiting.pop()
                continue
            depth = len(waiting) - 1
            yield depth, row
            if depth < len(method.preconditions):
                waiting.append(self._rows(method.preconditions[depth], row, method.types, state, task))

    def _unfitting(self, method: Method, start: Binding, state: StepState, task: Term) -> Obstacle:
        """Return the first condition of a method that no fact matches by itself, if there is one."""
        for each in method.preconditions:
            is_plain = isinstance(each, Literal) and each.positive
            if is_plain and next(self._rows(each, start, method.types, state, task), None) is None:
                words, unmet = self._unmet(each, start, state, task)
                return Obstacle(task, words, "condition", method.name, unmet)
        return Obstacle(task, LATE, "late", method.name)

    def _misfit(self, method: Method, task: Term) -> tuple[str, str] | None:
        if method.any_arguments:
            return None
        args = method.head.args
        if len(args) != len(task) - 1:
            return "arity", f"takes {counted(len(args), 'argument')}, not {len(task) - 1}"
        for wanted, given in zip(args, task[1:], strict=True):
            if not is_variable(wanted) and wanted != given:
                return "type", f"is for {wanted}, not {given}"
            kind = (method.head.types or {}).get(wanted, ROOT_TYPE)
            if kind != ROOT_TYPE and given not in self._objects.get(kind, {}):
                return "type", f"{given} is not {one_of(kind)}{self._known(kind, given)}"
        return None if unified(args, task[1:], {}) is not None else ("condition", "needs the same object twice")

    def _known(self, kind: str, given: Any) -> str:
        members = [str(member) for member in self._objects.get(kind, {})]
        near = difflib.get_close_matches(str(given), members, n=1)
        if near:
            return f"; did you mean {near[0]}?"
        shown = ", ".join(members[:8]) + ", …" * (len(members) > 8)
        return f"; there is {shown}" if members else f"; there is no {kind} at all"

    def _rows(
        self, condition: Condition, row: Binding, types: Mapping[str, str], state: StepState, task: Term
    ) -> Iterator[Binding]:
        """Yield every extension of a binding under which a condition holds."""
        if isinstance(condition, Literal) and condition.positive and variables_of(condition.atom):
            for wider in state.matches(condition.atom, row):
                self._tick()
                if _is_typed(wider, types, state):
                    yield wider
            return
        for wider in state.assigned(condition_variables(condition), row, types):
            self._tick()
            if holds(condition, wider, state, task[1:]):
                yield wider

    def _unmet(self, condition: Condition, row: Binding, state: StepState, task: Term) -> tuple[str, str]:
        """Return, in words and as text, the condition that does not hold; ``row`` is common to all bindings."""
        text = str(bound(condition, row))
        if isinstance(condition, Check):
            return f"{condition} is not true", text
        if any(name not in row for name in condition_variables(condition)):
            return f"nothing fits '{text}'", text
        return shortfall(condition, row, state, task[1:]) or f"'{text}' does not hold", text

    def _subtasks(
        self,
        method: Method,
        task: Term,
        row: Binding,
        types: Mapping[str, str],
        state: StepState,
        above: tuple[Term, ...],
    ) -> Obstacle:
        """Go through the subtasks of a method until one cannot be done."""
        here, done = self._copy(state), list[str]()
        subtasks = self._ground(method, task, row, types, state)
        if subtasks is None:
            return Obstacle(task, "its function gave no subtasks in this state", "condition", method.name)
        for subtask in subtasks:
            steps = self._solved(subtask, here)
            if steps is None:
                return Obstacle(task, "", method=method.name, done=tuple(done), below=self._task(subtask, here, above))
            here.follow(steps, self._operators)
            done += map(str, steps)
        # Only proposals of a model are checked for the declared effects.
        for effect in declared_effects(self._domain, task) if method.learned else ():
            if not holds(effect, {}, here, ()):
                words = f"'{effect}' should hold afterwards but does not"
                return Obstacle(task, words, "condition", method.name, str(effect), done=tuple(done))
        words = "could be done like this, but what comes after it, or the goal, does not work out"
        return Obstacle(task, words, "after", method.name, done=tuple(done))

    def _ground(
        self, method: Method, task: Term, row: Binding, types: Mapping[str, str], state: StepState
    ) -> Sequence[Term] | None:
        if callable(method.subtasks):
            return computed_subtasks(state.ask(method.subtasks, task[1:]), method.name)
        for subtask in method.subtasks:
            row = self._fitting(subtask, row, types, state)
        free = [name for each in method.subtasks for name in variables_of(each)]
        row = next(state.assigned(free, row, types), row)
        return [ground(each, row) for each in method.subtasks]

    def _fitting(self, call: Term, row: Binding, types: Mapping[str, str], state: StepState) -> Binding:
        """Return a binding with values for a step's open variables under which many of its preconditions hold."""
        operator = self._operators.get(call[0])
        if operator is None or len(call) - 1 != len(operator.parameters):
            return row
        given = {parameter.name: part for parameter, part in zip(operator.parameters, call[1:], strict=True)}
        conditions = [bound(each, given) for each in operator.preconditions if isinstance(each, Literal | Equal)]

        def held(wider: Binding) -> int:
            known = (each for each in conditions if wider.keys() >= set(condition_variables(each)))
            return sum(holds(each, wider, state, ()) for each in known)

        for condition in conditions:
            if isinstance(condition, Literal) and condition.positive:
                found = (wider for wider in state.matches(condition.atom, row) if _is_typed(wider, types, state))
                row = max(islice(found, ROWS), key=held, default=row)
        return row

    def _solved(self, task: Term, state: StepState) -> list[Step] | None:
        """Return steps that do a task from a state, or None if there are none, or finding them takes too long."""
        self._tick()
        try:
            return self._planner.solve_problem(self._from(state, task), explained=False).plan
        except HtnError:
            return None

    def _from(self, state: StepState, *tasks: Term) -> Problem:
        return replace(
            self._problem, tasks=tasks, state=tuple(state.facts), numbers=dict(state.numbers), ordering=None, goal=()
        )

    def _copy(self, state: StepState) -> StepState:
        return self._start(self._from(state))

    def _start(self, problem: Problem) -> StepState:
        state = StepState(problem, self._objects)
        state.tick = self._tick
        return state

    def _tick(self) -> None:
        if self._clock() > self._deadline:
            raise _Late


def _is_typed(row: Binding, types: Mapping[str, str], state: StepState) -> bool:
    return all(state.is_a(value, types.get(name, ROOT_TYPE)) for name, value in row.items())


def _in_order(problem: Problem) -> list[Term]:
    """Return the tasks of a problem in a possible order."""
    before = dict(enumerate(predecessors(problem.ordering, len(problem.tasks))))
    return [problem.tasks[at] for at in TopologicalSorter(before).static_order()]


def _all_hold(conditions: Sequence[str]) -> str:
    """Return in words that conditions hold; an empty text for none."""
    quoted = ", ".join(f"'{text}'" for text in conditions)
    return f"{quoted} hold{'s' * (len(conditions) == 1)}" if conditions else ""


def _texts(conditions: Sequence[Condition], row: Binding) -> tuple[str, ...]:
    return tuple(str(bound(condition, row)) for condition in conditions)
