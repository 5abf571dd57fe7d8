"""Where the nodes of a graph go: trees from left to right, deep trees as an outline, anything else in layers."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memkit.terminal import one_line

from .graph import Edge, Graph, Node

LABEL_WIDTH = 64
"""Characters of a label that are drawn; the whole of it is in the tooltip."""
CHARACTER, SMALL_CHARACTER = 7.8, 6.6
"""Widths in a fixed-width font of 13 and of 11 pixels."""
PADDING, GAP, COLUMN_GAP, INDENT = 10.0, 10.0, 44.0, 30.0
LINE, NOTE_LINE = 28.0, 16.0
_WIDEST_TREE = 2400.0
"""A tree that would be wider than this is drawn as an outline."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A node and the rectangle it is drawn in."""

    node: Node
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """Return the height at which lines meet the box."""
        return self.y + self.height / 2


@dataclass(frozen=True)
class Line:
    """An edge and the points it passes; ``curved`` lines leave and arrive horizontally."""

    edge: Edge
    points: tuple[Point, ...]
    curved: bool = True


@dataclass(frozen=True)
class Layout:
    """Everything placed, in pixels from the top left."""

    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]

    @property
    def size(self) -> tuple[float, float]:
        """Return the width and the height that everything takes."""
        points = [point for line in self.lines for point in line.points]
        right = [box.x + box.width for box in self.boxes] + [x for x, _ in points]
        bottom = [box.y + box.height for box in self.boxes] + [y for _, y in points]
        return max(right, default=0.0), max(bottom, default=0.0)


def lay_out(graph: Graph) -> Layout:
    """Return where everything goes."""
    if not graph.is_forest:
        from .layers import in_layers

        return in_layers(graph)
    depths = _depths(graph)
    columns = column_places([_sized(graph, depths, depth) for depth in range(max(depths.values(), default=-1) + 1)])
    if columns and columns[-1] > _WIDEST_TREE:
        return _outline(graph, depths)
    return _tree(graph, depths, columns)


def shown(text: str) -> str:
    """Return a text as it is drawn: harmless, on one line, and cut where it is long."""
    return one_line(text, LABEL_WIDTH)


def size_of(node: Node) -> tuple[float, float]:
    """Return the width and the height of a node's box."""
    width = max(_columns(shown(node.label)) * CHARACTER, _columns(shown(node.note)) * SMALL_CHARACTER)
    return round(width + 2 * PADDING, 1), LINE + (NOTE_LINE if node.note else 0)


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def column_places(widths: Sequence[float]) -> list[float]:
    """Return where each column starts, given how wide each is."""
    places = [0.0]
    for width in widths:
        places.append(places[-1] + width + COLUMN_GAP)
    return places[:-1]


def _depths(graph: Graph) -> dict[str, int]:
    """Return how deep each node of a forest lies, in preorder."""
    children = graph.children()
    depths: dict[str, int] = {}
    waiting = [(root, 0) for root in reversed(graph.roots())]
    while waiting:
        name, depth = waiting.pop()
        depths[name] = depth
        waiting += [(child, depth + 1) for child in reversed(children[name])]
    return depths


def _sized(graph: Graph, depths: Mapping[str, int], depth: int) -> float:
    return max(size_of(node)[0] for node in graph.nodes if depths[node.id] == depth)


def _tree(graph: Graph, depths: Mapping[str, int], columns: Sequence[float]) -> Layout:
    """Give each leaf a row, and each other node the middle of its children."""
    children = graph.children()
    pitch = max((size_of(node)[1] for node in graph.nodes), default=0) + GAP
    middles: dict[str, float] = {}
    leaves = 0
    for name in depths:
        if not children[name]:
            middles[name] = leaves * pitch + pitch / 2
            leaves += 1
    for name in reversed(list(depths)):
        if children[name]:
            middles[name] = (middles[children[name][0]] + middles[children[name][-1]]) / 2
    boxes = {}
    for node in graph.nodes:
        width, height = size_of(node)
        boxes[node.id] = Box(node, columns[depths[node.id]], middles[node.id] - height / 2, width, height)
    return Layout(tuple(boxes.values()), tuple(straight(edge, boxes) for edge in graph.edges))


def straight(edge: Edge, boxes: Mapping[str, Box]) -> Line:
    """Return the line from the right of one box to the left of another."""
    source, target = boxes[edge.source], boxes[edge.target]
    return Line(edge, ((source.x + source.width, source.middle), (target.x, target.middle)))


def _outline(graph: Graph, depths: Mapping[str, int]) -> Layout:
    """Give each node a row of its own, indented below its parent."""
    nodes = {node.id: node for node in graph.nodes}
    boxes: dict[str, Box] = {}
    top = 0.0
    for name, depth in depths.items():
        width, height = size_of(nodes[name])
        boxes[name] = Box(nodes[name], depth * INDENT, top, width, height)
        top += height + GAP
    lines = []
    for edge in graph.edges:
        source, target = boxes[edge.source], boxes[edge.target]
        stem = source.x + INDENT / 2
        points = ((stem, source.y + source.height), (stem, target.middle), (target.x, target.middle))
        lines.append(Line(edge, points, curved=False))
    return Layout(tuple(boxes.values()), tuple(lines))
