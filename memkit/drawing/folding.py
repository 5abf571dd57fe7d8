"""Fold what is too large to read: the nodes next to the roots stay, and a node says how many are left out below."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate

from .graph import Edge, Graph, Kind, Node

FOLDED = "folded"
_KIND = Kind("not drawn", "pill", "grey", dashed=True)


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


def _tree(graph: Graph, limit: int) -> tuple[set[str], list[Node], list[Edge]]:
    """Open nodes level by level while there is room; what has no room becomes one node beside its siblings."""
    children, sizes = graph.children(), dict(_sizes(graph))
    kept: set[str] = set()
    added: list[Node] = []
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
            added.append(Node(f"{parent or ''}…{len(added)}", f"… {hidden:,} more", FOLDED))
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


def _first(graph: Graph, limit: int) -> tuple[set[str], list[Node], list[Edge]]:
    kept = {node.id for node in graph.nodes[: limit - 1]}
    return kept, [Node("…", f"… {len(graph.nodes) - len(kept):,} more", FOLDED)], []
