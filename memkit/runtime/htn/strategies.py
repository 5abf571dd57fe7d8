"""Ways to go through the space of decompositions: depth first, length by length, and at random with restarts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from .compiled import CompiledDomain, CompiledMethod
from .costs import Costs
from .functions import Expansion
from .interface import FOUND, GAVE_UP, NO_PLAN, Choice, Rank
from .notes import Notes
from .search import Decision, Limits, Propose, Reorder, Search
from .terms import Term
from .world import World

RESTART_AFTER = 250
"""Nodes of the shortest random run; the others are multiples of it."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What all strategies of one problem have in common."""

    compiled: CompiledDomain
    tasks: Sequence[Term]
    new_world: Callable[[], World]
    goal: CompiledMethod | None = None
    depth: int | None = None
    notes: Notes | None = None
    propose: Propose | None = None
    reorder: Reorder | None = None

    def search(
        self, world: World, limits: Limits, reorder: Reorder | None = None, costs: Costs | None = None
    ) -> Search:
        """Return a search from the start."""
        return Search(
            self.compiled,
            world,
            self.tasks,
            replace(limits, depth=self.depth),
            goal=self.goal,
            notes=self.notes,
            propose=self.propose,
            reorder=reorder or self.reorder,
            costs=costs,
        )


def by_rank(rank: Rank) -> Reorder:
    """Return the order that a caller's function gives to the ways to do a task."""

    def ranked(task: Term, found: list[Expansion], world: World) -> list[Expansion]:
        def value(expansion: Expansion) -> Any:
            source, values, subtasks, _ = expansion
            if source is None:
                return ()
            bindings = dict(zip(source.variables, values, strict=True))
            return rank(task, Choice(source.source.name, bindings, subtasks), world.view)

        return sorted(found, key=value)

    return ranked


class Strategy(Protocol):
    """A way to search, which can be interrupted after any number of nodes."""

    outcome: str | None
    """What came of it, None while it is not at an end."""
    decisions: Sequence[Decision]
    nodes: int
    failures: int
    cost: float | None

    def advance(self, nodes: int) -> None:
        """Look at so many more nodes, or fewer if it ends."""


class DepthFirst:
    """Searches depth first in the order of the domain; complete, and at once where the domain says where to go."""

    def __init__(self, setting: Setting, length: int | None = None) -> None:
        self.outcome: str | None = None
        self.decisions: Sequence[Decision] = ()
        self.nodes = 0
        self.failures = 0
        """How often it had to turn back."""
        self.cost: float | None = None
        """What the cheapest plan costs that was found so far, where costs matter."""
        self._setting = setting
        self._world = setting.new_world()
        self._limits = Limits(length=None if length is None else len(setting.tasks) + length)
        self._search = self._begin()

    def advance(self, nodes: int) -> None:
        """Look at so many more nodes, or fewer if it ends."""
        last = self.nodes + nodes
        while self.outcome is None and self.nodes < last:
            nodes_before, failures_before = self._search.nodes, self._search.failures
            try:
                self._search.advance(last - self.nodes)
            finally:
                self.nodes += self._search.nodes - nodes_before
                self.failures += self._search.failures - failures_before
            if self._search.found:
                self._found()
            elif self._search.exhausted:
                self._widen()

    def _found(self) -> None:
        self.outcome, self.decisions = FOUND, self._search.decisions

    def _widen(self) -> None:
        """Begin again with what made this pass turn back allowed, if anything did."""
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
        return self._setting.search(self._world, self._limits)


class Cheapest(DepthFirst):
    """Searches depth first for one plan, then for ever cheaper ones (branch and bound), until there is none."""

    def __init__(self, setting: Setting) -> None:
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
        return self._setting.search(self._world, self._limits, costs=self._costs)


class Restarts:
    """Searches with choices in random order, from the start again and again, for now and then longer (Luby)."""

    def __init__(self, setting: Setting) -> None:
        self.outcome: str | None = None
        self.decisions: Sequence[Decision] = ()
        self.nodes = 0
        self.failures = 0
        self.cost: float | None = None
        self._setting = setting
        self._world = setting.new_world()
        self._random = random.Random(0)
        self._run = 0
        self._search: Search | None = None
        self._end = 0

    def advance(self, nodes: int) -> None:
        """Look at so many more nodes, or fewer if it ends."""
        last = self.nodes + nodes
        while self.outcome is None and self.nodes < last:
            search = self._search or self._restart()
            nodes_before, failures_before = search.nodes, search.failures
            try:
                search.advance(min(last, self._end) - self.nodes)
            finally:
                self.nodes += search.nodes - nodes_before
                self.failures += search.failures - failures_before
            if search.found:
                self.outcome, self.decisions = FOUND, search.decisions
            elif search.exhausted or self.nodes >= self._end:
                search.leave()
                self._search = None

    def _restart(self) -> Search:
        self._run += 1
        self._end = self.nodes + RESTART_AFTER * luby(self._run)
        self._search = self._setting.search(self._world, Limits(), self._shuffled)
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
