"""Solve a problem: build the world, run strategies within a budget, and say what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..compiling.codegen import Own
from ..compiling.compiled import CompiledDomain, CompiledMethod, Notes
from ..compiling.state import Facts, StateView, World
from ..errors import counted
from ..interface import CHEAPEST, DEPTH, FOUND, GAVE_UP, LENGTH, TURNS, Budget, Reason
from ..language.domain import Domain, Problem
from ..language.methods import done_before
from ..language.terms import ROOT_TYPE, Members, Term
from .search import SearchDecision, SearchSetting
from .strategies import Cheapest, DepthFirst, Restarts, Strategy, Tabled

_LOOK_AT_CLOCK_EVERY = 256
_FAILURES_ALONE = 1_000
"""How often plain depth-first search may turn back alone; most domains say well enough where to go."""
_NODES_ALONE = 40_000
"""How long it may go on alone without turning back: a plan of so many steps, or a line that never ends."""
_FIRST_LENGTH = 4
"""Tasks that may wait besides those of the problem, when a search begins that allows more and more."""
_TURN = 1_000
_TURNS = (3 * _TURN, _TURN, _TURN, _TURN // 2)
"""Nodes for which each strategy goes on when they take turns."""
_EXPLAINED = Budget(nodes=20_000, seconds=1.0)
"""What may be spent on finding words for a failure."""


class OutOfBudget(Exception):
    """Stop the search because a bound was reached."""


class Meter:
    """Counts what a search spends and stops it at the bound."""

    def __init__(self, budget: Budget, clock: Callable[[], float]) -> None:
        self.nodes = 0
        self._limit = budget.nodes
        self._seconds = budget.seconds
        self._clock = clock
        self._end = None if budget.seconds is None else clock() + budget.seconds
        self._ticks = 0

    def part(self, budget: Budget) -> Meter:
        """Return a meter for a part of the work, with bounds of its own and never more time than is left."""
        part = Meter(budget, self._clock)
        ends = [end for end in (self._end, part._end) if end is not None]
        part._end = min(ends, default=None)
        return part

    def run(self, strategy: Strategy, nodes: int) -> None:
        """Let a strategy go on for so many nodes within the budget."""
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
        """Count candidates of a join, and look at the clock now and then."""
        self._ticks += candidates
        if self._ticks >= _LOOK_AT_CLOCK_EVERY:
            self._ticks = 0
            self._look()

    def _look(self) -> None:
        if self._end is not None and self._clock() >= self._end:
            raise OutOfBudget(f"gave up after {self._seconds:g} seconds")


@dataclass(frozen=True)
class SearchOutcome:
    """What a search came to."""

    outcome: str
    decisions: Sequence[SearchDecision] = ()
    bound: Reason | None = None
    """Which bound was reached, where the search gave up, or gave up looking for a cheaper plan."""
    cost: float | None = None


def make_world(problem: Problem, find_members: Callable[[], Members], tick: Callable[[int], None]) -> World:
    """Return the facts, numbers and typed objects that a problem starts with."""
    facts = Facts(problem.state, problem.numbers)
    return World(facts, find_members, StateView(facts.facts, problem.spelled), tick)


def network_of(problem: Problem) -> tuple[Term, ...]:
    """Return what is to be done, as the search takes it: tasks in a line, then the goal."""
    tasks = problem.tasks
    if problem.ordering is not None and len(tasks) > 1:
        tasks = ((Own.UNORDERED, tasks, done_before(problem.ordering, tasks), 0),)
    return (*tasks, (Own.GOAL,)) if problem.goal else tasks


def all_declared(domain: Domain, problem: Problem, find_members: Callable[[], Members]) -> bool:
    """Return whether every object was declared, so that each has one type and the types above it."""
    declared = domain.objects.keys() | problem.objects.keys()
    return bool(declared) and find_members()[ROOT_TYPE].keys() <= declared


def search(setting: SearchSetting, meter: Meter, strategy: str = DEPTH) -> SearchOutcome:
    """Search with a strategy of :mod:`interface` until something comes of it or the budget is spent."""
    running = _started(setting, strategy)
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
    """Return whether it is time for other strategies: it turned back often, or goes on and on without an end."""
    return plain.failures > _FAILURES_ALONE or plain.nodes > _NODES_ALONE


def _started(setting: SearchSetting, strategy: str) -> list[Strategy]:
    if strategy == CHEAPEST:
        return [Cheapest(setting)]
    return [DepthFirst(setting, length=_FIRST_LENGTH if strategy == LENGTH else None)]


def _bounded(first: Strategy, words: str) -> SearchOutcome:
    """Return what there is where a bound was reached: nothing, or a plan that need not be the cheapest."""
    if first.cost is None:
        return SearchOutcome(GAVE_UP, bound=Reason("budget", words))
    words = f"{words} looking for a cheaper plan; there may be one"
    return SearchOutcome(FOUND, first.decisions, Reason("budget", words), first.cost)


def reasons_of(found: SearchOutcome, notes: Notes) -> tuple[Reason, ...]:
    """Return everything that stood in the way, at the end the bound that was reached."""
    return (*notes.reasons(), *([] if found.bound is None else [found.bound]))


def explain(setting: SearchSetting, nodes: int | None, clock: Callable[[], float]) -> Notes:
    """Return what stands in the way of a plan, found by looking again, taking notes, at the beginning of the search.

    A search that gave up is looked at for no more nodes than it had.
    """
    notes = Notes()
    most = _EXPLAINED if nodes is None else replace(_EXPLAINED, nodes=min(nodes, _EXPLAINED.nodes or nodes))
    meter = Meter(most, clock)
    search(replace(setting, notes=notes, reorder=None), meter)
    return notes


def without_dead_ends(compiled: CompiledDomain) -> tuple[CompiledDomain, tuple[Reason, ...]]:
    """Leave out the methods that can never end in steps: a subtask is unknown, or leads back to itself for ever."""
    ends = set(compiled.operators)
    waiting = [method for methods in compiled.methods.values() for method in methods]
    while True:
        able = {method for method in waiting if ends.issuperset(_subtask_names(method))}
        if not able:
            break
        ends.update(method.source.task for method in able)
        waiting = [method for method in waiting if method not in able]
    kept = {
        task: tuple(method for method in methods if method not in waiting) for task, methods in compiled.methods.items()
    }
    return replace(compiled, methods=kept), tuple(_dead_end(method, compiled, ends) for method in waiting)


def _subtask_names(method: CompiledMethod) -> list[str]:
    return [str(step[0]) for step in method.source.steps]


def _dead_end(method: CompiledMethod, compiled: CompiledDomain, ends: set[str]) -> Reason:
    task, name = method.source.task, method.source.name
    missing = [each for each in _subtask_names(method) if each not in ends]
    unknown = next((each for each in missing if each not in compiled.methods), None)
    if unknown is not None:
        words = f"{task}, method {name}: no operator and no method is called {unknown}"
        return Reason("unknown", words, task, name)
    return Reason("loop", f"{task}, method {name}: {missing[0]} never ends in steps", task, name)
