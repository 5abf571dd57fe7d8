"""The search: depth-first decomposition with full backtracking, on an explicit stack.

A task network is a chain of shared cells, so that (network, state) is compared by identity and key. What was decided
is one list of decisions in preorder; from it the plan and the decomposition tree are read off at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from sys import maxsize
from typing import Any

from .compiled import CompiledDomain, CompiledMethod, CompiledOperator
from .interface import Budget
from .joins import Slots, World
from .notes import Notes
from .terms import Term

Expansion = tuple[Any, Slots, Sequence[Term]]
"""The method (or an accepted proposal), its bindings and the ground subtasks."""
Propose = Callable[[Term, "Search"], Iterator[Expansion]]


@dataclass(frozen=True, eq=False, slots=True)
class Cell:
    """The first task of a network and the rest of it; equal networks are the same cell."""

    task: Term
    rest: Cell | None
    length: int


END = Cell((), None, 0)


@dataclass(eq=False, slots=True)
class Open:
    """A task that is being decomposed: an ancestor of what comes first in the network."""

    task: Term
    rest_length: int
    version: int
    """How long the trail of changes was when it was decomposed."""
    frame: int
    previous: Open | None
    completed: bool = False
    passed_on: bool = False
    """Whether a network below it was met before, so that it may have completed there."""


@dataclass(slots=True)
class Frame:
    """A choice point: a task with the expansions that were not tried yet."""

    expansions: Iterator[Expansion]
    rest: Cell
    opened: Open
    mark: int
    decided: int
    key: tuple[Cell, int]
    tainted: int = maxsize
    """The lowest frame that a cut below this one depended on; a tainted failure is not remembered."""


@dataclass(frozen=True, slots=True)
class Decision:
    """An operator that was applied, or a method that was chosen, for a task."""

    source: CompiledOperator | CompiledMethod | Any
    task: Term
    slots: Slots
    width: int
    """How many subtasks follow."""


class Search:
    """One pass over the space of decompositions, with a bound on how often a task may be its own ancestor."""

    def __init__(
        self,
        compiled: CompiledDomain,
        world: World,
        notes: Notes,
        spend: Callable[[], None],
        budget: Budget,
        propose: Propose | None = None,
        repeats: int = 0,
    ) -> None:
        self.compiled = compiled
        self.world = world
        self.notes = notes
        self.spend = spend
        self.depth = budget.depth
        self.propose = propose
        self.repeats = repeats
        self.cut_by_depth = False
        self.decisions: list[Decision] = []
        self.opened: Open | None = None
        self._frames: list[Frame] = []
        self._cells: dict[tuple[Term, Cell], Cell] = {}
        self._visited: set[tuple[Cell, int]] = set()
        self._pruned: list[Open] = []
        self._passed_on: list[Open] = []

    def run(self, tasks: Sequence[Term]) -> bool:
        """Return whether the tasks can be done; then ``decisions`` says how."""
        network: Cell | None = self._push(tasks, END)
        while network is not None and network is not END:
            self.spend()
            self._close(network.length)
            operator = self.compiled.operators.get(network.task[0])
            if operator is not None and self._apply(operator, network.task):
                network = network.rest
                continue
            if operator is None:
                self._branch(network)
            network = self._next()
        return network is END

    def ancestors(self) -> Iterator[Term]:
        """Return the tasks that are being decomposed, innermost first."""
        opened = self.opened
        while opened is not None:
            yield opened.task
            opened = opened.previous

    def recursion_may_matter(self) -> bool:
        """Return whether a task that was cut as its own ancestor can be done at all: a deeper pass may help then."""
        for opened in self._passed_on:
            below: Open | None = opened
            while below is not None and not below.completed:
                below.completed = True
                below = below.previous
        return any(opened.completed for opened in self._pruned)

    def _push(self, tasks: Sequence[Term], rest: Cell) -> Cell:
        for task in reversed(tasks):
            key = (task, rest)
            cell = self._cells.get(key)
            if cell is None:
                cell = self._cells[key] = Cell(task, rest, rest.length + 1)
            rest = cell
        return rest

    def _close(self, length: int) -> None:
        """Leave the ancestors that are done once the network is this short."""
        while self.opened is not None and self.opened.rest_length >= length:
            self.opened.completed = True
            self.opened = self.opened.previous

    def _apply(self, operator: CompiledOperator, task: Term) -> bool:
        args = task[1:]
        misfit = operator.head.misfit(args, self.world)
        if misfit is not None:
            self.notes.misfit(operator, task, *misfit)
            return False
        slots = operator.slots(args)
        for test in operator.tests:
            if not test.holds(slots, self.world):
                self.notes.unmet(operator, task, test, slots)
                return False
        self.world.facts.change([fact(slots) for fact in operator.removed], [fact(slots) for fact in operator.added])
        self.decisions.append(Decision(operator, task, slots, 0))
        return True

    def _branch(self, network: Cell) -> None:
        """Open a choice point for the first task unless it leads nowhere new."""
        key = (network, self.world.facts.key)
        if key in self._visited:
            self._note_passed_on()
            return
        if self._is_cut(network.task):
            return
        rest = network.rest or END
        self._visited.add(key)
        opened = Open(network.task, rest.length, len(self.world.facts.trail), len(self._frames), self.opened)
        expansions = self._expansions(network.task)
        self._frames.append(Frame(expansions, rest, opened, len(self.world.facts.trail), len(self.decisions), key))

    def _note_passed_on(self) -> None:
        if self.opened is not None and not self.opened.passed_on:
            self.opened.passed_on = True
            self._passed_on.append(self.opened)

    def _is_cut(self, task: Term) -> bool:
        if self.depth is not None and len(self.decisions) >= self.depth:
            self.cut_by_depth = True
            self._taint(-1)
            return True
        same = self._same_ancestors(task)
        if len(same) <= self.repeats:
            return False
        self.notes.loop(task)
        self._pruned.extend(same)
        self._taint(same[-1].frame)
        return True

    def _same_ancestors(self, task: Term) -> list[Open]:
        """Return the same task where it was met above in this very state, innermost first."""
        found = []
        opened, version = self.opened, len(self.world.facts.trail)
        while opened is not None and opened.version == version:
            if opened.task == task:
                found.append(opened)
            opened = opened.previous
        return found

    def _taint(self, frame: int) -> None:
        if self._frames:
            self._frames[-1].tainted = min(self._frames[-1].tainted, frame)

    def _next(self) -> Cell | None:
        """Return to the last choice point that has an expansion left, and return the network it leads to."""
        while self._frames:
            frame = self._frames[-1]
            self.world.facts.undo(frame.mark)
            del self.decisions[frame.decided :]
            self.opened = frame.opened.previous
            expansion = next(frame.expansions, None)
            if expansion is not None:
                source, slots, subtasks = expansion
                self.opened = frame.opened
                self.decisions.append(Decision(source, frame.key[0].task, slots, len(subtasks)))
                return self._push(subtasks, frame.rest)
            self._drop(self._frames.pop())
        return None

    def _drop(self, frame: Frame) -> None:
        """Remember a failure only if it did not hang on a cut further up."""
        if frame.tainted < len(self._frames):
            self._visited.discard(frame.key)
            self._taint(frame.tainted)

    def _expansions(self, task: Term) -> Iterator[Expansion]:
        args, applies = task[1:], False
        for method in self.compiled.methods.get(task[0], ()):
            misfit = method.head.misfit(args, self.world)
            if misfit is not None:
                self.notes.misfit(method, task, *misfit)
                continue
            slots = method.slots(args)
            for _ in method.join.solutions(slots, self.world, partial(self.notes.unmet, method, task)):
                subtasks = method.subtasks(slots, self.world)
                if subtasks is None:
                    self.notes.declined(method, task)
                    continue
                applies = True
                yield method, slots, subtasks
        if task[0] not in self.compiled.methods:
            self.notes.unknown(task)
        if not applies and self.propose is not None:
            yield from self.propose(task, self)
