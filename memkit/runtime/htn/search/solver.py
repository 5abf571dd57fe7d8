"""Solves a problem: strategies for searching the decompositions, run within a budget, and their outcome."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

from ..compiling.codegen import Own
from ..compiling.compiled import CompiledDomain
from ..compiling.functions import Costs, Expansion, Functions
from ..compiling.state import Facts, StateView, World
from ..interface import CHEAPEST, DEPTH, FOUND, GAVE_UP, LENGTH, NO_PLAN, TURNS, Budget, Choice, Rank, Reason
from ..language.domain import Domain, Problem
from ..language.methods import done_before, tasks_with_end
from ..language.terms import ROOT_TYPE, Members, Term, counted
from .search import END, Cell, Reorder, Search, SearchDecision, SearchLimits, SearchSetting

RESTART_AFTER = 250
"""Nodes of the shortest random run; the others are multiples of it."""


def by_rank(rank: Rank) -> Reorder:
    """Return a function that orders the ways to do a task by a user's ranking."""

    def ranked(task: Term, found: list[Expansion], world: World) -> list[Expansion]:
        def value(expansion: Expansion) -> Any:
            source, values, subtasks, _ = expansion
            if source is None:
                return ()
            bindings = dict(zip(source.variables, values, strict=True))
            return rank(task, Choice(source.source.name, bindings, subtasks), world.view)

        return sorted(found, key=value)

    return ranked


class Strategy(ABC):
    """A search strategy that can be interrupted after any number of nodes."""

    def __init__(self, setting: SearchSetting) -> None:
        self.outcome: str | None = None
        """The outcome, None until it has finished."""
        self.decisions: Sequence[SearchDecision] = ()
        self.nodes = 0
        self.failures = 0
        """The number of times it had to backtrack."""
        self.cost: float | None = None
        """The cost of the cheapest plan found so far, if costs matter."""
        self._setting = setting
        self._world = setting.new_world()

    def advance(self, nodes: int) -> None:
        """Visit this many more nodes, or fewer if it ends."""
        last = self.nodes + nodes
        while self.outcome is None and self.nodes < last:
            self._go_on(last)

    @abstractmethod
    def _go_on(self, last: int) -> None:
        """Visit nodes until at most ``last`` were visited."""

    def _run(self, search: Search, last: int) -> None:
        """Let a search continue up to ``last`` nodes, and count its work."""
        nodes, failures = search.nodes, search.failures
        try:
            search.advance(last - self.nodes)
        finally:
            self.nodes += search.nodes - nodes
            self.failures += search.failures - failures


class DepthFirst(Strategy):
    """Searches depth first in the order of the domain; complete, and immediate if the domain gives good guidance."""

    def __init__(self, setting: SearchSetting, length: int | None = None) -> None:
        super().__init__(setting)
        self._limits = SearchLimits(length=None if length is None else len(setting.tasks) + length)
        self._search = self._begin()

    def _go_on(self, last: int) -> None:
        self._run(self._search, last)
        if self._search.found:
            self._found()
        elif self._search.exhausted:
            self._widen()

    def _found(self) -> None:
        self.outcome, self.decisions = FOUND, self._search.decisions

    def _widen(self) -> None:
        """Start again with the limit raised that made this pass backtrack, if any did."""
        if self._search.cut_by_length and self._limits.length is not None:
            beyond = self._limits.length - len(self._setting.tasks)
            self._limits = replace(self._limits, length=len(self._setting.tasks) + 2 * beyond)
        elif self._search.cut_by_depth:
            self.outcome = GAVE_UP
        elif self._search.recursion_may_matter():
            self._limits = replace(self._limits, repeats=max(1, 2 * self._limits.repeats))
        else:
            self.outcome = NO_PLAN
        self._search = self._begin()

    def _begin(self) -> Search:
        return Search(self._setting, self._world, self._limits)


class Cheapest(DepthFirst):
    """Searches depth first for one plan, then for ever cheaper ones (branch and bound), until there is none."""

    def __init__(self, setting: SearchSetting) -> None:
        self._costs = Costs(setting.compiled)
        super().__init__(setting)

    def _found(self) -> None:
        if self._costs.paid < self._costs.most:
            self.cost = self._costs.most = self._costs.paid
            self.decisions = list(self._search.decisions)
        self._search.look_on()

    def _widen(self) -> None:
        super()._widen()
        if self.outcome == NO_PLAN and self.cost is not None:
            self.outcome = FOUND

    def _begin(self) -> Search:
        self._costs.paid = 0.0
        return Search(self._setting, self._world, self._limits, costs=self._costs)


class Restarts(Strategy):
    """Searches with choices in random order, restarting repeatedly, with occasional longer runs (Luby)."""

    def __init__(self, setting: SearchSetting) -> None:
        super().__init__(setting)
        self._random = random.Random(0)
        self._runs = 0
        self._search: Search | None = None
        self._end = 0

    def _go_on(self, last: int) -> None:
        search = self._search or self._restart()
        self._run(search, min(last, self._end))
        if search.found:
            self.outcome, self.decisions = FOUND, search.decisions
        elif search.exhausted or self.nodes >= self._end:
            search.leave()
            self._search = None

    def _restart(self) -> Search:
        self._runs += 1
        self._end = self.nodes + RESTART_AFTER * luby(self._runs)
        self._search = Search(self._setting, self._world, SearchLimits(), reorder=self._shuffled)
        return self._search

    def _shuffled(self, task: Term, found: list[Expansion], world: World) -> list[Expansion]:
        self._random.shuffle(found)
        return found


def luby(run: int) -> int:
    """Return the length of a run in the sequence 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 … (Luby, Sinclair, Zuckerman 1993).

    >>> [luby(run) for run in range(1, 16)]
    [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
    """
    while (run + 1) & run:
        run -= (1 << run.bit_length() - 1) - 1
    return (run + 1) >> 1


class _State(NamedTuple):
    """A state, as its difference from the initial one."""

    key: int
    removed: Sequence[Term]
    added: Sequence[Term]
    numbers: Mapping[Term, Any]


@dataclass(eq=False, slots=True)
class _Table:
    """The possible end states of a task started in a certain state, and the points waiting for them."""

    ends: dict[int, _Point] = field(default_factory=dict)
    waiting: list[_Point] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class _Point:
    """The progress of one way to do a task: what is left of it, in which state, and what led there."""

    table: _Table
    left: Cell
    state: _State
    before: _Point | None = None
    by: SearchDecision | _Point | None = None
    """The step that was taken, the method that was chosen, or the end of a subtask."""


@dataclass(eq=False, slots=True)
class _Opening:
    """Unexamined ways to do a task in a state."""

    table: _Table
    task: Term
    state: _State
    ways: Iterator[Expansion]


class Tabled(Strategy):
    """Computes the states that each task can end in, until the tasks of the problem end, or nothing new is found."""

    def __init__(self, setting: SearchSetting) -> None:
        super().__init__(setting)
        self._facts: Facts = self._world.facts
        self._functions = Functions(setting.compiled, self._world, setting.goal)
        self._cells: dict[tuple[Term, Cell], Cell] = {}
        self._tables: dict[tuple[Term, int], _Table] = {}
        self._met: set[tuple[_Table, Cell, int]] = set()
        self._states: dict[int, _State] = {}
        self._root = _Table()
        self._agenda: list[_Point | _Opening] = []
        self._put(_Point(self._root, self._network(setting.tasks), self._here()))

    def _go_on(self, last: int) -> None:
        if not self._agenda:
            self.outcome = NO_PLAN
            return
        self.nodes += 1
        item = self._agenda.pop()
        if isinstance(item, _Opening):
            self._open(item)
        else:
            self._proceed(item)
        if self._root.ends:
            self._found(next(iter(self._root.ends.values())))

    def _found(self, end: _Point) -> None:
        self.decisions = _decisions(end)
        too_long = self._setting.depth is not None and len(self.decisions) > self._setting.depth
        self.outcome = GAVE_UP if too_long else FOUND

    def _proceed(self, point: _Point) -> None:
        if point.left is END:
            self._end(point)
            return
        self._go_to(point.state)
        task, rest = point.left.task, point.left.rest or END
        step = self._functions.steps[task[0]]
        if step is None:
            self._wait(point, task)
            return
        values = step[0](task)
        if values is not None:
            self._put(_Point(point.table, rest, self._here(), point, SearchDecision(step[1], task, values, 0)))

    def _end(self, point: _Point) -> None:
        table = point.table
        if point.state.key not in table.ends:
            table.ends[point.state.key] = point
            for waiting in table.waiting:
                self._put(_after(waiting, point))

    def _wait(self, point: _Point, task: Term) -> None:
        """Let a point wait for the ends of its next task, which is started if nothing waited for it in this state."""
        key = (task, point.state.key)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = _Table()
            ways = chain.from_iterable(each(task) for each in self._functions.expanders[task[0]])
            self._agenda.append(_Opening(table, task, point.state, ways))
        table.waiting.append(point)
        for end in table.ends.values():
            self._put(_after(point, end))

    def _open(self, opening: _Opening) -> None:
        """Start the next way to do a task; there may be more of them than fit."""
        self._go_to(opening.state)
        way = next(opening.ways, None)
        if way is not None:
            source, values, subtasks, width = way
            chosen = None if source is None else SearchDecision(source, opening.task, values, width)
            self._agenda.append(opening)
            self._put(_Point(opening.table, self._network(subtasks), opening.state, None, chosen))

    def _put(self, point: _Point) -> None:
        key = (point.table, point.left, point.state.key)
        if key not in self._met:
            self._met.add(key)
            self._agenda.append(point)

    def _network(self, tasks: Sequence[Term]) -> Cell:
        rest = END
        for task in reversed(tasks):
            rest = self._cells.setdefault((task, rest), Cell(task, rest, rest.length + 1))
        return rest

    def _go_to(self, state: _State) -> None:
        if self._facts.key != state.key:
            self._facts.undo(0)
            self._facts.change(state.removed, state.added, state.numbers.items())

    def _here(self) -> _State:
        key = self._facts.key
        if key not in self._states:
            self._states[key] = _difference(self._facts)
        return self._states[key]


def _difference(facts: Facts) -> _State:
    """Return the net effect of the trail, ignoring changes that were reverted."""
    first: dict[Term, Any] = {}
    for what, how in facts.trail:
        first.setdefault(what, how)
    removed = [what for what, how in first.items() if how is False and what not in facts.facts]
    added = [what for what, how in first.items() if how is True and what in facts.facts]
    numbers = {what: facts.numbers[what] for what, how in first.items() if not isinstance(how, bool)}
    return _State(facts.key, removed, added, numbers)


def _after(waiting: _Point, end: _Point) -> _Point:
    return _Point(waiting.table, waiting.left.rest or END, end.state, waiting, end)


def _decisions(end: _Point) -> list[SearchDecision]:
    found: list[SearchDecision] = []
    waiting: list[SearchDecision | _Point] = [end]
    while waiting:
        item = waiting.pop()
        if isinstance(item, SearchDecision):
            found.append(item)
            continue
        point: _Point | None = item
        while point is not None:
            if point.by is not None:
                waiting.append(point.by)
            point = point.before
    return found


_LOOK_AT_CLOCK_EVERY = 256
_FAILURES_ALONE = 1_000
"""How often plain depth-first search may backtrack on its own; most domains give enough guidance."""
_NODES_ALONE = 40_000
"""How long it may continue alone without backtracking: for a plan of that length, or an endless line."""
_FIRST_LENGTH = 4
"""The number of pending tasks, besides those of the problem, that the first pass with a growing limit allows."""
_TURN = 1_000
_TURNS = (3 * _TURN, _TURN, _TURN, _TURN // 2)
"""The nodes per turn of each strategy when they alternate."""


class OutOfBudget(Exception):
    """Stop the search because a limit was reached."""


class Meter:
    """Counts what a search spends and stops it at the limit."""

    def __init__(self, budget: Budget, clock: Callable[[], float]) -> None:
        self.nodes = 0
        self._limit = budget.nodes
        self._seconds = budget.seconds
        self._clock = clock
        self._end = None if budget.seconds is None else clock() + budget.seconds
        self._ticks = 0

    def part(self, budget: Budget) -> Meter:
        """Return a meter for a part of the work, with its own limits and never more time than is left."""
        part = Meter(budget, self._clock)
        ends = [end for end in (self._end, part._end) if end is not None]
        part._end = min(ends, default=None)
        return part

    def run(self, strategy: Strategy, nodes: int) -> None:
        """Let a strategy continue for this many nodes within the budget."""
        last = strategy.nodes + nodes
        while strategy.outcome is None and strategy.nodes < last:
            allowed = min(_LOOK_AT_CLOCK_EVERY, last - strategy.nodes)
            if self._limit is not None:
                allowed = min(allowed, self._limit - self.nodes)
                if allowed <= 0:
                    raise OutOfBudget(f"gave up after {counted(self._limit, 'node')}")
            before = strategy.nodes
            try:
                strategy.advance(allowed)
            finally:
                self.nodes += strategy.nodes - before
            if strategy.outcome is None:
                self._look()

    def tick(self, candidates: int) -> None:
        """Count candidates of a join, and check the clock now and then."""
        self._ticks += candidates
        if self._ticks >= _LOOK_AT_CLOCK_EVERY:
            self._ticks = 0
            self._look()

    def _look(self) -> None:
        if self._end is not None and self._clock() >= self._end:
            raise OutOfBudget(f"gave up after {self._seconds:g} seconds")


@dataclass(frozen=True)
class SearchOutcome:
    """The outcome of a search."""

    outcome: str
    decisions: Sequence[SearchDecision] = ()
    bound: Reason | None = None
    """The limit that was reached, if the search gave up, or stopped looking for a cheaper plan."""
    cost: float | None = None


def make_world(problem: Problem, find_members: Callable[[], Members], tick: Callable[[int], None]) -> World:
    """Return the initial facts, numbers and typed objects of a problem."""
    facts = Facts(problem.state, problem.numbers)
    return World(facts, find_members, StateView(facts.facts, problem.spelled), tick)


def network_of(problem: Problem) -> tuple[Term, ...]:
    """Return the tasks in the form that the search takes: in sequence, followed by the goal."""
    tasks = problem.tasks
    if problem.ordering is not None and len(tasks) > 1:
        tasks = ((Own.UNORDERED, tasks, done_before(problem.ordering, tasks), 0),)
    return (*tasks, (Own.GOAL,)) if problem.goal else tasks


def all_declared(domain: Domain, problem: Problem, find_members: Callable[[], Members]) -> bool:
    """Return whether every object was declared, so that each has one type and its supertypes."""
    declared = domain.objects.keys() | problem.objects.keys()
    return bool(declared) and find_members()[ROOT_TYPE].keys() <= declared


def search(setting: SearchSetting, meter: Meter, strategy: str = DEPTH) -> SearchOutcome:
    """Search with a strategy of :mod:`interface` until there is an outcome or the budget is spent."""
    length = _FIRST_LENGTH if strategy == LENGTH else None
    running: list[Strategy] = [Cheapest(setting) if strategy == CHEAPEST else DepthFirst(setting, length=length)]
    try:
        while running[0].outcome is None and not (strategy == TURNS and _is_stuck(running[0])):
            meter.run(running[0], _TURN)
        if running[0].outcome is None:
            running += [DepthFirst(setting, length=_FIRST_LENGTH), Restarts(setting), Tabled(setting)]
        while all(each.outcome is None for each in running):
            for each, nodes in zip(running, _TURNS, strict=True):
                meter.run(each, nodes)
                if each.outcome is not None:
                    break
    except OutOfBudget as stopped:
        return _bounded(running[0], str(stopped))
    ended = next(each for each in running if each.outcome is not None)
    if ended.outcome == GAVE_UP:
        return _bounded(ended, f"gave up: a line of the search was longer than {setting.depth}")
    return SearchOutcome(str(ended.outcome), ended.decisions, cost=ended.cost)


def _is_stuck(plain: Strategy) -> bool:
    """Return whether it is time for other strategies: it backtracked often, or continues endlessly."""
    return plain.failures > _FAILURES_ALONE or plain.nodes > _NODES_ALONE


def _bounded(first: Strategy, words: str) -> SearchOutcome:
    """Return the result when a limit was reached: nothing, or a plan that need not be the cheapest."""
    if first.cost is None:
        return SearchOutcome(GAVE_UP, bound=Reason("budget", words))
    words = f"{words} looking for a cheaper plan; there may be one"
    return SearchOutcome(FOUND, first.decisions, Reason("budget", words), first.cost)


def without_dead_ends(compiled: CompiledDomain) -> CompiledDomain:
    """Remove the methods that can never end in steps: a subtask is unknown, or leads back to itself for ever."""
    sources = (method.source for methods in compiled.methods.values() for method in methods)
    ends = tasks_with_end(compiled.operators, sources)
    kept = {
        task: tuple(each for each in methods if each.source.is_within(ends))
        for task, methods in compiled.methods.items()
    }
    return replace(compiled, methods=kept)
