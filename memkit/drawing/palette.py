"""Colours that can be read on a light and on a dark page: boxes bring their own ground, lines and titles are grey."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .graph import Graph, Hue, Kind, Node

NEUTRAL = "#757575"
"""4.6 : 1 on white and on black."""
PLAIN = Kind("")


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


def kind_of(graph: Graph, node: Node) -> Kind:
    """Return how a node looks."""
    return graph.kinds.get(node.kind, PLAIN)


def used_kinds(graph: Graph) -> list[tuple[str, Kind]]:
    """Return the kinds that occur, in the order in which they were declared."""
    present = {node.kind for node in graph.nodes}
    return [(key, kind) for key, kind in graph.kinds.items() if key in present]
