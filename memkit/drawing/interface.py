"""Draw a graph as SVG, or write it as DOT or Mermaid for other programs to draw."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from memkit.runtime.host.terminal import one_line

from .graph import COLOURS, FOLDED, NEUTRAL, Edge, Graph, GraphNode, NodeKind, folded, kind_of, used_kinds
from .layout import CHARACTER, PADDING, Box, EdgeLine, Point, lay_out, shown

_MARGIN, _HEADER, _LEGEND = 20.0, 52.0, 26.0
_RADII = {"box": 2.0, "round": 8.0, "pill": 14.0}
_FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def to_svg(graph: Graph) -> str:
    """Return the drawing as SVG, for a file or a page."""
    layout = lay_out(graph)
    legend = list(_legend(graph))
    top = _HEADER + (_LEGEND if legend else 0)
    across, down = layout.size
    key = sum(_legend_step(kind) for _, kind in used_kinds(graph))
    words = max(len(shown(graph.title)) * 9.6, len(one_line(graph.description)) * 6.6, key)
    width, height = round(max(across, words) + 2 * _MARGIN), round(down + top + _MARGIN)
    title, description = one_line(graph.title), one_line(graph.description)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label={quoteattr(title)} width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}" font-family="{_FONT}" font-size="13">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(description)}</desc>",
            f'<text x="{_MARGIN}" y="28" font-size="16" font-weight="bold" fill="{NEUTRAL}">'
            f"{escape(shown(graph.title))}</text>",
            f'<text x="{_MARGIN}" y="46" font-size="11" fill="{NEUTRAL}">{escape(description)}</text>',
            *legend,
            f'<g transform="translate({_MARGIN} {top})">',
            *(part for line in layout.lines for part in _line(line)),
            *(part for box in layout.boxes for part in _box(box, kind_of(graph, box.node))),
            "</g>",
            "</svg>",
            "",
        ]
    )


def _box(box: Box, kind: NodeKind) -> Iterator[str]:
    colours = COLOURS[kind.hue]
    dashes = ' stroke-dasharray="5 3"' if kind.dashed else ""
    yield f"<g><title>{escape(_whole(box.node, kind))}</title>"
    yield (
        f'<rect x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}" '
        f'rx="{_RADII[kind.shape]}" fill="{colours.ground}" stroke="{colours.rim}"{dashes}/>'
    )
    left = _n(box.x + PADDING)
    yield f'<text x="{left}" y="{_n(box.y + 18.5)}" fill="{colours.text}">{escape(shown(box.node.label))}</text>'
    if box.node.note:
        yield (
            f'<text x="{left}" y="{_n(box.y + 35.5)}" font-size="11" font-style="italic" fill="{colours.text}">'
            f"{escape(shown(box.node.note))}</text>"
        )
    yield "</g>"


def _whole(node: GraphNode, kind: NodeKind) -> str:
    """Return the full text of a node, for the tooltip and for screen readers."""
    return ": ".join(each for each in (kind.name, one_line(node.label), one_line(node.note)) if each)


def _line(line: EdgeLine) -> Iterator[str]:
    dashes = ' stroke-dasharray="5 3"' if line.edge.dashed else ""
    yield f'<path d="{_path(line)}" fill="none" stroke="{NEUTRAL}" stroke-width="1.2"{dashes}/>'
    yield f'<path d="{_tip(line)}" fill="{NEUTRAL}"/>'
    if line.edge.label:
        x, y = _middle(line.points)
        yield (
            f'<text x="{_n(x)}" y="{_n(y - 4)}" font-size="11" text-anchor="middle" fill="{NEUTRAL}">'
            f"{escape(shown(line.edge.label))}</text>"
        )


def _path(line: EdgeLine) -> str:
    (x, y), *rest = line.points
    drawn = [f"M{_n(x)} {_n(y)}"]
    for to_x, to_y in rest:
        bend = (x + to_x) / 2
        curve = f"C{_n(bend)} {_n(y)} {_n(bend)} {_n(to_y)} {_n(to_x)} {_n(to_y)}"
        drawn.append(curve if line.curved else f"L{_n(to_x)} {_n(to_y)}")
        x, y = to_x, to_y
    return " ".join(drawn)


def _tip(line: EdgeLine) -> str:
    """Return the arrow head at the end of a line."""
    (from_x, from_y), (x, y) = line.points[-2:]
    if line.curved or from_y == y:
        back = -6 if from_x <= x else 6
        return f"M{_n(x)} {_n(y)} l{back} -3.5 v7 z"
    return f"M{_n(x)} {_n(y)} l-3.5 {-6 if from_y < y else 6} h7 z"


def _middle(points: tuple[Point, ...]) -> Point:
    half = len(points) // 2
    (left, top), (right, bottom) = points[half - 1], points[half]
    return (left + right) / 2, (top + bottom) / 2


def _legend(graph: Graph) -> Iterator[str]:
    left = _MARGIN
    for _, kind in used_kinds(graph):
        colours = COLOURS[kind.hue]
        dashes = ' stroke-dasharray="3 2"' if kind.dashed else ""
        yield (
            f'<rect x="{_n(left)}" y="{_HEADER + 4}" width="20" height="12" rx="{min(6.0, _RADII[kind.shape])}" '
            f'fill="{colours.ground}" stroke="{colours.rim}"{dashes}/>'
        )
        yield (
            f'<text x="{_n(left + 26)}" y="{_HEADER + 14}" font-size="11" fill="{NEUTRAL}">'
            f"{escape(shown(kind.name))}</text>"
        )
        left += _legend_step(kind)


def _legend_step(kind: NodeKind) -> float:
    return 26 + len(shown(kind.name)) * CHARACTER + 14


def _n(value: float) -> str:
    """Return a coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def to_dot(graph: Graph) -> str:
    """Return the drawing as DOT, for ``dot -Tpdf`` and the like."""
    names = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    heading = "\\n".join(_dot_text(each) for each in (graph.title, graph.description) if each)
    return "\n".join(
        [
            "digraph {",
            f'  graph [rankdir=LR, bgcolor=transparent, label="{heading}", labelloc=t, fontcolor="{NEUTRAL}"];',
            '  node [fontname="monospace", fontsize=11, shape=box, fontcolor="#1b1f24"];',
            f'  edge [fontname="monospace", fontsize=10, color="{NEUTRAL}", fontcolor="{NEUTRAL}"];',
            *(f"  {names[node.id]} [{_dot_node(node, kind_of(graph, node))}];" for node in graph.nodes),
            *(f"  {names[edge.source]} -> {names[edge.target]}{_dot_edge(edge)};" for edge in graph.edges),
            "}",
            "",
        ]
    )


def _dot_node(node: GraphNode, kind: NodeKind) -> str:
    label = "\\n".join(_dot_text(each) for each in (node.label, node.note) if each)
    colours = COLOURS[kind.hue]
    return f'label="{label}", style="{",".join(_dot_style(kind))}", fillcolor="{colours.ground}", color="{colours.rim}"'


def _dot_style(kind: NodeKind) -> Iterator[str]:
    yield "filled"
    if kind.shape != "box":
        yield "rounded"
    if kind.dashed:
        yield "dashed"


def _dot_edge(edge: Edge) -> str:
    said = [f'label="{_dot_text(edge.label)}"'] if edge.label else []
    said += ["style=dashed"] if edge.dashed else []
    return f" [{', '.join(said)}]" if said else ""


def _dot_text(text: str) -> str:
    r"""Return text for a quoted string, in which DOT reads backslashes such as ``\N`` and entities such as ``&amp;``.

    >>> print(_dot_text('say "no" \\N & more'))
    say \"no\" \\N &amp; more
    """
    return one_line(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')


_MOST_TEXT, _MOST_EDGES = 50_000, 500
"""Mermaid's limits, which a drawing cannot raise itself."""
_BRACKETS = {"box": ("[", "]"), "round": ("(", ")"), "pill": ("([", "])")}


def to_mermaid(graph: Graph) -> tuple[str, Graph]:
    """Return the drawing as a Mermaid flowchart with the graph that it shows, folded to Mermaid's limits."""
    text, limit = _written(graph), len(graph.nodes)
    while limit > 1 and (len(text) > _MOST_TEXT or len(graph.edges) > _MOST_EDGES):
        limit = limit * 9 // 10
        graph = folded(graph, limit)
        text = _written(graph)
    return text, graph


def _written(graph: Graph) -> str:
    names = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    classes = {key: f"k{number}" for number, (key, _) in enumerate(used_kinds(graph))}
    return "\n".join(
        [
            "flowchart LR",
            f"  accTitle: {_sentence(graph.title)}",
            *([f"  accDescr: {_sentence(graph.description)}"] if graph.description else []),
            *(f"  {names[node.id]}{_mermaid_node(graph, node, classes)}" for node in graph.nodes),
            *(f"  {names[edge.source]} {_mermaid_edge(edge)} {names[edge.target]}" for edge in graph.edges),
            *(f"  classDef {classes[key]} {_mermaid_style(kind)}" for key, kind in used_kinds(graph)),
            "",
        ]
    )


def _mermaid_node(graph: Graph, node: GraphNode, classes: dict[str, str]) -> str:
    left, right = _BRACKETS[kind_of(graph, node).shape]
    label = "<br/>".join(_mermaid_text(each) for each in (node.label, node.note) if each)
    kind = f":::{classes[node.kind]}" if node.kind in classes else ""
    return f'{left}"{label}"{right}{kind}'


def _mermaid_edge(edge: Edge) -> str:
    arrow = "-.->" if edge.dashed else "-->"
    return f'{arrow}|"{_mermaid_text(edge.label)}"|' if edge.label else arrow


def _mermaid_style(kind: NodeKind) -> str:
    colours = COLOURS[kind.hue]
    dashes = ",stroke-dasharray:5 3" if kind.dashed else ""
    return f"fill:{colours.ground},stroke:{colours.rim},color:{colours.text}{dashes}"


def _mermaid_text(text: str) -> str:
    """Return text for a quoted label, with whatever Mermaid, Markdown or HTML might read as numeric entities.

    Mermaid refuses to draw a label that Markdown reads as a list item.

    >>> _mermaid_text('1. go "home"')
    '1#46; go #34;home#34;'
    """
    return re.sub(r"[^\w ?.,/+=-]|^[+-]|(?<=\d)\.|__", _entities, shown(text))


def _entities(found: re.Match[str]) -> str:
    return "".join(f"#{ord(char)};" for char in found[0])


def _sentence(text: str) -> str:
    """Return text for the accessible title, in which Mermaid does not interpret entities."""
    return re.sub(r"[^\w ?.,/()=-]", " ", one_line(text)).strip() or "drawing"


Form = Literal["svg", "dot", "mermaid"]
LARGEST = 500
"""The most nodes that are still legible; larger graphs are folded."""


@dataclass(frozen=True)
class Drawing:
    """The text of a drawing, and how many of all nodes it shows."""

    text: str
    shown: int
    nodes: int

    @property
    def folded(self) -> str:
        """Return the sentence that says what is not shown, or an empty text."""
        if self.shown == self.nodes:
            return ""
        return f"{self.shown:,} of {self.nodes:,} nodes are drawn; the others are folded."


def draw(graph: Graph, form: Form) -> Drawing:
    """Return the drawing of the largest legible part of the graph."""
    small = folded(graph, LARGEST)
    if form == "mermaid":
        text, small = to_mermaid(small)
    else:
        text = to_svg(small) if form == "svg" else to_dot(small)
    return Drawing(text, sum(node.kind != FOLDED for node in small.nodes), len(graph.nodes))
