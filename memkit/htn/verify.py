"""Check a plan against domain and problem without any of the code that searches for plans.

First the steps are carried out one by one. Then it is asked whether the tasks can be decomposed into exactly these
steps: every task at every position of the plan keeps the positions at which it can end, and whoever waits for it is
told of new ones. Because the plan is given, the state at each position is known, so this works for recursion of any
shape and needs no stack.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .conditions import Check, Condition, Equal, Literal, condition_variables
from .domain import Domain, Method, Operator, Problem
from .errors import HtnError, PlanError
from .interface import Reason, Step
from .objects import typed_objects
from .state import StateView
from .terms import ROOT_TYPE, Term, is_variable, parse_term, term_text, variables_of

Binding = Mapping[str, Any]
Members = Mapping[str, Mapping[Any, None]]


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
    domain: Domain, problem: Problem, plan: Sequence[Step], *, decomposition: bool = True, extra: Sequence[Method] = ()
) -> list[Reason]:
    """Return what is wrong with a plan; an empty list means that it is a solution.

    ``extra`` are further methods that may be used, such as learned ones; with ``decomposition=False`` only the steps
    are carried out.
    """
    objects = typed_objects(domain, problem)
    wrong = list(_execute(domain, problem, plan, objects))
    if wrong or not decomposition:
        return wrong
    return _Parser(domain, problem, plan, objects, extra).run()


def _execute(domain: Domain, problem: Problem, plan: Sequence[Step], objects: Members) -> Iterator[Reason]:
    operators = {operator.name: operator for operator in domain.operators}
    state = set(problem.state)
    for number, step in enumerate(plan, 1):
        fault = _fault(operators.get(step.name), step, state, objects, problem.spelled)
        if fault is not None:
            yield Reason("step", f"step {number}, {step}: {fault}", str(step))
            return
        _advance(operators[step.name], step, state)


def _advance(operator: Operator, step: Step, state: set[Term]) -> None:
    binding = _arguments(operator, step)
    state -= {_ground(fact, binding) for fact in operator.effects_remove}
    state |= {_ground(fact, binding) for fact in operator.effects_add}


def _arguments(operator: Operator, step: Step) -> dict[str, Any]:
    return dict(zip((p.name for p in operator.parameters), step.args, strict=False))


def _fault(operator: Operator | None, step: Step, state: set[Term], objects: Members, spelled: str) -> str | None:
    if operator is None:
        return f"no operator is called {step.name}"
    if not operator.any_arguments:
        if len(step.args) != len(operator.parameters):
            return f"{len(operator.parameters)} arguments are needed"
        for parameter, arg in zip(operator.parameters, step.args, strict=True):
            if parameter.type != ROOT_TYPE and arg not in objects.get(parameter.type, {}):
                return f"{arg} is not a {parameter.type}"
    binding = _arguments(operator, step)
    for condition in operator.preconditions:
        if not _holds(condition, binding, state, step.args, spelled):
            return f"'{_ground_text(condition, binding)}' does not hold"
    return None


def _ground(term: Term, binding: Binding) -> Term:
    return tuple(binding.get(part, part) if is_variable(part) else part for part in term)


def _ground_text(condition: Condition, binding: Binding) -> str:
    if isinstance(condition, Literal):
        return str(Literal(_ground(condition.atom, binding), condition.positive))
    if isinstance(condition, Equal):
        left, right = _ground((condition.left, condition.right), binding)
        return str(Equal(left, right, condition.positive))
    return str(condition)


def _holds(condition: Condition, binding: Binding, state: Iterable[Term], args: Term, spelled: str) -> bool:
    if isinstance(condition, Check):
        return bool(_called(condition.function, state, args, spelled))
    if isinstance(condition, Equal):
        left, right = _ground((condition.left, condition.right), binding)
        return (left == right) is condition.positive
    return (_ground(condition.atom, binding) in state) is condition.positive


def _called(function: Callable[..., Any], state: Iterable[Term], args: Term, spelled: str) -> Any:
    view = StateView(dict.fromkeys(state), spelled)
    code = getattr(function, "__code__", None)
    alone = code is not None and code.co_argcount == 1 and not code.co_flags & 0x04
    return function(view) if alone else function(view, *args)


@dataclass
class _Waiting:
    """A row of subtasks of which some are done, and whom to tell when all are."""

    owner: tuple[Term, int]
    subtasks: Sequence[Term]
    done: int


@dataclass
class _Entry:
    """A task at a position of the plan: where it can end, and who waits for it."""

    ends: dict[int, None] = field(default_factory=dict)
    waiting: list[_Waiting] = field(default_factory=list)


_ROOT: tuple[Term, int] = (("", "root"), 0)


class _Parser:
    """Finds out whether the tasks decompose into the plan."""

    def __init__(
        self, domain: Domain, problem: Problem, plan: Sequence[Step], objects: Members, extra: Sequence[Method]
    ) -> None:
        self.operators = {operator.name: operator for operator in domain.operators}
        self.methods: dict[str, list[Method]] = {}
        for method in (*domain.methods, *extra):
            self.methods.setdefault(method.task, []).append(method)
        self.problem = problem
        self.plan = [(step.name, *step.args) for step in plan]
        self.steps = plan
        self.objects = objects
        self.state = set(problem.state)
        self.entries: dict[tuple[Term, int], _Entry] = {_ROOT: _Entry()}
        self.agenda: list[deque[_Waiting]] = [deque() for _ in range(len(plan) + 1)]
        self.furthest = 0

    def run(self) -> list[Reason]:
        """Work through the plan position by position, the state moving along."""
        self.agenda[0].append(_Waiting(_ROOT, self.problem.tasks, 0))
        for position, waiting in enumerate(self.agenda):
            while waiting:
                self.furthest = position
                self._proceed(waiting.popleft(), position)
            if position < len(self.plan):
                _advance(self.operators[self.steps[position].name], self.steps[position], self.state)
        if len(self.plan) in self.entries[_ROOT].ends:
            return []
        tasks = ", ".join(term_text(task) for task in self.problem.tasks)
        words = f"every step can be done, but no methods decompose '{tasks}' into these steps; "
        return [Reason("decomposition", words + f"they agree with the plan up to step {self.furthest}", tasks)]

    def _proceed(self, row: _Waiting, position: int) -> None:
        if row.done == len(row.subtasks):
            self._end(row.owner, position)
            return
        task = row.subtasks[row.done]
        following = _Waiting(row.owner, row.subtasks, row.done + 1)
        if task[0] in self.operators:
            if position < len(self.plan) and self.plan[position] == task:
                self.agenda[position + 1].append(following)
            return
        key = (task, position)
        if key not in self.entries:
            self.entries[key] = _Entry()
            for subtasks in self._decompositions(task):
                self.agenda[position].append(_Waiting(key, subtasks, 0))
        entry = self.entries[key]
        entry.waiting.append(following)
        for end in entry.ends:
            self.agenda[end].append(following)

    def _end(self, owner: tuple[Term, int], position: int) -> None:
        entry = self.entries[owner]
        if position not in entry.ends:
            entry.ends[position] = None
            self.agenda[position].extend(entry.waiting)

    def _decompositions(self, task: Term) -> Iterator[Sequence[Term]]:
        for method in self.methods.get(task[0], ()):
            binding = self._head_binding(method, task[1:])
            if binding is None:
                continue
            for each in self._bindings(method, binding, task[1:]):
                if callable(method.subtasks):
                    given = _called(method.subtasks, self.state, task[1:], self.problem.spelled)
                    if given is not None and given is not False:
                        yield [parse_term(step) for step in given]
                else:
                    yield [_ground(step, each) for step in method.subtasks]

    def _head_binding(self, method: Method, args: Term) -> dict[str, Any] | None:
        if method.any_arguments:
            return {}
        if len(args) != len(method.head.args):
            return None
        binding: dict[str, Any] = {}
        for wanted, arg in zip(method.head.args, args, strict=True):
            if (binding.setdefault(wanted, arg) if is_variable(wanted) else wanted) != arg:
                return None
        fits = all(self._is_a(binding[p.name], p.type) for p in method.head.parameters)
        return binding if fits else None

    def _is_a(self, value: Any, kind: str) -> bool:
        return kind == ROOT_TYPE or value in self.objects.get(kind, {})

    def _bindings(self, method: Method, binding: dict[str, Any], args: Term) -> Iterator[Binding]:
        """Yield every extension of a binding under which the method's preconditions hold now."""
        kinds = {p.name: p.type for p in method.variables}
        rows: list[Binding] = [binding]
        for condition in sorted(method.preconditions, key=_generates, reverse=True):
            if _generates(condition) and isinstance(condition, Literal):
                rows = [wider for row in rows for wider in self._matches(condition.atom, row)]
            else:
                rows = [
                    wider
                    for row in rows
                    for wider in self._assigned(condition_variables(condition), row)
                    if _holds(condition, wider, self.state, args, self.problem.spelled)
                ]
        names = [] if callable(method.subtasks) else [name for step in method.subtasks for name in variables_of(step)]
        for row in rows:
            for wider in self._assigned(names, row):
                if all(self._is_a(value, kinds.get(name, ROOT_TYPE)) for name, value in wider.items()):
                    yield wider

    def _matches(self, atom: Term, row: Binding) -> Iterator[Binding]:
        pattern = _ground(atom, row)
        for fact in self.state:
            if fact[0] == pattern[0] and len(fact) == len(pattern):
                wider = dict(row)
                if all(
                    (wider.setdefault(part, value) if is_variable(part) else part) == value
                    for part, value in zip(pattern, fact, strict=True)
                ):
                    yield wider

    def _assigned(self, names: Iterable[str], row: Binding) -> list[Binding]:
        """Return the row with every unbound variable set to every object in turn."""
        rows: list[Binding] = [row]
        for name in dict.fromkeys(names):
            if name not in row:
                rows = [{**each, name: value} for each in rows for value in self.objects[ROOT_TYPE]]
        return rows


def _generates(condition: Condition) -> bool:
    return isinstance(condition, Literal) and condition.positive
