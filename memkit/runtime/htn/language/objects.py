"""The objects of a problem with their types, declared or inferred from use, and the validity of calls."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..language.terms import counted
from .conditions import Compare, Condition, Equal, Exists, ForAll, Literal, walk
from .domain import Domain, Problem
from .methods import Method
from .operators import Change, Effect, Operator, When
from .terms import ROOT_TYPE, Members, Number, Parameter, Term, fluents_of, is_variable, term_text

_Use = tuple[Term, Sequence[str]]
"""A fact, fluent or call, and the declared types of its arguments."""


def typed_objects(domain: Domain, problem: Problem) -> dict[str, dict[Any, None]]:
    """Return the objects of each type.

    Undeclared objects get their types from the predicates and tasks in which they occur; an object about which nothing
    is known fits every type, so that callers in Python need not declare any.
    """
    declared = {**domain.objects, **problem.objects}
    kinds: dict[Any, set[str]] = {name: {kind} for name, kind in declared.items()}
    all_types, of_domain = domain.kept("objects", lambda: (_all_types(domain), _kinds(_uses(domain), domain.objects)))
    for found in (of_domain, _kinds(_uses_in_problem(domain, problem), declared)):
        for name, own in found.items():
            if name not in declared:
                kinds.setdefault(name, set()).update(own)
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
    quantified = (each for each in walk(_conditions(domain)) if isinstance(each, ForAll | Exists))
    named += [p.type for condition in quantified for p in condition.parameters]
    named += [p.type for effect in _effects(domain) if isinstance(effect, When) for p in effect.parameters]
    return list(dict.fromkeys([ROOT_TYPE, *domain.types, *domain.types.values(), *named]))


def _kinds(uses: Iterable[_Use], declared: Container[Any]) -> dict[Any, set[str]]:
    """Return the types that objects get from their uses; declared ones need none."""
    found: dict[Any, set[str]] = {}
    for term, signature in uses:
        for position, part in enumerate(term):
            if position > 0 and part not in declared and not is_variable(part):
                found.setdefault(part, set()).update(signature[position - 1 : position])
    return found


def _uses(domain: Domain) -> Iterable[_Use]:
    """Yield every term of a domain with the declared types of its arguments."""
    yield from _uses_in_conditions(domain, _conditions(domain))
    facts = [fact for operator in domain.operators for fact in (*operator.effects_add, *operator.effects_remove)]
    facts += [fact for effect in _effects(domain) if isinstance(effect, When) for fact in (*effect.add, *effect.remove)]
    yield from ((fact, domain.predicates.get(str(fact[0]), ())) for fact in facts)
    yield from _fluents(domain, _numbers(domain))
    signatures = _signatures(domain)
    for method in domain.methods:
        for call in ((method.task, *method.head.args), *method.steps):
            yield call, signatures.get(str(call[0]), ())


def _uses_in_problem(domain: Domain, problem: Problem) -> Iterable[_Use]:
    yield from ((fact, domain.predicates.get(str(fact[0]), ())) for fact in problem.state)
    yield from _uses_in_conditions(domain, problem.goal)
    yield from _fluents(domain, problem.numbers)
    # A task that names an undeclared object is a mistake if objects are declared at all.
    if not (domain.objects or problem.objects):
        signatures = _signatures(domain)
        yield from ((task, signatures.get(str(task[0]), ())) for task in problem.tasks)


def _uses_in_conditions(domain: Domain, conditions: Sequence[Condition]) -> Iterable[_Use]:
    for each in walk(conditions):
        if isinstance(each, Literal):
            yield each.atom, domain.predicates.get(str(each.atom[0]), ())
        elif isinstance(each, Equal):
            yield ("=", each.left, each.right), ()
        elif isinstance(each, Compare):
            yield from _fluents(domain, (each.left, each.right))


def _fluents(domain: Domain, numbers: Iterable[Number]) -> Iterable[_Use]:
    for fluent in (fluent for number in numbers for fluent in fluents_of(number)):
        yield fluent, domain.functions.get(str(fluent[0]), ())


def _signatures(domain: Domain) -> Mapping[str, Sequence[str]]:
    return {
        **{method.task: _head_types(method.head.args, method.head.types or {}) for method in domain.methods},
        **{operator.name: [p.type for p in operator.parameters] for operator in domain.operators},
    }


def _conditions(domain: Domain) -> list[Condition]:
    owners: list[Operator | Method] = [*domain.operators, *domain.methods]
    found = [condition for owner in owners for condition in owner.preconditions]
    return found + [effect.condition for effect in _effects(domain) if isinstance(effect, When)]


def _effects(domain: Domain) -> list[Effect]:
    return [effect for operator in domain.operators for effect in operator.effects_more]


def _numbers(domain: Domain) -> Iterable[Number]:
    for effect in _effects(domain):
        for change in (effect,) if isinstance(effect, Change) else effect.changes:
            yield from (change.fluent, change.value)
    yield from (operator.cost for operator in domain.operators)


def _head_types(args: Sequence[Any], types: Mapping[str, str]) -> list[str]:
    return [types.get(arg, ROOT_TYPE) if is_variable(arg) else ROOT_TYPE for arg in args]


def fault_of(call: Term, domain: Domain, learned: Sequence[Method], members: Members) -> str | None:
    """Return in words why ``call`` is invalid, or None if it is valid."""
    name, args = call[0], call[1:]
    heads = list(_heads(name, domain, learned))
    if not heads:
        method = next((each for each in (*domain.methods, *learned) if each.name == name), None)
        hint = "" if method is None else f"; {name} is a method, and what it does is the task {method.task}"
        return f"no operator or method is named {name}{hint}"
    faults = [_misfit(head, args, members) for head in heads]
    if None not in faults:
        return f"'{term_text(call)}': {name} {faults[0]}"
    if not all(head is None for head in heads):
        for arg in args:
            if arg not in members.get(ROOT_TYPE, {}):
                return f"'{term_text(call)}': {arg} is not an object of this problem"
    return None


def _heads(name: Any, domain: Domain, learned: Sequence[Method]) -> Iterator[Sequence[Any] | None]:
    """Yield the parameters of everything with that name; None stands for any arguments."""
    for operator in domain.operators:
        if operator.name == name:
            yield None if operator.any_arguments else operator.parameters
    for method in (*domain.methods, *learned):
        if method.task == name:
            types = method.head.types or {}
            yield (
                None
                if method.any_arguments
                else [
                    Parameter(arg, types.get(arg, ROOT_TYPE)) if is_variable(arg) else arg for arg in method.head.args
                ]
            )


def _misfit(head: Sequence[Any] | None, args: Term, members: Members) -> str | None:
    if head is None:
        return None
    if len(args) != len(head):
        return f"takes {counted(len(head), 'argument')}, not {len(args)}"
    for wanted, arg in zip(head, args, strict=True):
        if not isinstance(wanted, Parameter):
            if wanted != arg:
                return f"is for {wanted} only, not {arg}"
        elif wanted.type != ROOT_TYPE and arg not in members.get(wanted.type, {}):
            return f"needs a {wanted.type}; {arg} is {_kind(arg, members)}"
    return None


def _kind(value: Any, members: Members) -> str:
    kinds = [kind for kind, objects in members.items() if value in objects and kind != ROOT_TYPE]
    if kinds:
        return f"a {min(kinds, key=lambda kind: (len(members[kind]), kind))}"
    return "of a different type" if value in members.get(ROOT_TYPE, {}) else "not an object of this problem"
