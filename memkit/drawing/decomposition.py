"""The decomposition tree of a plan, as a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memkit.terminal import counted

from .graph import Graph, Kind, Node

KINDS = {
    "task": Kind("task, and the method that did it", "round", "blue"),
    "learned": Kind("task done by a learned method", "round", "violet", dashed=True),
    "step": Kind("step", "box", "green"),
}


def decomposition(tree: Sequence[Mapping[str, Any]], title: str) -> Graph:
    """Return the graph of a result's tree: flat nodes in preorder, each with ``id`` and ``parent``."""
    steps = sum("operator" in node for node in tree)
    description = f"{counted(steps, 'step')} from {counted(len(tree) - steps, 'task')}."
    return Graph.of_tree(title, _rows(tree), description=description, kinds=KINDS)


def _rows(tree: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Node, str | None]]:
    step = 0
    for each in tree:
        parent = None if each["parent"] is None else str(each["parent"])
        if "operator" in each:
            step += 1
            yield Node(str(each["id"]), f"{step}. {each['task']}", "step"), parent
        elif each.get("learned"):
            yield Node(str(each["id"]), str(each["task"]), "learned", f"by {each['method']}, learned"), parent
        else:
            yield Node(str(each["id"]), str(each["task"]), "task", f"by {each['method']}"), parent
