"""The objects of a problem and their types, declared or read off where they occur."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .conditions import Compare, Condition, Equal, Exists, ForAll, Literal, walk
from .domain import Domain, Method, Operator, Problem
from .effects import Change, Effect, When
from .numbers import Number, fluents_of
from .terms import ROOT_TYPE, Parameter, Term, is_variable


def typed_objects(domain: Domain, problem: Problem) -> dict[str, dict[Any, None]]:
    """Return the objects of each type.

    What is not declared gets its types from the predicates and tasks it occurs in; an object of which nothing at all
    is known fits every type, so that callers in Python need not declare any.
    """
    declared = {**domain.objects, **problem.objects}
    kinds: dict[Any, set[str]] = {name: {kind} for name, kind in declared.items()}
    for term, signature in _uses(domain, problem):
        for position, part in enumerate(term[1:]):
            if not is_variable(part) and part not in declared:
                known = kinds.setdefault(part, set())
                known.update(signature[position : position + 1])
    all_types = _all_types(domain)
    members: dict[str, dict[Any, None]] = {kind: {} for kind in all_types}
    for name in sorted(kinds, key=lambda each: (type(each).__name__, str(each))):
        own = kinds[name] - ({ROOT_TYPE} if name not in declared else set())
        above = [each for kind in sorted(own) for each in domain.types_above(kind)] if own else all_types
        for kind in above:
            members.setdefault(kind, {})[name] = None
    return members


def _all_types(domain: Domain) -> list[str]:
    heads = [each.types or {} for each in (method.head for method in domain.methods)]
    named = [p.type for operator in domain.operators for p in operator.parameters]
    named += [kind for types in heads for kind in types.values()]
    named += [p.type for method in domain.methods for p in method.variables]
    named += [p.type for condition in walk(_conditions(domain)) for p in _own_parameters(condition)]
    named += [p.type for effect in _effects(domain) if isinstance(effect, When) for p in effect.parameters]
    return list(dict.fromkeys([ROOT_TYPE, *domain.types, *domain.types.values(), *named]))


def _uses(domain: Domain, problem: Problem) -> Iterable[tuple[Term, Sequence[str]]]:
    """Return every term of domain and problem with what is declared about the types of its arguments."""
    signatures: Mapping[str, Sequence[str]] = {
        **{method.task: _head_types(method.head.args, method.head.types or {}) for method in domain.methods},
        **{operator.name: [p.type for p in operator.parameters] for operator in domain.operators},
    }
    conditions = [*_conditions(domain), *problem.goal]
    facts = [*problem.state]
    facts += [each.atom for each in walk(conditions) if isinstance(each, Literal)]
    facts += [("=", each.left, each.right) for each in walk(conditions) if isinstance(each, Equal)]
    facts += [fact for operator in domain.operators for fact in (*operator.effects_add, *operator.effects_remove)]
    facts += [fact for effect in _effects(domain) if isinstance(effect, When) for fact in (*effect.add, *effect.remove)]
    fluents = [*problem.numbers, *(fluent for number in _numbers(domain, conditions) for fluent in fluents_of(number))]
    # A task that names an undeclared object is a slip where objects are declared at all.
    calls = [] if domain.objects or problem.objects else [*problem.tasks]
    for method in domain.methods:
        calls.append((method.task, *method.head.args))
        calls += [] if callable(method.subtasks) else method.subtasks
    yield from ((fact, domain.predicates.get(str(fact[0]), ())) for fact in facts)
    yield from ((fluent, domain.functions.get(str(fluent[0]), ())) for fluent in fluents)
    yield from ((call, signatures.get(str(call[0]), ())) for call in calls)


def _conditions(domain: Domain) -> list[Condition]:
    owners: list[Operator | Method] = [*domain.operators, *domain.methods]
    found = [condition for owner in owners for condition in owner.preconditions]
    return found + [effect.condition for effect in _effects(domain) if isinstance(effect, When)]


def _effects(domain: Domain) -> list[Effect]:
    return [effect for operator in domain.operators for effect in operator.effects_more]


def _numbers(domain: Domain, conditions: Sequence[Condition]) -> Iterable[Number]:
    for condition in walk(conditions):
        if isinstance(condition, Compare):
            yield from (condition.left, condition.right)
    for effect in _effects(domain):
        for change in (effect,) if isinstance(effect, Change) else effect.changes:
            yield from (change.fluent, change.value)
    yield from (operator.cost for operator in domain.operators)


def _own_parameters(condition: Condition) -> Sequence[Parameter]:
    return condition.parameters if isinstance(condition, ForAll | Exists) else ()


def _head_types(args: Sequence[Any], types: Mapping[str, str]) -> list[str]:
    return [types.get(arg, ROOT_TYPE) if is_variable(arg) else ROOT_TYPE for arg in args]
