"""Declared effects of tasks, made into something that a search can test.

A task that says what holds once it is done has a companion: a task without steps, whose one method has the declared
effects as its conditions. Behind what a model proposed it sees to it that no way of carrying the proposal out ends
without them. This is the verifier task of Chat-HTN (arXiv 2505.11814), which protects only what is declared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .conditions import Condition, bound
from .domain import Domain, Method, Task
from .evaluation import StepState, holds
from .interface import Step
from .terms import Head, Term

Node = Mapping[str, Any]
_DONE = " is done"
"""No name in a file and no proposal holds a space."""


def declared_effects(domain: Domain, task: Term) -> tuple[Condition, ...]:
    """Return what is declared to hold once ``task`` is done, with its arguments put in; () where nothing is."""
    declared = domain.tasks.get(task[0])
    if declared is None or len(declared.parameters) != len(task) - 1:
        return ()
    values = {parameter.name: value for parameter, value in zip(declared.parameters, task[1:], strict=True)}
    return tuple(bound(effect, values) for effect in declared.effects)


def is_goal(task: Term) -> bool:
    """Return whether a task is a companion, which nobody is ever asked about."""
    return str(task[0]).endswith(_DONE)


def with_goal(domain: Domain, task: Term, subtasks: Sequence[Term]) -> tuple[Term, ...]:
    """Return subtasks that end in the test of what is declared of their task."""
    return (*subtasks, (task[0] + _DONE, *task[1:])) if declared_effects(domain, task) else tuple(subtasks)


def spelled_out(subtasks: Sequence[Term]) -> list[Mapping[str, Any]]:
    """Return subtasks in the form in which a method takes a name that holds a space, a companion's, as it is."""
    return [{"name": step[0], "args": step[1:]} for step in subtasks]


def tested(method: Method, domain: Domain) -> Method:
    """Return a learned method whose subtasks end in the test of what is declared of its task."""
    if callable(method.subtasks):
        return method
    subtasks = with_goal(domain, (method.head.name, *method.head.args), method.subtasks)
    last, ordering = len(method.subtasks), method.ordering
    if ordering is not None and len(subtasks) > last:
        ordering = (*ordering, *((before, last) for before in range(last)))
    return Method(
        method.name,
        method.head,
        method.preconditions,
        spelled_out(subtasks),
        variables=method.variables,
        ordering=ordering,
        learned=method.learned,
        description=method.description,
    )


def goal_methods(domain: Domain) -> list[Method]:
    """Return the method of every companion task."""
    return [_goal_method(task) for task in domain.tasks.values() if task.effects]


def _goal_method(task: Task) -> Method:
    head = Head(task.name + _DONE, tuple(p.name for p in task.parameters), {p.name: p.type for p in task.parameters})
    return Method(head.name, head, task.effects, ())


def without_goals(tree: Sequence[Node], domain: Domain) -> tuple[Node, ...]:
    """Return a decomposition without its tests; what a model proposed says whether its goal was tested."""
    kept = [node for node in tree if not is_goal((node["name"],))]
    numbers = {node["id"]: number for number, node in enumerate(kept)}
    return tuple(
        {
            **node,
            "id": numbers[node["id"]],
            "parent": None if node["parent"] is None else numbers[node["parent"]],
            **({"goal": _proved(node, domain)} if node.get("learned") else {}),
        }
        for node in kept
    )


def _proved(node: Node, domain: Domain) -> str:
    return "verified" if declared_effects(domain, (node["name"], *node["args"])) else "not verified"


def end_of(tree: Sequence[Node], at: int) -> int:
    """Return the position after the last node below the one at ``at``."""
    inside = {tree[at]["id"]}
    end = at + 1
    while end < len(tree) and tree[end]["parent"] in inside:
        inside.add(tree[end]["id"])
        end += 1
    return end


def missed_effects(tree: Sequence[Node], method: str, domain: Domain, state: StepState) -> list[str]:
    """Return the declared effects that a method did not bring about where a decomposition uses it.

    Args:
        tree: The decomposition, in preorder.
        method: The method's name.
        domain: The domain.
        state: The state at the start, which is moved to its end.
    """
    operators = {operator.name: operator for operator in domain.operators}
    wanted: dict[int, list[Condition]] = {}
    for at, node in enumerate(tree):
        if node.get("method") == method:
            effects = declared_effects(domain, (node["name"], *node["args"]))
            wanted.setdefault(end_of(tree, at), []).extend(effects)
    missed: list[str] = []
    for at in range(len(tree) + 1):
        missed += [str(effect) for effect in wanted.get(at, ()) if not holds(effect, {}, state, ())]
        if at < len(tree) and "operator" in tree[at]:
            step = Step(str(tree[at]["name"]), tuple(tree[at]["args"]))
            state.advance(operators[tree[at]["operator"]], step)
    return missed
