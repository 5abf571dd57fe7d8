"""Turns accepted proposals into methods: needs of the steps become preconditions, objects become variables.

What must hold before the proposal is found by regression over the steps with which it was carried out, from the task's
declared effects backwards. Objects of the task, of the subtasks and of those conditions are then replaced by variables,
the same object by the same variable everywhere, except objects that the domain's own text names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from ..interface import Node, Step
from ..language.conditions import Compare, Condition, Equal, Exists, ForAll, Literal, Some, bound, walk
from ..language.domain import Domain, Problem, declared_effects
from ..language.methods import Method, content_of
from ..language.operators import Change, Operator
from ..language.terms import ROOT_TYPE, Head, Members, Term, fluents_of, ground, is_variable, term_text
from ..verification.evaluation import StepState
from .gaps import end_of
from .proposals import Accepted
from .regression import Applied, Chosen, Regressed, regress


@dataclass(frozen=True)
class LearnedMethod:
    """A learned method, with its origin."""

    method: Method
    source: Accepted
    notes: tuple[str, ...] = ()
    """Requirements that its conditions do not express, so that they only show when the method is used."""


def learn(
    tree: Sequence[Node],
    accepted: Mapping[str, Accepted],
    domain: Domain,
    problem: Problem,
    members: Members,
    known: Sequence[Method] = (),
) -> list[LearnedMethod]:
    """Return a method for each proposal that a plan's decomposition, in preorder, uses and that is not known yet.

    Proposals are identified by their name in the tree; ``members`` are the problem's objects by type.
    """
    seen = {content_of(method) for method in known}
    taken = {method.name for method in (*domain.methods, *known)}
    parts = list(_parts(tree, domain, [*domain.methods, *known]))
    found: list[LearnedMethod] = []
    for at, node in enumerate(tree):
        source = accepted.get(str(node.get("method")))
        if source is None:
            continue
        regressed = _regressed(tree, at, parts, domain, problem, members)
        learned = _lifted(source, regressed, domain, problem, taken)
        if content_of(learned.method) not in seen:
            seen.add(content_of(learned.method))
            taken.add(learned.method.name)
            found.append(learned)
    return found


def _parts(tree: Sequence[Node], domain: Domain, methods: Sequence[Method]) -> Iterator[Applied | Chosen | None]:
    """Yield what each node did: a step, or a method with conditions; None for a proposal, which has none yet."""
    operators = domain.steps
    by_name = {method.name: method for method in methods}
    for node in tree:
        args = tuple(node["args"])
        if "operator" in node:
            yield Applied(operators[node["operator"]], Step(str(node["name"]), args))
        else:
            method = by_name.get(str(node["method"]))
            yield None if method is None else Chosen(method, dict(node["bindings"]), args)


def _regressed(
    tree: Sequence[Node],
    at: int,
    parts: Sequence[Applied | Chosen | None],
    domain: Domain,
    problem: Problem,
    members: Members,
) -> Regressed:
    state = StepState(problem, members)
    for part in parts[:at]:
        if isinstance(part, Applied):
            state.advance(part.operator, part.step)
    example = [part for part in parts[at + 1 : end_of(tree, at)] if part is not None]
    return regress(example, declared_effects(domain, (tree[at]["name"], *tree[at]["args"])), state)


def _lifted(
    source: Accepted, regressed: Regressed, domain: Domain, problem: Problem, taken: Iterable[str]
) -> LearnedMethod:
    proposed = source.method
    subtasks = proposed.steps
    task = (proposed.head.name, *proposed.head.args)
    fixed = objects_of_text(domain)
    mentioned = [part for term in (task, *subtasks) for part in term[1:]]
    mentioned += [part for each in regressed.conditions for part in _objects(each)]
    lifted = [part for part in dict.fromkeys(mentioned) if part not in fixed]
    variables = {part: f"?v{number}" for number, part in enumerate(lifted, 1)}
    kinds = _kinds(lifted, task, regressed.kinds, domain, problem)
    apart = _apart(regressed.apart, kinds, domain, variables)
    conditions = [
        bound(each, variables)
        for each in regressed.conditions
        if not (isinstance(each, Equal) and each.positive)  # an object equals itself anyway
    ]
    args = ground(task[1:], variables)
    types = {variables[part]: kind for part, kind in kinds.items() if kind != ROOT_TYPE}
    method = Method(
        _fresh_name(f"learned_{task[0]}", taken),
        Head(task[0], args, {name: kind for name, kind in types.items() if name in args}),
        list(dict.fromkeys([*conditions, *apart])),
        [(step[0], *ground(step[1:], variables)) for step in subtasks],
        variables=[f"{name} - {kind}" for name, kind in types.items() if name not in args],
        learned=True,
        description=f"Proposed for '{term_text(task)}'.",
    )
    return LearnedMethod(method, source, tuple(regressed.notes))


def _kinds(
    lifted: Sequence[Any], task: Term, wants: Sequence[tuple[Any, str]], domain: Domain, problem: Problem
) -> dict[Any, str]:
    """Return the widest type that each object's variable may have, given the declarations for its occurrences."""
    declared = domain.tasks.get(task[0])
    wanted: dict[Any, list[str]] = {}
    for part, parameter in zip(task[1:], declared.parameters if declared else (), strict=False):
        wanted.setdefault(part, []).append(parameter.type)
    for part, kind in wants:
        wanted.setdefault(part, []).append(kind)
    own = {**domain.objects, **problem.objects}
    found: dict[Any, str] = {}
    for part in lifted:
        kinds = wanted.get(part) or [own.get(part, ROOT_TYPE)]
        found[part] = max(kinds, key=lambda kind: len(domain.types_above(kind)))
    return found


def _apart(
    pairs: Iterable[tuple[Term, Term]], kinds: Mapping[Any, str], domain: Domain, variables: Mapping[Any, str]
) -> Iterator[Condition]:
    """Yield conditions that two facts differ, as far as other objects in them could make them equal."""
    for one, other in pairs:
        different = [(left, right) for left, right in zip(one[1:], other[1:], strict=True) if left != right]
        if all(_may_be_same(left, right, kinds, domain) for left, right in different):
            names = [(variables.get(left, left), variables.get(right, right)) for left, right in different]
            unequal = tuple(Equal(left, right, positive=False) for left, right in names)
            yield unequal[0] if len(unequal) == 1 else Some(unequal)


def _may_be_same(one: Any, other: Any, kinds: Mapping[Any, str], domain: Domain) -> bool:
    """Return whether the replacements of two different objects could be equal: no two constants, nor disjoint types."""
    if one not in kinds and other not in kinds:
        return False
    own = [kinds.get(part) or domain.objects.get(part, ROOT_TYPE) for part in (one, other)]
    return own[0] in domain.types_above(own[1]) or own[1] in domain.types_above(own[0])


def _objects(condition: Condition) -> Iterator[Any]:
    own = {p.name for each in walk([condition]) if isinstance(each, ForAll | Exists) for p in each.parameters}
    for each in walk([condition]):
        if isinstance(each, Literal):
            yield from (part for part in each.atom[1:] if part not in own)
        elif isinstance(each, Equal):
            yield from (part for part in (each.left, each.right) if part not in own)
        elif isinstance(each, Compare):
            fluents = [fluent for side in (each.left, each.right) for fluent in fluents_of(side)]
            yield from (part for fluent in fluents for part in fluent[1:] if part not in own)


def _fresh_name(stem: str, taken: Iterable[str]) -> str:
    used = set(taken)
    return next(name for name in (f"{stem}_{number}" for number in count(1)) if name not in used)


def objects_of_text(domain: Domain) -> set[Any]:
    """Return the objects that operators, methods and declared effects name; they stand for themselves."""
    found: set[Any] = set()
    for operator in domain.operators:
        found |= {part for each in operator.preconditions for part in _objects_in(each)}
        found |= {part for term in _effect_terms(operator) for part in term[1:]}
    for method in domain.methods:
        found |= {part for each in method.preconditions for part in _objects_in(each)}
        found |= set(method.head.args)
        found |= {part for step in method.steps for part in step[1:]}
    for task in domain.tasks.values():
        found |= {part for each in task.effects for part in _objects_in(each)}
    return {part for part in found if not is_variable(part)}


def _objects_in(condition: Condition) -> Iterator[Any]:
    for each in walk([condition]):
        if isinstance(each, Literal | Equal | Compare):
            yield from _objects(each)


def _effect_terms(operator: Operator) -> Iterator[Term]:
    yield from (*operator.effects_add, *operator.effects_remove)
    for effect in operator.effects_more:
        if isinstance(effect, Change):
            yield effect.fluent
            yield from fluents_of(effect.value)
            continue
        yield from ((" ", part) for part in _objects_in(effect.condition))
        yield from (*effect.add, *effect.remove)
        for change in effect.changes:
            yield change.fluent
            yield from fluents_of(change.value)
