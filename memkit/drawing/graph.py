"""Graphs to draw: nodes and edges, their colours, and what is folded where there are too many to read."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Literal

Shape = Literal["box", "round", "pill"]
Hue = Literal["blue", "green", "amber", "violet", "red", "grey"]


@dataclass(frozen=True)
class NodeKind:
    """How the nodes of one kind look, and what the legend calls them."""

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
    """What somebody is told who cannot see the drawing, and a line below the title for everybody else."""
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
"""4.6 : 1 on white and on black."""
PLAIN = NodeKind("")


@dataclass(frozen=True)
class Colours:
    """The ground of a box, its rim, and the text on it."""

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
    """Return how a node looks."""
    return graph.kinds.get(node.kind, PLAIN)


def used_kinds(graph: Graph) -> list[tuple[str, NodeKind]]:
    """Return the kinds that occur, in the order in which they were declared."""
    present = {node.kind for node in graph.nodes}
    return [(key, kind) for key, kind in graph.kinds.items() if key in present]


FOLDED = "folded"
_KIND = NodeKind("not drawn", "pill", "grey", dashed=True)


def folded(graph: Graph, limit: int) -> Graph:
    """Return a graph of ``limit`` nodes at most, which says what it leaves out; a small one comes back as it is."""
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
    """Open nodes level by level while there is room; what has no room becomes one node beside its siblings."""
    children, sizes = graph.children(), dict(_sizes(graph))
    kept: set[str] = set()
    added: list[GraphNode] = []
    edges: list[Edge] = []
    waiting: deque[str | None] = deque([None])
    while waiting:
        parent = waiting.popleft()
        below = graph.roots() if parent is None else children[parent]
        # Each node that waits may need one more node to say what it hides.
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
    """Return as many siblings as there is room for, with a place for what says how many the others are."""
    needed = list(accumulate(1 + bool(children[each]) for each in below))
    return below if not needed or needed[-1] <= room else below[: bisect_right(needed, room - 1)]


def _sizes(graph: Graph) -> Iterator[tuple[str, int]]:
    """Yield each node with the number of nodes from it downwards, children first."""
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
