"""What a search decided, read off as a plan and as a decomposition tree, and the tree as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, overload

from ..compiling.compiled import CompiledMethod, CompiledOperator
from ..interface import Node, Step
from ..language.terms import term_text
from .search import SearchDecision

_DEEPEST_INDENT = 40


def plan_of(decisions: Iterable[SearchDecision]) -> list[Step]:
    """Return the steps among the decisions."""
    return [
        Step(str(decision.task[0]), decision.task[1:])
        for decision in decisions
        if isinstance(decision.source, CompiledOperator)
    ]


class Tree(Sequence[Node]):
    """A decomposition tree that is made when somebody looks at it."""

    def __init__(self, make: Callable[[], tuple[Node, ...]]) -> None:
        self._make = make

    @cached_property
    def _nodes(self) -> tuple[Node, ...]:
        return self._make()

    def __len__(self) -> int:
        return len(self._nodes)

    @overload
    def __getitem__(self, at: int) -> Node: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Node]: ...
    def __getitem__(self, at: int | slice) -> Node | Sequence[Node]:
        return self._nodes[at]

    def __eq__(self, other: object) -> bool:
        return self._nodes == (other._nodes if isinstance(other, Tree) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._nodes)


def tree_of(decisions: Sequence[SearchDecision]) -> tuple[Node, ...]:
    """Return the decisions, which stand in preorder, as nodes that name their parent."""
    nodes: list[Node] = []
    open_parents: list[list[int]] = []
    for number, decision in enumerate(decisions):
        while open_parents and open_parents[-1][1] == 0:
            open_parents.pop()
        parent = None
        if open_parents:
            parent = open_parents[-1][0]
            open_parents[-1][1] -= 1
        nodes.append({"id": number, "parent": parent, **_describe(decision)})
        open_parents.append([number, decision.width])
    return tuple(nodes)


def _describe(decision: SearchDecision) -> dict[str, Any]:
    source, task = decision.source, decision.task
    node: dict[str, Any] = {"task": term_text(task), "name": task[0], "args": list(task[1:])}
    if isinstance(source, CompiledOperator):
        return {**node, "operator": source.source.name}
    node |= {"method": source.source.name, "bindings": dict(zip(source.variables, decision.values, strict=True))}
    return {**node, "learned": True} if source.source.learned else node


def tree_text(tree: Sequence[Node]) -> str:
    """Return a tree as indented lines: tasks with the method that was chosen, and numbered steps.

    >>> print(tree_text([{"id": 0, "parent": None, "task": "greet", "method": "wave"},
    ...                  {"id": 1, "parent": 0, "task": "lift hand", "operator": "lift"}]))
    greet  (wave)
      1. lift hand
    """
    depths: dict[int, int] = {}
    lines: list[str] = []
    steps = 0
    for node in tree:
        parent = node["parent"]
        depth = depths[node["id"]] = 0 if parent is None else depths[parent] + 1
        indent = "  " * min(depth, _DEEPEST_INDENT)
        if "operator" in node:
            steps += 1
            lines.append(f"{indent}{steps}. {node['task']}")
        else:
            mark = ", learned" if node.get("learned") else ""
            mark += ", goal not verified" if node.get("goal") == "not verified" else ""
            lines.append(f"{indent}{node['task']}  ({node['method']}{mark})")
    return "\n".join(lines)


def joined(decisions: Sequence[SearchDecision]) -> list[SearchDecision]:
    """Return decisions, which stand in preorder, with methods whole again."""
    found: list[SearchDecision] = []
    values: list[dict[str, Any]] = []
    open_parents: list[list[int]] = []
    for decision in decisions:
        while open_parents and open_parents[-1][1] == 0:
            open_parents.pop()
        own = _values(decision)
        if _is_rest(decision):
            at = open_parents[-1][0]
            open_parents[-1][1] += decision.width - 1
            found[at] = found[at]._replace(width=found[at].width + decision.width - 1)
            values[at] |= own
            continue
        if open_parents:
            open_parents[-1][1] -= 1
        open_parents.append([len(found), decision.width])
        found.append(decision)
        values.append(own)
    return [_whole(decision, own) for decision, own in zip(found, values, strict=True)]


def _is_rest(decision: SearchDecision) -> bool:
    source = decision.source
    return (
        isinstance(source, CompiledMethod)
        and source.whole is not None
        and source.source.task != source.whole.source.task
    )


def _values(decision: SearchDecision) -> dict[str, Any]:
    source = decision.source
    if not isinstance(source, CompiledMethod) or source.whole is None:
        return {}
    return dict(zip(source.variables, decision.values, strict=True))


def _whole(decision: SearchDecision, values: Mapping[str, Any]) -> SearchDecision:
    whole = decision.source.whole if isinstance(decision.source, CompiledMethod) else None
    if whole is None:
        return decision
    return decision._replace(source=whole, values=tuple(values[name] for name in whole.variables))
