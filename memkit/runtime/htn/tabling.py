"""Search that does each task in each state once: what a task can lead to is worked out for all who wait for it.

The other strategies follow one line at a time, and a task that stands below itself, with more to do after it each
time, leads them on for ever. Here every task in every state has a table of the states that it can end in, and whoever
waits for it is told of new ones (Earley 1970; tabled resolution, Tamaki and Sato 1986). Where there are only so many
states there are only so many tables, so this ends: with a plan, or with the proof that there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from .functions import Expansion, Functions
from .interface import FOUND, GAVE_UP, NO_PLAN
from .search import END, Cell, Decision
from .state import Facts
from .strategies import Setting
from .terms import Term


class _State(NamedTuple):
    """A state, as what differs from the start."""

    key: int
    removed: Sequence[Term]
    added: Sequence[Term]
    numbers: Mapping[Term, Any]


@dataclass(eq=False, slots=True)
class _Table:
    """The states that a task, begun in a certain one, can end in, and who waits to hear of them."""

    ends: dict[int, _Point] = field(default_factory=dict)
    waiting: list[_Point] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class _Point:
    """How far one way to do a task has come: what is left of it, in which state, and what led there."""

    table: _Table
    left: Cell
    state: _State
    before: _Point | None = None
    by: Decision | _Point | None = None
    """The step that was taken, the method that was chosen, or the end of a subtask."""


@dataclass(eq=False, slots=True)
class _Opening:
    """Ways to do a task in a state that were not looked at yet."""

    table: _Table
    task: Term
    state: _State
    ways: Iterator[Expansion]


class Tabled:
    """Works out which states each task can end in, until the tasks of the problem end, or nothing new comes."""

    def __init__(self, setting: Setting) -> None:
        self.outcome: str | None = None
        self.decisions: Sequence[Decision] = ()
        self.nodes = 0
        self.failures = 0
        self.cost: float | None = None
        self._depth = setting.depth
        self._world = setting.new_world()
        self._facts: Facts = self._world.facts
        self._functions = Functions(setting.compiled, self._world, None, setting.goal, None)
        self._cells: dict[tuple[Term, Cell], Cell] = {}
        self._tables: dict[tuple[Term, int], _Table] = {}
        self._met: set[tuple[_Table, Cell, int]] = set()
        self._states: dict[int, _State] = {}
        self._root = _Table()
        self._agenda: list[_Point | _Opening] = []
        self._put(_Point(self._root, self._network(setting.tasks), self._here()))

    def advance(self, nodes: int) -> None:
        """Look at so many more nodes, or fewer if it ends."""
        last = self.nodes + nodes
        while self.outcome is None and self.nodes < last:
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
        too_long = self._depth is not None and len(self.decisions) > self._depth
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
            self._put(_Point(point.table, rest, self._here(), point, Decision(step[1], task, values, 0)))

    def _end(self, point: _Point) -> None:
        table = point.table
        if point.state.key not in table.ends:
            table.ends[point.state.key] = point
            for waiting in table.waiting:
                self._put(_after(waiting, point))

    def _wait(self, point: _Point, task: Term) -> None:
        """Let a point wait for the ends of its next task, which is begun if nobody waited for it in this state."""
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
        """Begin the next way to do a task; there may be more of them than there is room for."""
        self._go_to(opening.state)
        way = next(opening.ways, None)
        if way is not None:
            source, values, subtasks, width = way
            chosen = None if source is None else Decision(source, opening.task, values, width)
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
        """Return the state that holds now."""
        key = self._facts.key
        if key not in self._states:
            self._states[key] = _difference(self._facts)
        return self._states[key]


def _difference(facts: Facts) -> _State:
    """Return what the trail comes to, whatever was changed back on the way."""
    first: dict[Term, Any] = {}
    for what, how in facts.trail:
        first.setdefault(what, how)
    removed = [what for what, how in first.items() if how is False and what not in facts.facts]
    added = [what for what, how in first.items() if how is True and what in facts.facts]
    numbers = {what: facts.numbers[what] for what, how in first.items() if not isinstance(how, bool)}
    return _State(facts.key, removed, added, numbers)


def _after(waiting: _Point, end: _Point) -> _Point:
    return _Point(waiting.table, waiting.left.rest or END, end.state, waiting, end)


def _decisions(end: _Point) -> list[Decision]:
    """Return the decisions that led to an end, in preorder."""
    found: list[Decision] = []
    waiting: list[Decision | _Point] = [end]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Decision):
            found.append(item)
            continue
        point: _Point | None = item
        while point is not None:
            if point.by is not None:
                waiting.append(point.by)
            point = point.before
    return found
