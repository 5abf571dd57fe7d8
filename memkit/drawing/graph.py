"""What is drawn: nodes of a few kinds, and edges between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Shape = Literal["box", "round", "pill"]
Hue = Literal["blue", "green", "amber", "violet", "red", "grey"]


@dataclass(frozen=True)
class Kind:
    """How the nodes of one kind look, and what the legend calls them."""

    name: str
    shape: Shape = "box"
    hue: Hue = "grey"
    dashed: bool = False


@dataclass(frozen=True)
class Node:
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

    >>> Graph.of_tree("Plan", [(Node("a", "deliver"), None), (Node("b", "go"), "a")]).edges
    (Edge(source='a', target='b', label='', dashed=False),)
    """

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    description: str = ""
    """What somebody is told who cannot see the drawing, and a line below the title for everybody else."""
    kinds: Mapping[str, Kind] = field(default_factory=dict)

    @staticmethod
    def of_tree(
        title: str,
        rows: Iterable[tuple[Node, str | None]],
        *,
        description: str = "",
        kinds: Mapping[str, Kind] | None = None,
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
