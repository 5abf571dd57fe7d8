"""What is promised: ``draw`` returns a graph in one of three forms, and says how much of it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .folding import FOLDED, folded
from .graph import Graph

Form = Literal["svg", "dot", "mermaid"]
LARGEST = 500
"""Nodes that can still be read; what is larger is folded."""


@dataclass(frozen=True)
class Drawing:
    """The text of a drawing, and how many of the nodes there are it shows."""

    text: str
    shown: int
    nodes: int

    @property
    def folded(self) -> str:
        """Return the sentence that says what is not shown, or nothing."""
        if self.shown == self.nodes:
            return ""
        return f"{self.shown:,} of {self.nodes:,} nodes are drawn; the others are folded."


def draw(graph: Graph, form: Form, *, limit: int = LARGEST) -> Drawing:
    """Return the graph drawn with ``limit`` nodes at most."""
    small = folded(graph, limit)
    if form == "svg":
        from .svg import to_svg

        text = to_svg(small)
    elif form == "dot":
        from .dot import to_dot

        text = to_dot(small)
    else:
        from .mermaid import to_mermaid

        text, small = to_mermaid(small)
    return Drawing(text, sum(node.kind != FOLDED for node in small.nodes), len(graph.nodes))
