"""The objects of a problem and their types, declared or read off where they occur."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .conditions import Equal, Literal, order_key
from .domain import Domain, Method, Operator, Problem
from .terms import ROOT_TYPE, Term, is_variable


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
    for name in sorted(kinds, key=order_key):
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
    return list(dict.fromkeys([ROOT_TYPE, *domain.types, *domain.types.values(), *named]))


def _uses(domain: Domain, problem: Problem) -> Iterable[tuple[Term, Sequence[str]]]:
    """Return every term of domain and problem with what is declared about the types of its arguments."""
    signatures: Mapping[str, Sequence[str]] = {
        **{method.task: _head_types(method.head.args, method.head.types or {}) for method in domain.methods},
        **{operator.name: [p.type for p in operator.parameters] for operator in domain.operators},
    }
    facts = [*problem.state]
    owners: list[Operator | Method] = [*domain.operators, *domain.methods]
    for owner in owners:
        facts += [each.atom for each in owner.preconditions if isinstance(each, Literal)]
        facts += [("=", each.left, each.right) for each in owner.preconditions if isinstance(each, Equal)]
    facts += [fact for operator in domain.operators for fact in (*operator.effects_add, *operator.effects_remove)]
    # A task that names an undeclared object is a slip where objects are declared at all.
    calls = [] if domain.objects or problem.objects else [*problem.tasks]
    for method in domain.methods:
        calls.append((method.task, *method.head.args))
        calls += [] if callable(method.subtasks) else method.subtasks
    yield from ((fact, domain.predicates.get(str(fact[0]), ())) for fact in facts)
    yield from ((call, signatures.get(str(call[0]), ())) for call in calls)


def _head_types(args: Sequence[Any], types: Mapping[str, str]) -> list[str]:
    return [types.get(arg, ROOT_TYPE) if is_variable(arg) else ROOT_TYPE for arg in args]
