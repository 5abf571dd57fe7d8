"""Solve a problem: build the world, run passes of the search within a budget, and say what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .compiled import CompiledDomain, CompiledMethod
from .domain import Domain, Problem
from .interface import FOUND, GAVE_UP, NO_PLAN, Budget, Reason
from .joins import World
from .notes import Notes
from .objects import typed_objects
from .search import Decision, Propose, Search
from .state import Facts, StateView
from .terms import Term

_LOOK_AT_CLOCK_EVERY = 256


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

    def spend(self) -> None:
        """Count one node of the search."""
        self.nodes += 1
        if self._limit is not None and self.nodes > self._limit:
            raise OutOfBudget(f"gave up after {self._limit} nodes")
        self.tick()

    def tick(self) -> None:
        """Count one candidate, and look at the clock now and then."""
        self._ticks += 1
        if self._end is not None and self._ticks % _LOOK_AT_CLOCK_EVERY == 0 and self._clock() >= self._end:
            raise OutOfBudget(f"gave up after {self._seconds:g} seconds")


@dataclass(frozen=True)
class Outcome:
    """What the passes of a search came to."""

    outcome: str
    decisions: Sequence[Decision] = ()


def make_world(domain: Domain, problem: Problem, tick: Callable[[], None]) -> World:
    """Return the facts and typed objects that a problem starts with."""
    facts = Facts(problem.state)
    return World(facts, typed_objects(domain, problem), StateView(facts.facts, problem.spelled), tick)


def search(
    compiled: CompiledDomain,
    tasks: Sequence[Term],
    world: World,
    notes: Notes,
    meter: Meter,
    budget: Budget,
    propose: Propose | None = None,
) -> Outcome:
    """Run passes that allow more and more recursion, until one finds a plan or shows that there is none."""
    repeats = 0
    while True:
        attempt = Search(compiled, world, notes, meter.spend, budget, propose, repeats)
        try:
            if attempt.run(tasks):
                return Outcome(FOUND, attempt.decisions)
        except OutOfBudget as stopped:
            notes.add(Reason("budget", str(stopped)))
            return Outcome(GAVE_UP)
        if attempt.cut_by_depth:
            notes.add(Reason("budget", f"gave up: a line of the search was longer than {budget.depth}"))
            return Outcome(GAVE_UP)
        if not attempt.recursion_may_matter():
            return Outcome(NO_PLAN)
        repeats = max(1, repeats * 2)


def without_dead_ends(compiled: CompiledDomain, notes: Notes) -> CompiledDomain:
    """Leave out the methods that can never end in steps: a subtask is unknown, or leads back to itself for ever."""
    ends = set(compiled.operators)
    waiting = [method for methods in compiled.methods.values() for method in methods]
    while True:
        able = [method for method in waiting if ends.issuperset(_subtask_names(method))]
        if not able:
            break
        ends.update(method.source.task for method in able)
        waiting = [method for method in waiting if method not in able]
    for method in waiting:
        notes.add(_dead_end(method, compiled, ends))
    kept = {
        task: tuple(method for method in methods if method not in waiting) for task, methods in compiled.methods.items()
    }
    return replace(compiled, methods=kept)


def _subtask_names(method: CompiledMethod) -> list[str]:
    subtasks = method.source.subtasks
    return [] if callable(subtasks) else [str(step[0]) for step in subtasks]


def _dead_end(method: CompiledMethod, compiled: CompiledDomain, ends: set[str]) -> Reason:
    task, name = method.source.task, method.source.name
    missing = [each for each in _subtask_names(method) if each not in ends]
    unknown = next((each for each in missing if each not in compiled.methods), None)
    if unknown is not None:
        words = f"{task}, method {name}: no operator and no method is called {unknown}"
        return Reason("unknown", words, task, name)
    return Reason("loop", f"{task}, method {name}: {missing[0]} never ends in steps", task, name)
