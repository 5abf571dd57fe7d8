"""The task network of a domain, as a graph: tasks, the methods that do them, and what these consist of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memkit.runtime.htn.core import Domain, Method

from .graph import Edge, Graph, Kind, Node

KINDS = {
    "task": Kind("task", "round", "blue"),
    "method": Kind("method", "box", "amber"),
    "learned": Kind("learned method", "box", "violet", dashed=True),
    "operator": Kind("operator", "box", "green"),
    "unknown": Kind("task that nothing does", "round", "red", dashed=True),
}


def task_network(domain: Domain, learned: Sequence[Method] = ()) -> Graph:
    """Return the graph of a domain, with methods that were learned for it."""
    methods = (*domain.methods, *learned)
    known = {method.task for method in methods}
    operators = {operator.name for operator in domain.operators}
    called = dict.fromkeys([*(method.task for method in methods), *domain.tasks])
    called |= dict.fromkeys(step for method in methods for step in _steps(method))
    tasks = [name for name in called if name not in operators]
    nodes = [Node(f"task {name}", name, "task" if name in known else "unknown") for name in tasks]
    nodes += [_method_node(method) for method in methods]
    nodes += [Node(f"task {operator.name}", operator.name, "operator") for operator in domain.operators]
    edges = [Edge(f"task {method.task}", f"method {method.name}") for method in methods]
    edges += [edge for method in methods for edge in _edges(method)]
    counted = f"{len(tasks)} tasks, {len(methods)} methods, {len(operators)} operators."
    return Graph(domain.name, tuple(nodes), tuple(edges), counted, KINDS)


def _steps(method: Method) -> list[str]:
    return [] if callable(method.subtasks) else [str(step[0]) for step in method.subtasks]


def _method_node(method: Method) -> Node:
    conditions = ", ".join(map(str, method.preconditions))
    kind = "learned" if method.learned else "method"
    return Node(f"method {method.name}", method.name, kind, f"if {conditions}" if conditions else "")


def _edges(method: Method) -> Iterator[Edge]:
    """Yield one edge for each task among the subtasks, with the places at which it stands where there are several."""
    steps = _steps(method)
    places: dict[str, list[str]] = {}
    for place, name in enumerate(steps, 1):
        places.setdefault(name, []).append(str(place))
    for name, found in places.items():
        in_order = len(steps) > 1 and method.ordering is None
        yield Edge(f"method {method.name}", f"task {name}", ", ".join(found) if in_order else "")
