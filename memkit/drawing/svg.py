"""Write a graph as SVG: one element without scripts, styles or fonts of its own, which also fits into a page."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from memkit.terminal import one_line

from .graph import Graph, Kind, Node
from .layout import CHARACTER, PADDING, Box, Line, Point, lay_out, shown
from .palette import COLOURS, NEUTRAL, kind_of, used_kinds

_MARGIN, _HEADER, _LEGEND = 20.0, 52.0, 26.0
_RADII = {"box": 2.0, "round": 8.0, "pill": 14.0}
_FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def to_svg(graph: Graph) -> str:
    """Return the drawing as SVG, to be put into a file or into a page."""
    layout = lay_out(graph)
    legend = list(_legend(graph))
    top = _HEADER + (_LEGEND if legend else 0)
    across, down = layout.size
    words = max(len(shown(graph.title)) * 9.6, len(one_line(graph.description)) * 6.6, _legend_width(graph))
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


def _box(box: Box, kind: Kind) -> Iterator[str]:
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


def _whole(node: Node, kind: Kind) -> str:
    """Return everything about a node, for the tooltip and for screen readers."""
    return ": ".join(each for each in (kind.name, one_line(node.label), one_line(node.note)) if each)


def _line(line: Line) -> Iterator[str]:
    dashes = ' stroke-dasharray="5 3"' if line.edge.dashed else ""
    yield f'<path d="{_path(line)}" fill="none" stroke="{NEUTRAL}" stroke-width="1.2"{dashes}/>'
    yield f'<path d="{_tip(line)}" fill="{NEUTRAL}"/>'
    if line.edge.label:
        x, y = _middle(line.points)
        yield (
            f'<text x="{_n(x)}" y="{_n(y - 4)}" font-size="11" text-anchor="middle" fill="{NEUTRAL}">'
            f"{escape(shown(line.edge.label))}</text>"
        )


def _path(line: Line) -> str:
    (x, y), *rest = line.points
    drawn = [f"M{_n(x)} {_n(y)}"]
    for to_x, to_y in rest:
        bend = (x + to_x) / 2
        curve = f"C{_n(bend)} {_n(y)} {_n(bend)} {_n(to_y)} {_n(to_x)} {_n(to_y)}"
        drawn.append(curve if line.curved else f"L{_n(to_x)} {_n(to_y)}")
        x, y = to_x, to_y
    return " ".join(drawn)


def _tip(line: Line) -> str:
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


def _legend_width(graph: Graph) -> float:
    return sum(_legend_step(kind) for _, kind in used_kinds(graph))


def _legend_step(kind: Kind) -> float:
    return 26 + len(shown(kind.name)) * CHARACTER + 14


def _n(value: float) -> str:
    """Return a coordinate with at most one digit behind the point."""
    return f"{value:.1f}".removesuffix(".0")
