"""What is left to do of a plan that stopped in the middle: its open tasks, beginning with what redoes the least."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..terms import Term

Node = Mapping[str, Any]
INNERMOST = 8
"""Methods that are given up one after the other before all of them are."""


def remaining_tasks(tree: Sequence[Node], done: int) -> Iterator[tuple[Term, ...]]:
    """Yield ways to finish a decomposition of which the first ``done`` steps were carried out, each a list of tasks.

    The first one keeps every method that was begun and goes on behind its last step. Each further one gives up the
    innermost method that is still kept, and takes its task up anew; the last one does all tasks that are not finished
    anew, as GTPyhop's ``run_lazy_lookahead`` does at once. To go outwards step by step repeats no more than it must.
    A recursive method may have been begun at a thousand levels; after the innermost few only the last way is left.
    """
    outline = _Outline(tree, done)
    begun = outline.begun()
    levels = [*range(len(begun), max(len(begun) - INNERMOST, 0), -1), 0]
    yield from dict.fromkeys(tuple(outline.open_below(None, set(begun[:kept]))) for kept in levels)


class _Outline:
    """A tree in preorder with the number of steps before and behind each node."""

    def __init__(self, tree: Sequence[Node], done: int) -> None:
        self._done = done
        self._nodes = {node["id"]: node for node in tree}
        self._children: dict[Any, list[Any]] = {}
        self._first: dict[Any, int] = {}
        steps = 0
        for node in tree:
            self._children.setdefault(node["parent"], []).append(node["id"])
            self._first[node["id"]] = steps
            steps += "operator" in node
        # In preorder a node's steps end where the next node that is not below it begins.
        self._last: dict[Any, int] = {}
        for node in reversed(tree):
            inner = self._children.get(node["id"], ())
            own = self._first[node["id"]] + ("operator" in node)
            self._last[node["id"]] = max([own, *(self._last[child] for child in inner)])

    def begun(self) -> list[Any]:
        """Return the nodes of which some steps are done and some are not, outermost first."""
        return [
            id for id, node in self._nodes.items()
            if "operator" not in node and self._first[id] < self._done < self._last[id]
        ]  # fmt: skip

    def open_below(self, parent: Any, kept: set[Any]) -> Iterator[Term]:
        """Yield the open tasks below a node in their order; the methods of the nodes in ``kept`` stay chosen."""
        # A stack and no recursion: a tree may be as deep as a plan is long.
        waiting = list(reversed(self._children.get(parent, [])))
        while waiting:
            id = waiting.pop()
            node = self._nodes[id]
            finished = self._last[id] <= self._done and self._first[id] < self._done
            if finished:
                continue
            if id in kept:
                waiting.extend(reversed(self._children.get(id, [])))
            else:
                yield (node["name"], *node["args"])
