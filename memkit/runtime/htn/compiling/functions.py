"""Executes operators and methods without generated code for their first uses.

A generated function is several times as fast, but parsing its text takes Python longer than dozens of uses this way,
and most problems use most methods less often. Both make the same moves in the same order, so that a plan does not
depend on which was used.

The values known at some point form a row: constants, then the task, then each fact found, element by element.
Everything that is looked up, tested or made is read from positions of the row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from itertools import filterfalse
from math import inf
from operator import itemgetter
from typing import Any, NamedTuple

from ..language.conditions import Condition, Equal, Literal, conjuncts
from ..language.methods import Method, done_before
from ..language.operators import Operator
from ..language.terms import ROOT_TYPE, DomainError, Term, is_variable, term_text
from .codegen import Own, cost_program, method_variables
from .compiled import CompiledDomain, CompiledMethod, CompiledOperator
from .joins import Copy, Each, Match, Move, Test, Types
from .state import World

Row = tuple[Any, ...]
_Read = Callable[[Row], Any]
_Passes = Callable[[Row], bool]
_MOST_STAGES = 40
"""Stages are nested calls here; longer chains use generated code, however rarely they run."""


class _Stage(NamedTuple):
    """Candidates that extend a row, and the tests of the extended row."""

    find: Callable[[Row], Collection[Any]]
    are_facts: bool
    """Whether candidates are facts, which enter the row element by element, rather than single objects."""
    tests: list[_Passes]


class _Layout:
    """The positions of all values in a row, while it grows stage by stage."""

    def __init__(self, world: World, types: Types, args: Sequence[Any], terms: Iterable[Term]) -> None:
        """Lay out the constants that occur in ``terms``, and a task with the arguments ``args``."""
        self.stages: list[_Stage] = []
        self.tests: list[_Passes] = []
        """Tests on the task before anything is looked up."""
        self._world, self._types = world, types
        # 1, 1.0 and True are equal, but facts must come out as they were written.
        parts = (part for term in (*terms, (None, *args)) for part in (term[0], *filterfalse(is_variable, term[1:])))
        self._constants = {key: at for at, key in enumerate(dict.fromkeys((type(part), part) for part in parts))}
        self.constants = tuple(part for _, part in self._constants)
        self._places: dict[str, int] = {}
        self._length = len(self.constants) + 1  # the name of the task, which nothing reads
        for arg in args:
            self._meet(arg)

    def move(self, move: Move, changing: Container[Any]) -> None:
        """Add a test, or candidates for something that has no value yet."""
        if isinstance(move, Test):
            self._latest.append(self._test(move.condition))
        elif isinstance(move, Copy):
            self._bind(move.variable, self._at(move.source))
        elif isinstance(move, Each):
            members = self._world.objects_of(move.condition.atom[0])
            self.stages.append(_Stage(lambda row: members, False, []))
            self._meet(move.variable)
        else:
            self.stages.append(_Stage(self._like(move, changing), True, []))
            for at, part in enumerate(move.condition.atom):
                if at > 0 and part in move.new:
                    self._meet(part)
                else:
                    self._length += 1

    def read(self, parts: Sequence[Any]) -> _Read:
        places = [self._at(part) for part in parts]
        if len(places) > 1:
            return itemgetter(*places)
        return (lambda row: (row[places[0]],)) if places else (lambda row: ())

    def read_fact(self, fact: Term) -> _Read:
        """Return a reader of a fact, or a task, from a row; its name is never a variable."""
        name = self._constants[type(fact[0]), fact[0]]
        places = [name, *map(self._at, fact[1:])]
        return itemgetter(*places) if len(places) > 1 else lambda row: (row[name],)

    @property
    def _latest(self) -> list[_Passes]:
        return self.stages[-1].tests if self.stages else self.tests

    def _at(self, part: Any) -> int:
        return self._places[part] if is_variable(part) else self._constants[type(part), part]

    def _meet(self, part: Any) -> None:
        """Add an element at the end of the row: the value of a variable, or a repetition of a known value."""
        if part in self._places or not is_variable(part):
            self._latest.append(_are_same(self._at(part), self._length, True))
        else:
            self._bind(part, self._length)
        self._length += 1

    def _bind(self, variable: str, place: int) -> None:
        self._places[variable] = place
        for kind in self._types.get(variable, ()):
            if kind != ROOT_TYPE:
                self._latest.append(_is_in(itemgetter(place), self._world.objects_of(kind), True))

    def _test(self, condition: Condition) -> _Passes:
        if isinstance(condition, Equal):
            return _are_same(self._at(condition.left), self._at(condition.right), condition.positive)
        assert isinstance(condition, Literal)
        return _is_in(self.read_fact(condition.atom), self._world.facts.facts, condition.positive)

    def _like(self, move: Match, changing: Container[Any]) -> Callable[[Row], Collection[Term]]:
        """Return a lookup for the facts that agree with the known values."""
        atom, facts = move.condition.atom, self._world.facts
        shape = (atom[0], len(atom))
        given = tuple(at for at, part in enumerate(atom) if at > 0 and part not in move.new)
        if given:
            index, read = facts.index(shape, given), self.read([atom[at] for at in given])
            key = read if len(given) > 1 else itemgetter(self._at(atom[given[0]]))
            find: Callable[[Row], Collection[Term]] = lambda row: index.get(key(row), ())  # noqa: E731
        else:
            everything = facts.all(shape)
            find = lambda row: everything  # noqa: E731
        # Steps may change such facts before the next candidate is requested.
        return (lambda row: list(find(row))) if atom[0] in changing else find


def _is_in(read: _Read, known: Container[Any], wanted: bool) -> _Passes:
    return lambda row: (read(row) in known) is wanted


def _are_same(left: int, right: int, wanted: bool) -> _Passes:
    return lambda row: (row[left] == row[right]) is wanted


def applied_by_rows(operator: Operator, world: World) -> Callable[[Term], Term | None] | None:
    """Return a function that applies a step, or None if the operator has parts that need generated code."""
    conditions = list(conjuncts(operator.preconditions))
    if operator.any_arguments or operator.effects_more or not _are_plain(conditions):
        return None
    parameters = [parameter.name for parameter in operator.parameters]
    types = {parameter.name: (parameter.type,) for parameter in operator.parameters}
    facts = (*operator.effects_remove, *operator.effects_add)
    layout = _Layout(world, types, parameters, [*map(_term_of, conditions), *facts])
    for condition in conditions:
        layout.move(Test(condition), ())
    removed = [layout.read_fact(fact) for fact in operator.effects_remove]
    added = [layout.read_fact(fact) for fact in operator.effects_add]
    constants, tests, change, length = layout.constants, layout.tests, world.facts.change, len(parameters) + 1

    def apply(task: Term) -> Term | None:
        if len(task) != length:
            return None
        row = constants + task
        for passes in tests:
            if not passes(row):
                return None
        change([read(row) for read in removed], [read(row) for read in added])
        return task[1:]

    return apply


def expanded_by_rows(
    method: Method, moves: Sequence[Move], types: Types, changing: Container[Any], world: World, source: object
) -> Callable[[Term], Iterator[Any]] | None:
    """Return a generator of the ways to apply a method, or None if it has parts that need generated code."""
    steps, conditions = method.subtasks, [move.condition for move in moves]
    if method.any_arguments or callable(steps) or not _are_plain(conditions):
        return None
    args = method.head.args
    layout = _Layout(world, types, args, [*map(_term_of, conditions), *steps])
    for move in moves:
        layout.move(move, changing)
    if len(layout.stages) > _MOST_STAGES:
        return None
    values, subtasks = layout.read(method_variables(method)), [layout.read_fact(step) for step in steps]
    before = None if method.ordering is None or len(steps) < 2 else done_before(method.ordering, steps)
    length, width, stages, tick = len(args) + 1, len(steps), layout.stages, world.tick

    def longer(row: Row, at: int) -> Iterator[Row]:
        if at == len(stages):
            yield row
            return
        find, are_facts, tests = stages[at]
        found = find(row)
        if at > 0:
            tick(len(found))
        for each in found:
            new = row + each if are_facts else (*row, each)
            if all(passes(new) for passes in tests):
                yield from longer(new, at + 1)

    def expand(task: Term) -> Iterator[Any]:
        start = layout.constants + task
        if len(task) == length and all(passes(start) for passes in layout.tests):
            for row in longer(start, 0):
                following: tuple[Any, ...] = tuple([read(row) for read in subtasks])
                if before is not None:
                    following = ((Own.UNORDERED, following, before, 0),)
                yield source, values(row), following, width

    return expand


def expected_rows(moves: Sequence[Move], world: World) -> float:
    """Return the approximate number of candidates that a method's moves examine."""
    found = 1.0
    for move in moves:
        if isinstance(move, Match):
            atom = move.condition.atom
            given = [at for at, part in enumerate(atom) if at > 0 and part not in move.new]
            found *= max(1.0, world.facts.estimate((atom[0], len(atom)), given))
        elif isinstance(move, Each):
            found *= max(1, len(world.objects_of(move.condition.atom[0])))
    return found


def _are_plain(conditions: Iterable[Condition]) -> bool:
    return all(isinstance(each, Literal | Equal) for each in conditions)


def _term_of(condition: Condition) -> Term:
    """Return the elements of a condition as a term, as far as it is one."""
    if isinstance(condition, Equal):
        return ("=", condition.left, condition.right)
    assert isinstance(condition, Literal)
    return condition.atom


Apply = Callable[[Term], Term | None]
"""Applies a step and returns the values of its parameters, or None if it is impossible."""
Charging = Callable[[str, Apply, World], Apply]
"""Extends an operator's function to pay for the step."""
Expansion = tuple[CompiledMethod | None, Term, Sequence[Term], int]
"""The method (or an accepted proposal; None if no method was chosen), the values of its variables, the subtasks that
come first now, and how many subtasks the method has."""
Expand = Callable[[Term], Iterator[Expansion]]

USES = 60
"""The number of uses of a method or an operator after which code is generated for it."""
_LINKED = 15
"""Setting up for one more search without generated code counts as this many uses."""
ROWS = 1_000
"""The most candidates that a method may examine without generated code."""


class Functions:
    """The functions that a search calls for a step or a task."""

    def __init__(
        self,
        compiled: CompiledDomain,
        world: World,
        goal: CompiledMethod | None,
        charging: Charging | None = None,
    ) -> None:
        self.steps: dict[Any, tuple[Apply, CompiledOperator] | None] = _Lazy(self._step)
        self.expanders: dict[Any, list[Expand]] = _Lazy(self._expanders)
        self._compiled = compiled
        self._world = world
        self._charging = charging
        self.expanders[Own.UNORDERED] = [next_of_unordered]
        if goal is not None:
            for_goal = self.expanders[Own.GOAL] = list[Expand]()
            for_goal.append(self._when_tried(for_goal, 0, goal, None))

    def _step(self, name: str) -> tuple[Apply, CompiledOperator] | None:
        operator = self._compiled.operators.get(name)
        if operator is None:
            return None
        apply = self._applied(name, operator)
        return (apply if self._charging is None else self._charging(name, apply, self._world)), operator

    def _applied(self, name: str, operator: CompiledOperator) -> Apply:
        """Return an operator's function; the interpreted one is eventually replaced by the generated one."""
        slow = None if operator.uses >= USES else applied_by_rows(operator.source, self._world)
        if slow is None:
            return operator.program.link(self._world, operator)
        by_rows = slow
        operator.uses += _LINKED

        def apply(task: Term) -> Term | None:
            operator.uses += 1
            if operator.uses >= USES:
                self.steps[name] = self._step(name)
            return by_rows(task)

        return apply

    def _expanders(self, task: str) -> list[Expand]:
        found: list[Expand] = []
        for at, method in enumerate(self._compiled.methods.get(task, ())):
            found.append(self._when_tried(found, at, method, method))
        return found

    def _when_tried(
        self, expanders: list[Expand], at: int, method: CompiledMethod, source: CompiledMethod | None
    ) -> Expand:
        """Return a function that builds a method's function on first use, and replaces itself by it."""

        def expand(task: Term) -> Iterator[Expansion]:
            if expanders[at] is expand:
                expanders[at] = self._expander(expanders, at, method, source)
            yield from expanders[at](task)

        return expand

    def _expander(
        self, expanders: list[Expand], at: int, method: CompiledMethod, source: CompiledMethod | None
    ) -> Expand:
        """Return a method's function; the interpreted one is eventually replaced by the generated one."""
        moves, world = method.moves(self._size), self._world

        def generated() -> Expand:
            return method.program(moves).link(world, source)

        if method.uses >= USES or expected_rows(moves, world) > ROWS:
            return generated()
        slow = expanded_by_rows(method.source, moves, method.types, method.changing, world, source)
        if slow is None:
            return generated()
        by_rows = slow
        method.uses += _LINKED

        def expand(task: Term) -> Iterator[Expansion]:
            method.uses += 1
            if method.uses >= USES:
                expanders[at] = generated()
            yield from by_rows(task)

        return expand

    def _size(self, atom: Term, given: Any) -> float:
        return self._world.facts.estimate((atom[0], len(atom)), given)


def next_of_unordered(task: Term) -> Iterator[Expansion]:
    """Yield each task that may come next, followed by the others; repetitions are recognised by what is left."""
    _, steps, before, done = task
    for at, step in enumerate(steps):
        if not done >> at & 1 and before[at] & ~done == 0:
            now = done | 1 << at
            rest = ((Own.UNORDERED, steps, before, now),) if now + 1 < 1 << len(steps) else ()
            yield None, (), (step, *rest), 0


class _Lazy(dict[Any, Any]):
    """Computes the value of a key on first access."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Any) -> Any:
        value = self[key] = self._make(key)
        return value


class Costs:
    """Adds up costs, and knows a lower bound on the cost of each task."""

    def __init__(self, compiled: CompiledDomain) -> None:
        self.paid = 0.0
        self.most = inf
        """The upper bound that a plan's cost must stay below to be of interest."""
        self._compiled = compiled
        self._least = _least_costs(compiled)

    def charging(self, name: str, apply: Apply, world: World) -> Apply:
        """Return an operator's function that also pays for the step; a cost may depend on the state before it."""
        cost = self._cost_function(name, world)

        def charge(task: Term) -> Term | None:
            # An operator that does not fit its arguments has no cost either; the step itself detects that.
            due = cost(task)
            values = apply(task)
            if values is not None:
                if due is None or not due >= 0:
                    raise DomainError(
                        f"The step '{term_text(task)}' costs {due}; the cheapest plan can be looked for only where "
                        "every step costs nothing or more."
                    )
                self.paid += due
            return values

        return charge

    def least(self, task: Term) -> float:
        """Return a lower bound on the cost of a task, however it is done."""
        if task[0] is Own.UNORDERED:
            _, steps, _, done = task
            return sum(self.least(step) for at, step in enumerate(steps) if not done >> at & 1)
        return self._least.get(task[0], 0.0)

    def _cost_function(self, name: str, world: World) -> Callable[[Term], Any]:
        operator = self._compiled.operators[name].source
        if isinstance(operator.cost, int | float):
            fixed = operator.cost
            return lambda task: fixed
        return cost_program(operator).link(world, None)


def _least_costs(compiled: CompiledDomain) -> dict[Any, float]:
    """Return the lowest cost of each task: its cheapest method, with the cheapest subtasks."""
    found: dict[Any, float] = dict.fromkeys(compiled.methods, inf)
    for name, operator in compiled.operators.items():
        cost = operator.source.cost
        found[name] = max(float(cost), 0.0) if isinstance(cost, int | float) else 0.0
    changed = True
    while changed:
        changed = False
        for task, methods in compiled.methods.items():
            sources = [method.source.subtasks for method in methods]
            sums = [0.0 if callable(steps) else sum(found.get(step[0], 0.0) for step in steps) for steps in sources]
            if min(sums, default=inf) < found[task]:
                found[task] = min(sums)
                changed = True
    return found
