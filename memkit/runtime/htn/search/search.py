"""The search: depth-first decomposition with full backtracking, on an explicit stack; its decisions, as a tree.

A task network is a chain of shared cells, so that (network, state) is compared by identity and key. The decisions
form one list in preorder, from which the plan and the decomposition tree are derived at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from sys import maxsize
from typing import Any, NamedTuple, overload

from ..compiling.codegen import Own
from ..compiling.compiled import CompiledDomain, CompiledMethod, CompiledOperator
from ..compiling.functions import Costs, Expansion, Functions
from ..compiling.state import World
from ..interface import Node, Step
from ..language.terms import Term, term_text

Propose = Callable[[Term, "Search"], Iterator[Expansion]]
Reorder = Callable[[Term, list[Expansion], World], Iterable[Expansion]]


@dataclass(eq=False, slots=True)
class Cell:
    """The first task of a network and the rest of it; equal networks are the same cell."""

    task: Term
    rest: Cell | None
    length: int
    least: float = 0.0
    """The lowest total cost of doing it, if costs matter."""


END = Cell((), None, 0)


@dataclass(eq=False, slots=True)
class OpenTask:
    """A task being decomposed: an ancestor of the network's first task."""

    task: Term
    rest_length: int
    version: int
    """The length of the trail of changes when it was decomposed."""
    frame: int
    previous: OpenTask | None
    completed: bool = False
    passed_on: bool = False
    """Whether a network below it was met before, so that it may have completed there."""


@dataclass(slots=True)
class Frame:
    """A choice point: a task with its untried expansions."""

    expansions: Iterator[Expansion]
    rest: Cell
    opened: OpenTask
    mark: int
    decided: int
    key: tuple[Cell, int]
    paid: float
    tainted: int = maxsize
    """The lowest frame that a cut below this one depended on; a tainted failure is not remembered."""


class SearchDecision(NamedTuple):
    """An operator that was applied, or a method that was chosen, for a task."""

    source: CompiledOperator | CompiledMethod
    task: Term
    values: Term
    """The values of the source's variables."""
    width: int
    """The number of subtasks that follow."""


@dataclass(frozen=True, kw_only=True)
class SearchLimits:
    """Limits at which a search backtracks; a search that never reached one has seen everything."""

    repeats: int = 0
    """How often a task may be its own ancestor while nothing changes."""
    length: int | None = None
    """The most tasks in a network."""


@dataclass(frozen=True, kw_only=True)
class SearchSetting:
    """What all searches of one problem share."""

    compiled: CompiledDomain
    tasks: Sequence[Term]
    new_world: Callable[[], World]
    goal: CompiledMethod | None = None
    depth: int | None = None
    """The most decisions in one line of a search."""
    propose: Propose | None = None
    reorder: Reorder | None = None


class Search:
    """One pass over the space of decompositions, which can be interrupted and resumed."""

    def __init__(
        self,
        setting: SearchSetting,
        world: World,
        limits: SearchLimits,
        *,
        reorder: Reorder | None = None,
        costs: Costs | None = None,
    ) -> None:
        self.compiled = setting.compiled
        self.world = world
        self.limits = limits
        self.depth = setting.depth
        self.propose = setting.propose
        self.reorder = reorder or setting.reorder
        self.costs = costs
        self.nodes = 0
        self.failures = 0
        """The number of times it had to backtrack."""
        self.cut_by_depth = False
        self.cut_by_length = False
        self.decisions: list[SearchDecision] = []
        self.opened: OpenTask | None = None
        self._functions = Functions(setting.compiled, world, setting.goal, None if costs is None else costs.charging)
        self._frames: list[Frame] = []
        self._cells: dict[tuple[Term, Cell], Cell] = {}
        self._visited: dict[tuple[Cell, int], float] = {}
        """Networks with the states in which they were met, and the lowest cost paid up to then."""
        self._pruned: list[OpenTask] = []
        self._passed_on: list[OpenTask] = []
        self._start = len(world.facts.trail)
        self._network: Cell | None = self._push(setting.tasks, END)

    @property
    def found(self) -> bool:
        """Return whether the tasks are done; ``decisions`` then tells how."""
        return self._network is END

    @property
    def exhausted(self) -> bool:
        """Return whether there is nothing left to try."""
        return self._network is None

    def advance(self, nodes: int) -> None:
        """Visit this many nodes, or fewer if the search ends."""
        steps, last = self._functions.steps, self.nodes + nodes
        network = self._network
        while network is not None and network is not END and self.nodes < last:
            self.nodes += 1
            if self.opened is not None and self.opened.rest_length >= network.length:
                self._close(network.length)
            step = steps[network.task[0]]
            values = None if step is None else step[0](network.task)
            if step is not None and values is not None:
                self.decisions.append(SearchDecision(step[1], network.task, values, 0))
                network = network.rest
                continue
            if step is not None or not self._branch(network):
                self.failures += 1
            network = self._next()
        self._network = network

    def look_on(self) -> None:
        """Continue after a plan was found, for a cheaper one."""
        self._close(0)
        self._network = self._next()

    def leave(self) -> None:
        """Undo all changes of the state."""
        self.world.facts.undo(self._start)

    def ancestors(self) -> Iterator[Term]:
        """Return the tasks being decomposed, innermost first."""
        opened = self.opened
        while opened is not None:
            if not isinstance(opened.task[0], Own):
                yield opened.task
            opened = opened.previous

    def recursion_may_matter(self) -> bool:
        """Return whether a task that was cut as its own ancestor can be done at all: a deeper pass may then help."""
        for opened in self._passed_on:
            below: OpenTask | None = opened
            while below is not None and not below.completed:
                below.completed = True
                below = below.previous
        return any(opened.completed for opened in self._pruned)

    def _push(self, tasks: Sequence[Term], rest: Cell) -> Cell:
        for task in reversed(tasks):
            key = (task, rest)
            cell = self._cells.get(key)
            if cell is None:
                least = 0.0 if self.costs is None else self.costs.least(task) + rest.least
                cell = self._cells[key] = Cell(task, rest, rest.length + 1, least)
            rest = cell
        return rest

    def _close(self, length: int) -> None:
        """Leave the ancestors that are done once the network is this short."""
        while self.opened is not None and self.opened.rest_length >= length:
            self.opened.completed = True
            self.opened = self.opened.previous

    def _branch(self, network: Cell) -> bool:
        """Open a choice point for the first task and return True, unless it leads nowhere new."""
        facts, paid = self.world.facts, 0.0 if self.costs is None else self.costs.paid
        if self.costs is not None and paid + network.least >= self.costs.most:
            return False
        key = (network, facts.key)
        if key in self._visited and self._visited[key] <= paid:
            if self.opened is not None and not self.opened.passed_on:
                self.opened.passed_on = True
                self._passed_on.append(self.opened)
            return False
        if self._is_cut(network):
            return False
        self._visited[key] = paid
        rest, changes = network.rest or END, len(facts.trail)
        opened = OpenTask(network.task, rest.length, changes, len(self._frames), self.opened)
        self._frames.append(
            Frame(self._expansions(network.task), rest, opened, changes, len(self.decisions), key, paid)
        )
        return True

    def _is_cut(self, network: Cell) -> bool:
        limits = self.limits
        if limits.length is not None and network.length > limits.length:
            # Any later visit of this network in this search meets the same limit, so nothing is tainted.
            self.cut_by_length = True
            return True
        if self.depth is not None and len(self.decisions) >= self.depth:
            self.cut_by_depth = True
            self._taint(-1)
            return True
        same = self._same_ancestors(network.task)
        if len(same) <= limits.repeats:
            return False
        self._pruned.extend(same)
        self._taint(same[-1].frame)
        return True

    def _same_ancestors(self, task: Term) -> list[OpenTask]:
        """Return the occurrences of the same task above in this very state, innermost first."""
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
        """Return to the last choice point with an expansion left, and return the network it leads to."""
        while self._frames:
            frame = self._frames[-1]
            self.world.facts.undo(frame.mark)
            del self.decisions[frame.decided :]
            self.opened = frame.opened.previous
            if self.costs is not None:
                self.costs.paid = frame.paid
            expansion = next(frame.expansions, None)
            if expansion is not None:
                source, values, subtasks, width = expansion
                self.opened = frame.opened
                if source is not None:
                    self.decisions.append(SearchDecision(source, frame.key[0].task, values, width))
                return self._push(subtasks, frame.rest)
            self._drop(self._frames.pop())
            self.failures += 1
        self.leave()
        return None

    def _drop(self, frame: Frame) -> None:
        """Remember a failure only if it did not depend on a cut further up."""
        if frame.tainted < len(self._frames):
            self._visited.pop(frame.key, None)
            self._taint(frame.tainted)

    def _expansions(self, task: Term) -> Iterator[Expansion]:
        """Return the ways to do a task, each computed on demand."""
        found: Iterator[Expansion] = chain.from_iterable([each(task) for each in self._functions.expanders[task[0]]])
        if self.reorder is not None:
            found = iter(self.reorder(task, list(found), self.world))
        return found if self.propose is None else self._or_proposed(task, found)

    def _or_proposed(self, task: Term, found: Iterator[Expansion]) -> Iterator[Expansion]:
        applies = False
        for expansion in found:
            applies = True
            yield expansion
        if not applies and self.propose is not None and not isinstance(task[0], Own):
            yield from self.propose(task, self)


_DEEPEST_INDENT = 40


def plan_of(decisions: Iterable[SearchDecision]) -> list[Step]:
    """Return the steps among the decisions."""
    return [
        Step(str(decision.task[0]), decision.task[1:])
        for decision in decisions
        if isinstance(decision.source, CompiledOperator)
    ]


class Tree(Sequence[Node]):
    """A decomposition tree that is built on first access."""

    def __init__(self, make: Callable[[], tuple[Node, ...]]) -> None:
        self._make = make

    @cached_property
    def _nodes(self) -> tuple[Node, ...]:
        return self._make()

    def __len__(self) -> int:
        return len(self._nodes)

    @overload
    def __getitem__(self, at: int) -> Node: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Node]: ...
    def __getitem__(self, at: int | slice) -> Node | Sequence[Node]:
        return self._nodes[at]

    def __eq__(self, other: object) -> bool:
        return self._nodes == (other._nodes if isinstance(other, Tree) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._nodes)


def tree_of(decisions: Sequence[SearchDecision]) -> tuple[Node, ...]:
    """Return the decisions, in preorder, as nodes that name their parent."""
    nodes: list[Node] = []
    open_parents: list[list[int]] = []
    for number, decision in enumerate(decisions):
        while open_parents and open_parents[-1][1] == 0:
            open_parents.pop()
        parent = None
        if open_parents:
            parent = open_parents[-1][0]
            open_parents[-1][1] -= 1
        nodes.append({"id": number, "parent": parent, **_describe(decision)})
        open_parents.append([number, decision.width])
    return tuple(nodes)


def _describe(decision: SearchDecision) -> dict[str, Any]:
    source, task = decision.source, decision.task
    node: dict[str, Any] = {"task": term_text(task), "name": task[0], "args": list(task[1:])}
    if isinstance(source, CompiledOperator):
        return {**node, "operator": source.source.name}
    node |= {"method": source.source.name, "bindings": dict(zip(source.variables, decision.values, strict=True))}
    return {**node, "learned": True} if source.source.learned else node


def tree_text(tree: Sequence[Node]) -> str:
    """Return a tree as indented lines: tasks with the chosen method, and numbered steps.

    >>> print(tree_text([{"id": 0, "parent": None, "task": "greet", "method": "wave"},
    ...                  {"id": 1, "parent": 0, "task": "lift hand", "operator": "lift"}]))
    greet  (wave)
      1. lift hand
    """
    depths: dict[int, int] = {}
    lines: list[str] = []
    steps = 0
    for node in tree:
        parent = node["parent"]
        depth = depths[node["id"]] = 0 if parent is None else depths[parent] + 1
        indent = "  " * min(depth, _DEEPEST_INDENT)
        if "operator" in node:
            steps += 1
            lines.append(f"{indent}{steps}. {node['task']}")
        else:
            mark = ", learned" if node.get("learned") else ""
            mark += ", goal not verified" if node.get("goal") == "not verified" else ""
            lines.append(f"{indent}{node['task']}  ({node['method']}{mark})")
    return "\n".join(lines)


def joined(decisions: Sequence[SearchDecision]) -> list[SearchDecision]:
    """Return the decisions, in preorder, with split methods joined again."""
    found: list[SearchDecision] = []
    values: list[dict[str, Any]] = []
    open_parents: list[list[int]] = []
    for decision in decisions:
        while open_parents and open_parents[-1][1] == 0:
            open_parents.pop()
        own = _values(decision)
        if _is_rest(decision):
            at = open_parents[-1][0]
            open_parents[-1][1] += decision.width - 1
            found[at] = found[at]._replace(width=found[at].width + decision.width - 1)
            values[at] |= own
            continue
        if open_parents:
            open_parents[-1][1] -= 1
        open_parents.append([len(found), decision.width])
        found.append(decision)
        values.append(own)
    return [_whole(decision, own) for decision, own in zip(found, values, strict=True)]


def _is_rest(decision: SearchDecision) -> bool:
    source = decision.source
    return (
        isinstance(source, CompiledMethod)
        and source.whole is not None
        and source.source.task != source.whole.source.task
    )


def _values(decision: SearchDecision) -> dict[str, Any]:
    source = decision.source
    if not isinstance(source, CompiledMethod) or source.whole is None:
        return {}
    return dict(zip(source.variables, decision.values, strict=True))


def _whole(decision: SearchDecision, values: Mapping[str, Any]) -> SearchDecision:
    whole = decision.source.whole if isinstance(decision.source, CompiledMethod) else None
    if whole is None:
        return decision
    return decision._replace(source=whole, values=tuple(values[name] for name in whole.variables))
