"""Graphs of planning: a domain's task network, and the decomposition of one plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memkit.runtime.htn.core import Domain, Method
from memkit.terminal import counted

from .graph import Edge, Graph, GraphNode, NodeKind

KINDS = {
    "task": NodeKind("task", "round", "blue"),
    "method": NodeKind("method", "box", "amber"),
    "learned": NodeKind("learned method", "box", "violet", dashed=True),
    "operator": NodeKind("operator", "box", "green"),
    "unknown": NodeKind("task that nothing does", "round", "red", dashed=True),
}


def task_network(domain: Domain, learned: Sequence[Method] = ()) -> Graph:
    """Return the graph of a domain, with methods that were learned for it."""
    methods = (*domain.methods, *learned)
    known = {method.task for method in methods}
    operators = {operator.name for operator in domain.operators}
    called = dict.fromkeys([*(method.task for method in methods), *domain.tasks])
    called |= dict.fromkeys(step for method in methods for step in _steps(method))
    tasks = [name for name in called if name not in operators]
    nodes = [GraphNode(f"task {name}", name, "task" if name in known else "unknown") for name in tasks]
    nodes += [_method_node(method) for method in methods]
    nodes += [GraphNode(f"task {operator.name}", operator.name, "operator") for operator in domain.operators]
    edges = [Edge(f"task {method.task}", f"method {method.name}") for method in methods]
    edges += [edge for method in methods for edge in _edges(method)]
    counted = f"{len(tasks)} tasks, {len(methods)} methods, {len(operators)} operators."
    return Graph(domain.name, tuple(nodes), tuple(edges), counted, KINDS)


def _steps(method: Method) -> list[str]:
    return [str(step[0]) for step in method.steps]


def _method_node(method: Method) -> GraphNode:
    conditions = ", ".join(map(str, method.preconditions))
    kind = "learned" if method.learned else "method"
    return GraphNode(f"method {method.name}", method.name, kind, f"if {conditions}" if conditions else "")


def _edges(method: Method) -> Iterator[Edge]:
    """Yield one edge for each task among the subtasks, with the places at which it stands where there are several."""
    steps = _steps(method)
    places: dict[str, list[str]] = {}
    for place, name in enumerate(steps, 1):
        places.setdefault(name, []).append(str(place))
    for name, found in places.items():
        in_order = len(steps) > 1 and method.ordering is None
        yield Edge(f"method {method.name}", f"task {name}", ", ".join(found) if in_order else "")


STEP_KINDS = {
    "task": NodeKind("task, and the method that did it", "round", "blue"),
    "learned": NodeKind("task done by a learned method", "round", "violet", dashed=True),
    "step": NodeKind("step", "box", "green"),
}


def decomposition(tree: Sequence[Mapping[str, Any]], title: str) -> Graph:
    """Return the graph of a result's tree: flat nodes in preorder, each with ``id`` and ``parent``."""
    steps = sum("operator" in node for node in tree)
    description = f"{counted(steps, 'step')} from {counted(len(tree) - steps, 'task')}."
    return Graph.of_tree(title, _rows(tree), description=description, kinds=STEP_KINDS)


def _rows(tree: Sequence[Mapping[str, Any]]) -> Iterator[tuple[GraphNode, str | None]]:
    step = 0
    for each in tree:
        parent = None if each["parent"] is None else str(each["parent"])
        if "operator" in each:
            step += 1
            yield GraphNode(str(each["id"]), f"{step}. {each['task']}", "step"), parent
        elif each.get("learned"):
            yield GraphNode(str(each["id"]), str(each["task"]), "learned", f"by {each['method']}, learned"), parent
        else:
            yield GraphNode(str(each["id"]), str(each["task"]), "task", f"by {each['method']}"), parent
