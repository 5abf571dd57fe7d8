"""Turn accepted proposals into methods: needs of the steps become preconditions, objects become variables.

The conditions are found by walking the steps of the proposal backwards: a fact that a step makes true is not needed
before it, a fact that the step needs is. Objects of the task and of those conditions are then replaced by variables,
the same object by the same variable everywhere, except where the domain itself speaks of the object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .compiled import CompiledOperator
from .conditions import Condition, Equal, Literal
from .domain import Domain, Method, Problem
from .search import Decision
from .terms import ROOT_TYPE, Head, Term, is_variable, term_text

_PROPOSED = "proposed_"


def learn(decisions: Sequence[Decision], domain: Domain, problem: Problem, known: Iterable[Method]) -> list[Method]:
    """Return a method for each accepted proposal among the decisions that is not known yet."""
    seen = {_content(method) for method in known}
    taken = {method.name for method in known}
    found: list[Method] = []
    for position, decision in enumerate(decisions):
        source = decision.source.source
        if isinstance(source, Method) and source.learned and source.name.startswith(_PROPOSED):
            method = _generalise(source, _steps_below(decisions, position), domain, problem, taken)
            if _content(method) not in seen:
                seen.add(_content(method))
                taken.add(method.name)
                found.append(method)
    return found


def _content(method: Method) -> tuple[Any, ...]:
    return (method.head.name, method.head.args, method.preconditions, method.subtasks)


def _steps_below(decisions: Sequence[Decision], position: int) -> list[Decision]:
    """Return the steps that the decision at ``position`` was carried out with."""
    steps: list[Decision] = []
    missing, at = 1, position
    while missing:
        decision = decisions[at]
        missing += decision.width - 1
        steps += [decision] if isinstance(decision.source, CompiledOperator) else []
        at += 1
    return steps


def needed_before(steps: Sequence[Decision]) -> list[Condition]:
    """Return the weakest conditions under which the steps can be done one after the other."""
    needed: dict[Condition, None] = {}
    for step in reversed(steps):
        operator = step.source
        if not isinstance(operator, CompiledOperator):
            continue
        added = {fact(step.slots) for fact in operator.added}
        removed = {fact(step.slots) for fact in operator.removed} - added
        ensured = {Literal(fact) for fact in added} | {Literal(fact, positive=False) for fact in removed}
        own = _ground_conditions(operator, step.task)
        needed = dict.fromkeys([*own, *(each for each in needed if each not in ensured)])
    return list(needed)


def _ground_conditions(operator: CompiledOperator, task: Term) -> list[Condition]:
    values = dict(zip((p.name for p in operator.source.parameters), task[1:], strict=False))
    return [_replaced(each, values) for each in operator.source.preconditions if isinstance(each, Literal | Equal)]


def _replaced(condition: Condition, values: Mapping[Any, Any]) -> Condition:
    if isinstance(condition, Literal):
        return Literal((condition.atom[0], *_swap(condition.atom[1:], values)), condition.positive)
    if isinstance(condition, Equal):
        left, right = _swap((condition.left, condition.right), values)
        return Equal(left, right, condition.positive)
    return condition


def _swap(parts: Sequence[Any], values: Mapping[Any, Any]) -> Term:
    return tuple(values.get(part, part) for part in parts)


def _generalise(
    proposed: Method, steps: Sequence[Decision], domain: Domain, problem: Problem, taken: Iterable[str]
) -> Method:
    needed = needed_before(steps)
    fixed = _objects_of_text(domain)
    liftable = [*proposed.head.args]
    liftable += [part for each in needed if isinstance(each, Literal) and each.positive for part in each.atom[1:]]
    values = {
        part: f"?v{number}"
        for number, part in enumerate((part for part in dict.fromkeys(liftable) if part not in fixed), 1)
    }
    kinds = {variable: _kind(part, domain, problem) for part, variable in values.items()}
    args = _swap(proposed.head.args, values)
    subtasks = () if callable(proposed.subtasks) else proposed.subtasks
    head = Head(proposed.head.name, args, {each: kinds[each] for each in args if each in kinds})
    return Method(
        _fresh_name(f"learned_{head.name}", taken),
        head,
        [_replaced(each, values) for each in needed if not _trivial(each)],
        [(step[0], *_swap(step[1:], values)) for step in subtasks],
        variables=[f"{name} - {kind}" for name, kind in kinds.items() if name not in args and kind != ROOT_TYPE],
        learned=True,
        description=f"Proposed for '{term_text((head.name, *proposed.head.args))}'.",
    )


def _trivial(condition: Condition) -> bool:
    """Return whether two different objects of the example were only compared with a third that the text fixes."""
    return isinstance(condition, Equal) and condition.positive


def _fresh_name(stem: str, taken: Iterable[str]) -> str:
    number, used = 1, set(taken)
    while f"{stem}_{number}" in used:
        number += 1
    return f"{stem}_{number}"


def _objects_of_text(domain: Domain) -> set[Any]:
    """Return the objects that operators speak of by name; these mean themselves."""
    terms = [fact for operator in domain.operators for fact in (*operator.effects_add, *operator.effects_remove)]
    for operator in domain.operators:
        for each in operator.preconditions:
            if isinstance(each, Literal):
                terms.append(each.atom)
            elif isinstance(each, Equal):
                terms.append(("=", each.left, each.right))
    return {part for term in terms for part in term[1:] if not is_variable(part)}


def _kind(part: Any, domain: Domain, problem: Problem) -> str:
    return problem.objects.get(part) or domain.objects.get(part) or ROOT_TYPE
