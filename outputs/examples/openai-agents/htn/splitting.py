"""Methods in parts: a variable that only later subtasks use gets its value when those are reached.

Bound at the beginning, the free variables of a method make as many candidates as their types have combinations, and
each is tried against what stands in the way long before any of them matters. So a method is cut where such a variable
first occurs: what follows becomes a task of its own with one method, whose conditions are those that its subtasks need
then. This is the method splitting of total-order planners; plans and decomposition trees show whole methods only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .compiled import CompiledDomain, CompiledMethod, compile_domain
from .conditions import Equal, Literal, condition_variables
from .domain import Method
from .joins import conjuncts
from .search import Decision
from .terms import ROOT_TYPE, Head, Parameter, Term, is_variable, variables_of


def split(compiled: CompiledDomain, *, typed: bool) -> CompiledDomain:
    """Return a domain whose methods are cut where variables that nothing binds first occur.

    ``typed`` says that every object has one declared type.
    """
    parts: list[Method] = []
    wholes: dict[int, CompiledMethod] = {}
    for number, method in enumerate(each for methods in compiled.methods.values() for each in methods):
        own = list(_parts(method, number))
        parts += own
        if len(own) > 1:
            wholes.update((id(part), method) for part in own)
    if not wholes:
        return compiled
    made = compile_domain(replace(compiled.domain, methods=()), parts, typed=typed)
    for methods in made.methods.values():
        for part in methods:
            part.whole = wholes.get(id(part.source))
    return replace(made, domain=compiled.domain)


def _parts(method: CompiledMethod, number: int) -> Iterator[Method]:
    """Yield the parts of a method, each of which ends with the task of the next; a method that is not cut as it is."""
    source = method.source
    cuts = [] if callable(source.subtasks) or source.ordering is not None else _cuts(method, source.subtasks)
    if not cuts:
        yield source
        return
    assert not callable(source.subtasks)
    kinds = {**(source.head.types or {}), **{each.name: each.type for each in source.variables}}
    head, conditions = source.head, source.preconditions
    known = dict.fromkeys(
        [*filter(is_variable, head.args), *(v for each in conditions for v in condition_variables(each))]
    )
    for start, end in zip((0, *cuts), (*cuts, len(source.subtasks)), strict=True):
        steps: Sequence[Term] = source.subtasks[start:end]
        known.update(dict.fromkeys(_variables(steps)))
        later = dict.fromkeys(_variables(source.subtasks[end:]))
        # No name in a file and no proposal holds a space.
        rest = Head(f"{source.name} {number} {end}", tuple(name for name in known if name in later))
        used = dict.fromkeys([*known, *rest.args])
        yield Method(
            source.name,
            Head(head.name, head.args, {name: kinds[name] for name in head.args if name in kinds}),
            conditions,
            steps if end == len(source.subtasks) else (*steps, {"name": rest.name, "args": rest.args}),
            variables=[Parameter(name, kinds.get(name, ROOT_TYPE)) for name in used if name not in head.args],
            learned=source.learned,
        )
        head, conditions = rest, ()


def _cuts(method: CompiledMethod, subtasks: Sequence[Term]) -> list[int]:
    """Return the positions of subtasks before which a method is cut."""
    met = {name for each in method.source.preconditions for name in condition_variables(each)}
    met.update(filter(is_variable, method.source.head.args))
    for each in conjuncts(method.pulled):
        if isinstance(each, Literal | Equal) and each.positive:
            met.update(condition_variables(each))
    found: list[int] = []
    for at, subtask in enumerate(subtasks):
        if at > 0 and not met.issuperset(variables_of(subtask)):
            found.append(at)
        met.update(variables_of(subtask))
    return found


def _variables(steps: Iterable[Term]) -> Iterator[str]:
    return (name for step in steps for name in variables_of(step))


def joined(decisions: Sequence[Decision]) -> list[Decision]:
    """Return decisions, which stand in preorder, with methods whole again."""
    found: list[Decision] = []
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


def _is_rest(decision: Decision) -> bool:
    source = decision.source
    return (
        isinstance(source, CompiledMethod)
        and source.whole is not None
        and source.source.task != source.whole.source.task
    )


def _values(decision: Decision) -> dict[str, Any]:
    source = decision.source
    if not isinstance(source, CompiledMethod) or source.whole is None:
        return {}
    return dict(zip(source.variables, decision.values, strict=True))


def _whole(decision: Decision, values: Mapping[str, Any]) -> Decision:
    whole = decision.source.whole if isinstance(decision.source, CompiledMethod) else None
    if whole is None:
        return decision
    return decision._replace(source=whole, values=tuple(values[name] for name in whole.variables))
