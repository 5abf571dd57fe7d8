"""Methods that add nothing: an earlier one does the same, whenever they could."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memkit.runtime.htn.core import Condition, Domain, Literal, Method, Term
from memkit.runtime.htn.language.conditions import bound, condition_variables, conjuncts
from memkit.runtime.htn.language.terms import ROOT_TYPE, is_variable

from .contradiction import is_quantified
from .faults import SHADOWED_METHOD, Fault

Binding = dict[str, Any]
_MOST_TRIES = 2_000
"""Renamings that are tried of one pair of methods; where more would be needed, nothing is said."""


def shadowed_methods(domain: Domain) -> Iterator[Fault]:
    """Yield each method with the earlier one that shadows it.

    One shadows the other where it does the same task by the same subtasks in the same order, and each of its conditions
    stands among the other's too, under one renaming of its variables that widens no type. Whatever plan the later one
    leads to was tried before. Different subtasks shadow nothing, for a plan may fail behind them.
    """
    tried = sorted(range(len(domain.methods)), key=lambda number: domain.methods[number].learned)
    alike: dict[tuple[str, ...], list[int]] = {}
    wanted = [_names(method) for method in domain.methods]
    for number in tried:
        method = domain.methods[number]
        earlier_ones = alike.setdefault(_outline(method), [])
        for earlier in earlier_ones:
            if wanted[earlier] <= wanted[number] and _shadows(domain.methods[earlier], method, domain):
                other = domain.methods[earlier].name
                message = (
                    f"{method.name} adds nothing: {other}, which is tried before it, does the same whenever it could."
                )
                yield Fault(SHADOWED_METHOD, message, ("methods", number, "name"))
                break
        earlier_ones.append(number)


def _outline(method: Method) -> tuple[str, ...]:
    """Return what two methods must have in common before it is worth to look closer."""
    return (method.task, *(() if callable(method.subtasks) else (str(step[0]) for step in method.subtasks)))


def _names(method: Method) -> set[tuple[Any, bool]]:
    """Return the predicates that must hold, and those that must not."""
    parts = conjuncts(method.preconditions)
    return {(each.atom[0], each.positive) for each in parts if isinstance(each, Literal)}


def _shadows(earlier: Method, later: Method, domain: Domain) -> bool:
    if (
        earlier.task != later.task
        or earlier.ordering != later.ordering
        or len(earlier.head.args) != len(later.head.args)
    ):
        return False
    if callable(earlier.subtasks) or callable(later.subtasks) or len(earlier.subtasks) != len(later.subtasks):
        return False
    names: Binding | None = {}
    head = (("", *earlier.head.args), ("", *later.head.args))
    for one, other in (head, *zip(earlier.subtasks, later.subtasks, strict=True)):
        names = None if names is None else _matched(one, other, names)
    if names is None:
        return False
    # Facts first: they say what the variables of all other conditions stand for.
    wanted = sorted(conjuncts(earlier.preconditions), key=lambda each: not isinstance(each, Literal))
    given = set(map(str, conjuncts(later.preconditions)))
    tries = iter(range(_MOST_TRIES))
    return any(_fits(earlier, later, each, domain) for each in _renamings(wanted, given, names, later, tries))


def _matched(one: Term, other: Term, names: Mapping[str, Any]) -> Binding | None:
    """Return the renaming under which the first term is the second, or None."""
    if len(one) != len(other):
        return None
    found = dict(names)
    for part, value in zip(one, other, strict=True):
        if (found.setdefault(part, value) if is_variable(part) else part) != value:
            return None
    return found


def _renamings(
    wanted: Sequence[Condition], given: set[str], names: Binding, later: Method, tries: Iterator[int]
) -> Iterator[Binding]:
    """Yield the renamings under which every wanted condition is among the given ones."""
    if not wanted:
        yield names
        return
    condition, rest = wanted[0], wanted[1:]
    for each in _choices(condition, names, later):
        if next(tries, None) is None:
            return
        if str(bound(condition, each)) in given:
            yield from _renamings(rest, given, each, later, tries)


def _choices(condition: Condition, names: Binding, later: Method) -> Iterator[Binding]:
    """Yield the renaming itself, or with each of the later method's facts that the condition can be renamed to."""
    if not isinstance(condition, Literal):
        used = condition_variables(condition)
        if names.keys() >= set(used) and not (is_quantified(condition) and any(names[each] != each for each in used)):
            yield names
        return
    for other in conjuncts(later.preconditions):
        if isinstance(other, Literal) and other.positive == condition.positive:
            found = _matched(condition.atom, other.atom, names)
            if found is not None:
                yield found


def _fits(earlier: Method, later: Method, names: Binding, domain: Domain) -> bool:
    """Return whether every value that the later method's variables may have fits the earlier one's types."""
    theirs = _types(later)
    for name, kind in _types(earlier).items():
        value = names.get(name)
        if value is None:  # bound by nothing: whatever it is to be
            return False
        own = theirs.get(value, ROOT_TYPE) if is_variable(value) else domain.objects.get(value, ROOT_TYPE)
        if kind not in domain.types_above(own):
            return False
    return True


def _types(method: Method) -> dict[str, str]:
    return {each.name: each.type for each in (*method.head.parameters, *method.variables)}
