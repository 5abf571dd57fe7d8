"""Write a graph in Graphviz' DOT language."""

from __future__ import annotations

from collections.abc import Iterator

from memkit.terminal import one_line

from .graph import Edge, Graph, Kind, Node
from .palette import COLOURS, NEUTRAL, kind_of


def to_dot(graph: Graph) -> str:
    """Return the drawing as DOT, for ``dot -Tpdf`` and the like."""
    names = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    heading = "\\n".join(_text(each) for each in (graph.title, graph.description) if each)
    return "\n".join(
        [
            "digraph {",
            f'  graph [rankdir=LR, bgcolor=transparent, label="{heading}", labelloc=t, fontcolor="{NEUTRAL}"];',
            '  node [fontname="monospace", fontsize=11, shape=box, fontcolor="#1b1f24"];',
            f'  edge [fontname="monospace", fontsize=10, color="{NEUTRAL}", fontcolor="{NEUTRAL}"];',
            *(f"  {names[node.id]} [{_node(node, kind_of(graph, node))}];" for node in graph.nodes),
            *(f"  {names[edge.source]} -> {names[edge.target]}{_edge(edge)};" for edge in graph.edges),
            "}",
            "",
        ]
    )


def _node(node: Node, kind: Kind) -> str:
    label = "\\n".join(_text(each) for each in (node.label, node.note) if each)
    colours = COLOURS[kind.hue]
    return f'label="{label}", style="{",".join(_style(kind))}", fillcolor="{colours.ground}", color="{colours.rim}"'


def _style(kind: Kind) -> Iterator[str]:
    yield "filled"
    if kind.shape != "box":
        yield "rounded"
    if kind.dashed:
        yield "dashed"


def _edge(edge: Edge) -> str:
    said = [f'label="{_text(edge.label)}"'] if edge.label else []
    said += ["style=dashed"] if edge.dashed else []
    return f" [{', '.join(said)}]" if said else ""


def _text(text: str) -> str:
    r"""Return text for a quoted string, in which DOT knows backslashes such as ``\N`` and entities such as ``&amp;``.

    >>> print(_text('say "no" \\N & more'))
    say \"no\" \\N &amp; more
    """
    return one_line(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
