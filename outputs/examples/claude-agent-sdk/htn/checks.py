"""Check that a domain and a problem make sense: types, predicates, arities, and objects that exist."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from .conditions import Condition, Equal, Literal
from .domain import Domain, Method, Operator, Problem
from .errors import DomainError, Path
from .terms import ROOT_TYPE, Parameter, Term, is_variable, term_text

Types = Mapping[str, str]


def check_domain(domain: Domain) -> None:
    """Raise DomainError for the first thing in a domain that cannot be right, with the path of the key at fault."""
    _check_types(domain)
    for name, kinds in domain.predicates.items():
        for number, kind in enumerate(kinds):
            _known_type(domain, kind, ("predicates", name, number))
    for name, kind in domain.objects.items():
        _known_type(domain, kind, ("objects", name))
    _check_names(domain)
    for number, operator in enumerate(domain.operators):
        _check_operator(domain, operator, ("operators", number))
    for number, method in enumerate(domain.methods):
        _check_method(domain, method, ("methods", number))
    for name, task in domain.tasks.items():
        types = _check_parameters(domain, task.parameters, ("tasks", name, "parameters"))
        _check_conditions(domain, task.effects, types, ("tasks", name, "effects"))
    _check_facts(domain, domain.state or (), domain.objects, "state")


def check_problem(problem: Problem, domain: Domain) -> None:
    """Raise DomainError where a problem names types, predicates or objects that are not there."""
    for name, kind in problem.objects.items():
        _known_type(domain, kind, ("objects", name))
    _check_facts(domain, problem.state, problem.objects, "state")
    for number, task in enumerate(problem.tasks):
        for part in task[1:]:
            _known_object(part, problem.objects, ("tasks", number))


def _check_types(domain: Domain) -> None:
    for name, above in domain.types.items():
        path: Path = ("types", name)
        if above != ROOT_TYPE and above not in domain.types:
            raise DomainError(f"The type {above} is not defined.{_hint(above, domain.types)}", path)
        seen = [name]
        while above in domain.types:
            if above in seen:
                raise DomainError(f"The type {name} is above itself: {' < '.join([*seen, above])}.", path)
            seen.append(above)
            above = domain.types[above]


def _hint(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {close[0]}?" if close else ""


def _known_type(domain: Domain, kind: str, path: Path) -> None:
    if kind != ROOT_TYPE and kind not in domain.types:
        raise DomainError(f"The type {kind} is not defined under types.{_hint(kind, domain.types)}", path)


def _check_names(domain: Domain) -> None:
    seen: set[str] = set()
    for number, operator in enumerate(domain.operators):
        _once(operator.name, seen, "operators", number)
    names: set[str] = set()
    for number, method in enumerate(domain.methods):
        _once(method.name, names, "methods", number)
        if method.task in seen:
            raise DomainError(
                f"{method.task} is an operator already; a task needs another name.", ("methods", number, "task")
            )


def _once(name: str, seen: set[str], key: str, number: int) -> None:
    if name in seen:
        raise DomainError(f"The name {name} stands here for the second time.", (key, number, "name"))
    seen.add(name)


def _check_operator(domain: Domain, operator: Operator, path: Path) -> None:
    types = _check_parameters(domain, operator.parameters, (*path, "parameters"))
    _check_conditions(domain, operator.preconditions, types, (*path, "preconditions"))
    for key, facts in (("add", operator.effects_add), ("remove", operator.effects_remove)):
        for number, fact in enumerate(facts):
            _check_atom(domain, fact, types, (*path, key, number))


def _check_parameters(domain: Domain, parameters: Sequence[Parameter], path: Path) -> dict[str, str]:
    for parameter in parameters:
        _known_type(domain, parameter.type, path)
    return {parameter.name: parameter.type for parameter in parameters}


def _check_method(domain: Domain, method: Method, path: Path) -> None:
    types = _check_parameters(domain, method.head.parameters, (*path, "task"))
    types |= _check_parameters(domain, method.variables, (*path, "variables"))
    _check_conditions(domain, method.preconditions, types, (*path, "preconditions"))
    subtasks = () if callable(method.subtasks) else method.subtasks
    for number, step in enumerate(subtasks):
        _check_call(domain, step, types, (*path, "subtasks", number))


def _check_conditions(domain: Domain, conditions: Sequence[Condition], types: Types, path: Path) -> None:
    for number, condition in enumerate(conditions):
        if isinstance(condition, Literal):
            _check_atom(domain, condition.atom, types, (*path, number))
        elif isinstance(condition, Equal):
            for part in (condition.left, condition.right):
                if not is_variable(part):
                    _known_object(part, domain.objects, (*path, number))


def _check_atom(domain: Domain, atom: Term, types: Types, path: Path) -> None:
    name = str(atom[0])
    if not domain.predicates:
        return
    if name not in domain.predicates:
        hint = _hint(name, domain.predicates) or f" Known: {', '.join(sorted(domain.predicates))}."
        raise DomainError(f"The predicate {name} is not defined.{hint}", path)
    _check_arguments(domain, atom, domain.predicates[name], types, path)


def _check_call(domain: Domain, step: Term, types: Types, path: Path) -> None:
    """Check a subtask against what does it; one that nobody does is for the planner to report."""
    operator = next((each for each in domain.operators if each.name == step[0]), None)
    if operator is not None:
        _check_arguments(domain, step, [p.type for p in operator.parameters], types, path)
        return
    widths = [len(method.head.args) for method in domain.methods if method.task == step[0]]
    if widths and len(step) - 1 not in widths:
        raise DomainError(_counted(step, widths[0]), path)


def _check_arguments(domain: Domain, term: Term, kinds: Sequence[str], types: Types, path: Path) -> None:
    if len(term) - 1 != len(kinds):
        raise DomainError(_counted(term, len(kinds)), path)
    for part, kind in zip(term[1:], kinds, strict=True):
        own = types.get(part) if is_variable(part) else _type_of(part, domain.objects, path)
        if own is not None and not _overlap(domain, own, kind):
            raise DomainError(f"'{term_text(term)}': {part} is a {own}, and {term[0]} wants a {kind}.", path)


def _counted(term: Term, width: int) -> str:
    return f"'{term_text(term)}' has {len(term) - 1} arguments; {term[0]} takes {width}."


def _overlap(domain: Domain, one: str, other: str) -> bool:
    return other in domain.types_above(one) or one in domain.types_above(other)


def _type_of(part: Any, objects: Types, path: Path) -> str:
    _known_object(part, objects, path)
    return objects[part]


def _known_object(part: Any, objects: Collection[str], path: Path) -> None:
    if part not in objects:
        raise DomainError(f"The object {part} is not declared under objects.{_hint(str(part), objects)}", path)


def _check_facts(domain: Domain, facts: Sequence[Term], objects: Types, key: str) -> None:
    for number, fact in enumerate(facts):
        path: Path = (key, number)
        kinds = domain.predicates.get(str(fact[0]))
        if kinds is None and domain.predicates:
            hint = _hint(str(fact[0]), domain.predicates)
            raise DomainError(f"The predicate {fact[0]} is not defined.{hint}", path)
        if kinds is not None and len(kinds) != len(fact) - 1:
            raise DomainError(_counted(fact, len(kinds)), path)
        for part, kind in zip(fact[1:], kinds or (), strict=False):
            own = _type_of(part, objects, path)
            if kind not in domain.types_above(own):
                raise DomainError(f"'{term_text(fact)}': {part} is a {own}, and {fact[0]} wants a {kind}.", path)
