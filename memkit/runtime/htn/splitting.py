"""Methods in parts: a variable that only later subtasks use gets its value when those are reached.

Bound at the beginning, the free variables of a method make as many candidates as their types have combinations, and
each is tried against what stands in the way long before any of them matters. So a method is cut where such a variable
first occurs: what follows becomes a task of its own with one method, whose conditions are those that its subtasks need
then. This is the method splitting of total-order planners; plans and decomposition trees show whole methods only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from .compiled import CompiledDomain, CompiledMethod, NeedsFrom, compile_part
from .conditions import Equal, Literal, condition_variables
from .domain import Method
from .joins import conjuncts
from .needs import Needs
from .search import Decision
from .terms import ROOT_TYPE, Head, Parameter, Term, is_variable, variables_of


def split(compiled: CompiledDomain) -> CompiledDomain:
    """Return a domain whose methods are cut where variables that nothing binds first occur."""
    found: dict[str, list[CompiledMethod]] = {task: [] for task in compiled.methods}
    for number, method in enumerate(each for methods in compiled.methods.values() for each in methods):
        steps = method.source.subtasks
        cuts = [] if callable(steps) or method.source.ordering is not None else _cuts(method, steps)
        if callable(steps) or not cuts:
            found[method.source.task].append(method)
            continue
        for part, needs in _parts(method, steps, cuts, number):
            made = compile_part(part, method, needs, compiled.domain)
            found.setdefault(part.task, []).append(made)
    return replace(compiled, methods={task: tuple(methods) for task, methods in found.items()})


def _parts(
    method: CompiledMethod, subtasks: Sequence[Term], cuts: Sequence[int], number: int
) -> Iterator[tuple[Method, NeedsFrom]]:
    """Yield the parts of a method, each of which ends with the task of the next, and what each needs."""
    source = method.source
    kinds = {**(source.head.types or {}), **{each.name: each.type for each in source.variables}}
    head, conditions = source.head, source.preconditions
    known = dict.fromkeys(
        [*filter(is_variable, head.args), *(v for each in conditions for v in condition_variables(each))]
    )
    for start, end in zip((0, *cuts), (*cuts, len(subtasks)), strict=True):
        steps = subtasks[start:end]
        known.update(dict.fromkeys(_variables(steps)))
        later = dict.fromkeys(_variables(subtasks[end:]))
        # No name in a file and no proposal holds a space.
        rest = Head(f"{source.name} {number} {end}", tuple(name for name in known if name in later))
        used = dict.fromkeys([*known, *rest.args])
        part = Method(
            source.name,
            Head(head.name, head.args, {name: kinds[name] for name in head.args if name in kinds}),
            conditions,
            steps if end == len(subtasks) else (*steps, {"name": rest.name, "args": rest.args}),
            variables=[Parameter(name, kinds.get(name, ROOT_TYPE)) for name in used if name not in head.args],
            learned=source.learned,
        )
        yield part, partial(_needs_of, method, start, frozenset(known))
        head, conditions = rest, ()


def _needs_of(whole: CompiledMethod, start: int, known: frozenset[str], further: int) -> Needs:
    """Return what a part that begins with a subtask needs then, as far as it knows the variables."""
    return frozenset(each for each in whole.needs(start + further) if known.issuperset(condition_variables(each)))


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
