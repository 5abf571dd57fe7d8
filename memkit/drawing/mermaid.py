"""Write a graph in Mermaid's language, which Markdown pages of code hosts draw."""

from __future__ import annotations

import re

from memkit.terminal import one_line

from .folding import folded
from .graph import Edge, Graph, Kind, Node
from .layout import shown
from .palette import COLOURS, kind_of, used_kinds

_MOST_TEXT, _MOST_EDGES = 50_000, 500
"""Mermaid draws no more than this, and a drawing cannot lift the bound itself."""
_BRACKETS = {"box": ("[", "]"), "round": ("(", ")"), "pill": ("([", "])")}


def to_mermaid(graph: Graph) -> tuple[str, Graph]:
    """Return the drawing as a Mermaid flowchart with the graph that it shows, folded until Mermaid takes it."""
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
            *(f"  {names[node.id]}{_node(graph, node, classes)}" for node in graph.nodes),
            *(f"  {names[edge.source]} {_edge(edge)} {names[edge.target]}" for edge in graph.edges),
            *(f"  classDef {classes[key]} {_style(kind)}" for key, kind in used_kinds(graph)),
            "",
        ]
    )


def _node(graph: Graph, node: Node, classes: dict[str, str]) -> str:
    left, right = _BRACKETS[kind_of(graph, node).shape]
    label = "<br/>".join(_text(each) for each in (node.label, node.note) if each)
    kind = f":::{classes[node.kind]}" if node.kind in classes else ""
    return f'{left}"{label}"{right}{kind}'


def _edge(edge: Edge) -> str:
    arrow = "-.->" if edge.dashed else "-->"
    return f'{arrow}|"{_text(edge.label)}"|' if edge.label else arrow


def _style(kind: Kind) -> str:
    colours = COLOURS[kind.hue]
    dashes = ",stroke-dasharray:5 3" if kind.dashed else ""
    return f"fill:{colours.ground},stroke:{colours.rim},color:{colours.text}{dashes}"


def _text(text: str) -> str:
    """Return text for a quoted label: what could mean anything to Mermaid, Markdown or HTML as numeric entities.

    Mermaid refuses to draw a label that Markdown takes for an item of a list.

    >>> _text('1. go "home"')
    '1#46; go #34;home#34;'
    """
    return re.sub(r"[^\w ?.,/+=-]|^[+-]|(?<=\d)\.|__", _entities, shown(text))


def _entities(found: re.Match[str]) -> str:
    return "".join(f"#{ord(char)};" for char in found[0])


def _sentence(text: str) -> str:
    """Return text for the accessible title, in which Mermaid knows no entities."""
    return re.sub(r"[^\w ?.,/()=-]", " ", one_line(text)).strip() or "drawing"
