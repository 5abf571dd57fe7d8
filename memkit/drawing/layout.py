"""The positions of a graph's nodes: trees from left to right, deep trees as an outline, anything else in layers."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from types import MappingProxyType

from memkit.runtime.host.terminal import one_line

from .graph import Edge, Graph, GraphNode

LABEL_WIDTH = 64
"""The most characters of a label that are drawn; the tooltip has all of it."""
CHARACTER, SMALL_CHARACTER = 7.8, 6.6
"""Character widths in a fixed-width font of 13 and of 11 pixels."""
PADDING, GAP, COLUMN_GAP, INDENT = 10.0, 10.0, 44.0, 30.0
LINE, NOTE_LINE = 28.0, 16.0
_WIDEST_TREE = 2400.0
"""A tree that would be wider than this is drawn as an outline."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A node and the rectangle it is drawn in."""

    node: GraphNode
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """Return the height at which lines meet the box."""
        return self.y + self.height / 2


@dataclass(frozen=True)
class EdgeLine:
    """An edge and the points on it; ``curved`` lines leave and arrive horizontally."""

    edge: Edge
    points: tuple[Point, ...]
    curved: bool = True


@dataclass(frozen=True)
class Layout:
    """All positions, in pixels from the top left."""

    boxes: tuple[Box, ...]
    lines: tuple[EdgeLine, ...]

    @property
    def size(self) -> tuple[float, float]:
        """Return the total width and height."""
        points = [point for line in self.lines for point in line.points]
        right = [box.x + box.width for box in self.boxes] + [x for x, _ in points]
        bottom = [box.y + box.height for box in self.boxes] + [y for _, y in points]
        return max(right, default=0.0), max(bottom, default=0.0)


def lay_out(graph: Graph) -> Layout:
    """Return all positions."""
    if not graph.is_forest:
        return in_layers(graph)
    depths = _depths(graph)
    columns = column_places([_sized(graph, depths, depth) for depth in range(max(depths.values(), default=-1) + 1)])
    if columns and columns[-1] > _WIDEST_TREE:
        return _outline(graph, depths)
    return _tree(graph, depths, columns)


def shown(text: str) -> str:
    """Return a text as drawn: harmless, on one line, and cut if it is long."""
    return one_line(text, LABEL_WIDTH)


def size_of(node: GraphNode) -> tuple[float, float]:
    """Return the width and the height of a node's box."""
    width = max(_columns(shown(node.label)) * CHARACTER, _columns(shown(node.note)) * SMALL_CHARACTER)
    return round(width + 2 * PADDING, 1), LINE + (NOTE_LINE if node.note else 0)


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def column_places(widths: Sequence[float], gaps: Mapping[int, float] = MappingProxyType({})) -> list[float]:
    """Return where each column starts, given the widths, and the room that labels after some of them need."""
    places = [0.0]
    for number, width in enumerate(widths):
        places.append(places[-1] + width + max(COLUMN_GAP, gaps.get(number, 0.0)))
    return places[:-1]


def _depths(graph: Graph) -> dict[str, int]:
    """Return the depth of each node of a forest, in preorder."""
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
    """Give each leaf a row, and place each other node at the middle of its children."""
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


def straight(edge: Edge, boxes: Mapping[str, Box]) -> EdgeLine:
    """Return the line from the right side of one box to the left side of another."""
    source, target = boxes[edge.source], boxes[edge.target]
    return EdgeLine(edge, ((source.x + source.width, source.middle), (target.x, target.middle)))


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
        lines.append(EdgeLine(edge, points, curved=False))
    return Layout(tuple(boxes.values()), tuple(lines))


_SWEEPS = 6
_ASIDE = 8.0
"""How far below the others backward edges run, so that both directions of a pair are visible."""
_MOST_BENDS = 5000
"""If long edges would need more bends than this, they are straight."""


def in_layers(graph: Graph) -> Layout:
    """Return all positions; an edge that closes a cycle runs back to the left."""
    forward = _without_cycles(graph)
    ranks = _ranks(graph, forward)
    paths = _paths(forward, ranks)
    rows = _rows(graph, ranks, paths)
    boxes, bends = _placed(graph, rows)
    lines = [
        _line_of_layers(
            edge, [boxes[source], *(bends[bend] for bend in bends_of)], boxes[target], back=edge.source != source
        )
        for edge, (source, target), bends_of in zip(graph.edges, forward, paths, strict=True)
    ]
    return Layout(tuple(boxes.values()), tuple(lines))


def _without_cycles(graph: Graph) -> list[tuple[str, str]]:
    """Return the ends of each edge, reversed if the edge closes a cycle (depth first, in order)."""
    children, state = graph.children(), dict.fromkeys((node.id for node in graph.nodes), 0)
    back: set[tuple[str, str]] = set()
    for start in [*graph.roots(), *state]:
        stack = [(start, iter(children[start]))] if state[start] == 0 else []
        while stack:
            name, rest = stack[-1]
            state[name] = 1
            child = next(rest, None)
            if child is None:
                state[name] = 2
                stack.pop()
            elif state[child] == 1:
                back.add((name, child))
            elif state[child] == 0:
                stack.append((child, iter(children[child])))
    ends = [(edge.source, edge.target) for edge in graph.edges]
    return [(end[1], end[0]) if end in back else end for end in ends]


def _ranks(graph: Graph, forward: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return the layer of each node: one after the last of its predecessors'."""
    before: dict[str, set[str]] = {node.id: set() for node in graph.nodes}
    for source, target in forward:
        before[target] |= {source} - {target}
    ranks = dict.fromkeys(before, 0)
    for name in TopologicalSorter(before).static_order():
        ranks[name] = max((ranks[each] + 1 for each in before[name]), default=0)
    return ranks


Bend = tuple[int, int]
"""A place where a long edge passes a layer: the number of the edge, and the layer."""
Slot = str | Bend


def _paths(forward: list[tuple[str, str]], ranks: Mapping[str, int]) -> list[list[Bend]]:
    spans = [range(ranks[source] + 1, ranks[target]) for source, target in forward]
    if sum(map(len, spans)) > _MOST_BENDS:
        return [[] for _ in spans]
    return [[(number, rank) for rank in span] for number, span in enumerate(spans)]


def _rows(graph: Graph, ranks: Mapping[str, int], paths: list[list[Bend]]) -> list[list[Slot]]:
    """Return the slots of each layer from top to bottom, ordered so that few edges cross."""
    rows: list[list[Slot]] = [[] for _ in range(max(ranks.values(), default=-1) + 1)]
    for name, rank in ranks.items():
        rows[rank].append(name)
    before: dict[Slot, list[Slot]] = {}
    after: dict[Slot, list[Slot]] = {}
    for edge, path in zip(graph.edges, paths, strict=True):
        ends = sorted((edge.source, edge.target), key=lambda name: ranks[name])
        chain: list[Slot] = [ends[0], *path, ends[1]]
        for bend in path:
            rows[bend[1]].append(bend)
        for left, right in pairwise(chain):
            after.setdefault(left, []).append(right)
            before.setdefault(right, []).append(left)
    for sweep in range(_SWEEPS):
        neighbours = after if sweep % 2 else before
        for row in reversed(rows) if sweep % 2 else rows:
            _order(row, rows, neighbours)
    return rows


def _order(row: list[Slot], rows: list[list[Slot]], neighbours: Mapping[Slot, list[Slot]]) -> None:
    """Sort one layer by the mean position of each slot's neighbours; a slot without neighbours keeps its place."""
    places = {slot: place for each in rows for place, slot in enumerate(each)}
    own = {slot: place for place, slot in enumerate(row)}

    def wanted(slot: Slot) -> float:
        joined = [places[each] for each in neighbours.get(slot, ())]
        return sum(joined) / len(joined) if joined else own[slot]

    row.sort(key=wanted)


def _placed(graph: Graph, rows: list[list[Slot]]) -> tuple[dict[str, Box], dict[Bend, Point]]:
    """Stack each layer around a common middle."""
    nodes = {node.id: node for node in graph.nodes}
    sizes = {name: size_of(node) for name, node in nodes.items()}
    column = {slot: number for number, row in enumerate(rows) for slot in row}
    gaps: dict[int, float] = {}
    for edge in graph.edges:
        behind = min(column[edge.source], column[edge.target])
        gaps[behind] = max(gaps.get(behind, 0.0), (len(shown(edge.label)) + 2) * SMALL_CHARACTER if edge.label else 0.0)
    widths = [max((sizes[s][0] for s in row if isinstance(s, str)), default=0.0) for row in rows]
    columns = column_places(widths, gaps)
    heights = [sum((sizes[s][1] if isinstance(s, str) else 0) + GAP for s in row) for row in rows]
    boxes: dict[str, Box] = {}
    bends: dict[Bend, Point] = {}
    for left, row, height in zip(columns, rows, heights, strict=True):
        top = (max(heights) - height) / 2
        for slot in row:
            if isinstance(slot, str):
                boxes[slot] = Box(nodes[slot], left, top, *sizes[slot])
                top += sizes[slot][1] + GAP
            else:
                bends[slot] = (left, top)
                top += GAP
    return {name: boxes[name] for name in nodes}, bends


def _line_of_layers(edge: Edge, path: list[Box | Point], target: Box, *, back: bool) -> EdgeLine:
    source, *passed = path
    assert isinstance(source, Box)
    if source is target:
        right, top = source.x + source.width, source.y
        loop = ((right, source.middle), (right + 18, source.middle), (right + 18, top - 7), (right - 18, top - 7))
        return EdgeLine(edge, (*loop, (right - 18, top)), curved=False)
    aside = _ASIDE if back else 0.0
    points: list[Point] = [(source.x + source.width, source.middle + aside)]
    points += [point for point in passed if not isinstance(point, Box)]
    points.append((target.x, target.middle + aside))
    return EdgeLine(edge, tuple(reversed(points) if back else points))
