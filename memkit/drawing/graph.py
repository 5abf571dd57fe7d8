"""Graphs to draw: nodes and edges, their colours, folding of large ones; and those of planning."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Literal

from memkit.runtime.host.terminal import counted
from memkit.runtime.htn.core import Domain, Method

Shape = Literal["box", "round", "pill"]
Hue = Literal["blue", "green", "amber", "violet", "red", "grey"]


@dataclass(frozen=True)
class NodeKind:
    """The appearance of the nodes of one kind, and its name in the legend."""

    name: str
    shape: Shape = "box"
    hue: Hue = "grey"
    dashed: bool = False


@dataclass(frozen=True)
class GraphNode:
    """One thing to draw."""

    id: str
    label: str
    kind: str = ""
    """A key of ``Graph.kinds``; any other is drawn plainly."""
    note: str = ""
    """A second, smaller line."""


@dataclass(frozen=True)
class Edge:
    """A line from one node to another."""

    source: str
    target: str
    label: str = ""
    dashed: bool = False


@dataclass(frozen=True)
class Graph:
    """Nodes and edges with a title; a forest is drawn as a tree, anything else in layers.

    >>> Graph.of_tree("Plan", [(GraphNode("a", "deliver"), None), (GraphNode("b", "go"), "a")]).edges
    (Edge(source='a', target='b', label='', dashed=False),)
    """

    title: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[Edge, ...] = ()
    description: str = ""
    """Alternative text for those who cannot see the drawing, and a line below the title for everybody else."""
    kinds: Mapping[str, NodeKind] = field(default_factory=dict)

    @staticmethod
    def of_tree(
        title: str,
        rows: Iterable[tuple[GraphNode, str | None]],
        *,
        description: str = "",
        kinds: Mapping[str, NodeKind] | None = None,
    ) -> Graph:
        """Return the graph of nodes that each come with the id of their parent (None: a root)."""
        listed = list(rows)
        edges = tuple(Edge(parent, node.id) for node, parent in listed if parent is not None)
        return Graph(title, tuple(node for node, _ in listed), edges, description, kinds or {})

    def children(self) -> dict[str, list[str]]:
        """Return the targets of each node's edges, in order."""
        found: dict[str, list[str]] = {node.id: [] for node in self.nodes}
        for edge in self.edges:
            found[edge.source].append(edge.target)
        return found

    def roots(self) -> list[str]:
        """Return the nodes that no edge leads to."""
        targets = {edge.target for edge in self.edges}
        return [node.id for node in self.nodes if node.id not in targets]

    @property
    def is_forest(self) -> bool:
        """Return whether every node has one parent at most and hangs below a root."""
        if len({edge.target for edge in self.edges}) != len(self.edges):
            return False
        children, waiting, seen = self.children(), self.roots(), 0
        while waiting:
            seen += 1
            waiting += children[waiting.pop()]
        return seen == len(self.nodes)


NEUTRAL = "#757575"
"""Contrast 4.6 : 1 on white and on black."""
PLAIN = NodeKind("")


@dataclass(frozen=True)
class Colours:
    """The background of a box, its border, and its text."""

    ground: str
    rim: str
    text: str = "#1b1f24"


COLOURS: Mapping[Hue, Colours] = {
    "blue": Colours("#d6e6f7", "#3b74b4"),
    "green": Colours("#d7efd9", "#3b8547"),
    "amber": Colours("#fbe8c3", "#a8740b"),
    "violet": Colours("#e7dcf5", "#7c52b5"),
    "red": Colours("#f8d9d6", "#b5443a"),
    "grey": Colours("#e8e8e8", "#757575"),
}


def kind_of(graph: Graph, node: GraphNode) -> NodeKind:
    """Return the appearance of a node."""
    return graph.kinds.get(node.kind, PLAIN)


def used_kinds(graph: Graph) -> list[tuple[str, NodeKind]]:
    """Return the kinds that occur, in the order of their declaration."""
    present = {node.kind for node in graph.nodes}
    return [(key, kind) for key, kind in graph.kinds.items() if key in present]


FOLDED = "folded"
_KIND = NodeKind("not drawn", "pill", "grey", dashed=True)


def folded(graph: Graph, limit: int) -> Graph:
    """Return a graph of at most ``limit`` nodes, which says what it leaves out; a small one is returned unchanged."""
    if len(graph.nodes) <= limit:
        return graph
    kept, added, edges = _tree(graph, limit) if graph.is_forest else _first(graph, limit)
    shown = sum(node.kind != FOLDED for node in added) + len(kept)
    counted = f"{shown:,} of {len(graph.nodes):,} nodes are drawn; the others are folded."
    return replace(
        graph,
        nodes=(*(node for node in graph.nodes if node.id in kept), *added),
        edges=(*(edge for edge in graph.edges if edge.source in kept and edge.target in kept), *edges),
        description=f"{graph.description} {counted}".strip(),
        kinds={**graph.kinds, FOLDED: _KIND},
    )


def _tree(graph: Graph, limit: int) -> tuple[set[str], list[GraphNode], list[Edge]]:
    """Open nodes level by level while there is room; the others become one node beside their siblings."""
    children, sizes = graph.children(), dict(_sizes(graph))
    kept: set[str] = set()
    added: list[GraphNode] = []
    edges: list[Edge] = []
    waiting: deque[str | None] = deque([None])
    while waiting:
        parent = waiting.popleft()
        below = graph.roots() if parent is None else children[parent]
        # Each waiting node may need one more node to say what it hides.
        room = limit - len(kept) - len(added) - sum(bool(each and children[each]) for each in waiting)
        fit = _fitting(below, children, room)
        kept.update(fit)
        waiting.extend(each for each in fit if children[each])
        hidden = sum(sizes[each] for each in below[len(fit) :])
        if hidden:
            added.append(GraphNode(f"{parent or ''}…{len(added)}", f"… {hidden:,} more", FOLDED))
            edges += [] if parent is None else [Edge(parent, added[-1].id, dashed=True)]
    return kept, added, edges


def _fitting(below: list[str], children: Mapping[str, list[str]], room: int) -> list[str]:
    """Return as many siblings as fit, with a place for the node that counts the others."""
    needed = list(accumulate(1 + bool(children[each]) for each in below))
    return below if not needed or needed[-1] <= room else below[: bisect_right(needed, room - 1)]


def _sizes(graph: Graph) -> Iterator[tuple[str, int]]:
    """Yield each node with the size of its subtree, children first."""
    children, order, waiting = graph.children(), [], graph.roots()
    while waiting:
        order.append(waiting.pop())
        waiting += children[order[-1]]
    sizes: dict[str, int] = {}
    for name in reversed(order):
        sizes[name] = 1 + sum(sizes[child] for child in children[name])
        yield name, sizes[name]


def _first(graph: Graph, limit: int) -> tuple[set[str], list[GraphNode], list[Edge]]:
    kept = {node.id for node in graph.nodes[: limit - 1]}
    return kept, [GraphNode("…", f"… {len(graph.nodes) - len(kept):,} more", FOLDED)], []


KINDS = {
    "task": NodeKind("task", "round", "blue"),
    "method": NodeKind("method", "box", "amber"),
    "learned": NodeKind("learned method", "box", "violet", dashed=True),
    "operator": NodeKind("operator", "box", "green"),
    "unknown": NodeKind("task that nothing does", "round", "red", dashed=True),
}


def task_network(domain: Domain, learned: Sequence[Method] = ()) -> Graph:
    """Return the graph of a domain, with methods that were learned for it."""
    methods = (*domain.methods, *learned)
    known = {method.task for method in methods}
    operators = {operator.name for operator in domain.operators}
    called = dict.fromkeys([*(method.task for method in methods), *domain.tasks])
    called |= dict.fromkeys(step for method in methods for step in _steps(method))
    tasks = [name for name in called if name not in operators]
    nodes = [GraphNode(f"task {name}", name, "task" if name in known else "unknown") for name in tasks]
    nodes += [_method_node(method) for method in methods]
    nodes += [GraphNode(f"task {operator.name}", operator.name, "operator") for operator in domain.operators]
    edges = [Edge(f"task {method.task}", f"method {method.name}") for method in methods]
    edges += [edge for method in methods for edge in _edges(method)]
    counted = f"{len(tasks)} tasks, {len(methods)} methods, {len(operators)} operators."
    return Graph(domain.name, tuple(nodes), tuple(edges), counted, KINDS)


def _steps(method: Method) -> list[str]:
    return [str(step[0]) for step in method.steps]


def _method_node(method: Method) -> GraphNode:
    conditions = ", ".join(map(str, method.preconditions))
    kind = "learned" if method.learned else "method"
    return GraphNode(f"method {method.name}", method.name, kind, f"if {conditions}" if conditions else "")


def _edges(method: Method) -> Iterator[Edge]:
    """Yield one edge for each task among the subtasks, with its positions if there are several."""
    steps = _steps(method)
    places: dict[str, list[str]] = {}
    for place, name in enumerate(steps, 1):
        places.setdefault(name, []).append(str(place))
    for name, found in places.items():
        in_order = len(steps) > 1 and method.ordering is None
        yield Edge(f"method {method.name}", f"task {name}", ", ".join(found) if in_order else "")


STEP_KINDS = {
    "task": NodeKind("task, and the method that did it", "round", "blue"),
    "learned": NodeKind("task done by a learned method", "round", "violet", dashed=True),
    "step": NodeKind("step", "box", "green"),
}


def decomposition(tree: Sequence[Mapping[str, Any]], title: str) -> Graph:
    """Return the graph of a result's tree: flat nodes in preorder, each with ``id`` and ``parent``."""
    steps = sum("operator" in node for node in tree)
    description = f"{counted(steps, 'step')} from {counted(len(tree) - steps, 'task')}."
    return Graph.of_tree(title, _rows(tree), description=description, kinds=STEP_KINDS)


def _rows(tree: Sequence[Mapping[str, Any]]) -> Iterator[tuple[GraphNode, str | None]]:
    step = 0
    for each in tree:
        parent = None if each["parent"] is None else str(each["parent"])
        if "operator" in each:
            step += 1
            yield GraphNode(str(each["id"]), f"{step}. {each['task']}", "step"), parent
        elif each.get("learned"):
            yield GraphNode(str(each["id"]), str(each["task"]), "learned", f"by {each['method']}, learned"), parent
        else:
            yield GraphNode(str(each["id"]), str(each["task"]), "task", f"by {each['method']}"), parent
